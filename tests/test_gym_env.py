"""What Gymnasium asks of an environment, of one and of many at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from conftest import Lottery
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import agents
from agents import load
from agents.gym_env import CheatEnv, CheatVectorEnv
from cheat_env import IllegalAction, RulesError, Tables
from cheat_env.observations import MEMORY

NAME = "cheat_env/Cheat-v0"
EXAMPLES = Path(agents.__file__).parent.parent / "examples"


def choose(lottery: Lottery, masks: np.ndarray) -> np.ndarray:
    """Return a legal action for each mask."""
    return np.array([lottery.choose(mask) for mask in masks])


# --- One ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error", "ignore:.*illegal action:UserWarning")
@pytest.mark.parametrize("variant", ["english", "marquoir", "russian"])
@pytest.mark.parametrize("observation", ["table", "memory"])
def test_gymnasium_finds_nothing_wrong(variant: str, observation: str) -> None:
    """Its checker passes without a warning, on the environment that `make` makes."""
    env = gymnasium.make(NAME, variant=variant, observation=observation)
    assert isinstance(env.unwrapped, CheatEnv)
    check_env(env.unwrapped)


@pytest.mark.filterwarnings("error")
def test_made_by_name_it_plays_under_the_passive_checker() -> None:
    """Two matches through Gymnasium's wrappers, by sampling from the mask, without a warning."""
    opponents = ["honest", "counter", "random"]
    env = gymnasium.make(NAME, variant="russian", num_players=4, opponents=opponents)
    env.action_space.seed(1)
    for seed in (1, None):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            action = env.action_space.sample(info["action_mask"])
            _, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        assert reward in (-1.0, pytest.approx(1 / 3))
        assert info["match_won"] == (reward > 0)


@pytest.mark.parametrize("package", ["cheat_env", "agents"])
def test_either_package_registers_it(package: str) -> None:
    """After one import the name is known; the environment alone loads no agents."""
    code = f"import {package}, gymnasium, sys; print('agents' in sys.modules);"
    code += f"print(gymnasium.make({NAME!r}).reset(seed=1)[1]['seat'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, seat = ran.stdout.split()
    assert loaded == str(package == "agents")
    assert int(seat) == CheatEnv().reset(seed=1)[1]["seat"]


def test_steps_need_an_episode() -> None:
    """Before `reset`, and after the end, a step is refused with the remedy."""
    env, many = CheatEnv("english", 3), CheatVectorEnv(2, "english", 3)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    with pytest.raises(ResetNeeded, match="call reset"):
        many.step(np.zeros(2, np.int64))
    _, info = env.reset(seed=1)
    with pytest.warns(UserWarning, match="illegal action"):
        env.step(int(np.argmin(info["action_mask"])))
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)


# --- Many -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error", "ignore:.*illegal action:UserWarning")
@pytest.mark.parametrize(
    ("variant", "options"),
    [("russian", {}), ("marquoir", {"deals": 2}), ("english", {"max_plays": 9})],
)
def test_many_of_one_are_the_single_one(variant: str, options: dict[str, Any]) -> None:
    """With one table all is what Gymnasium's own vector environment makes of the single one."""
    arguments = {"opponents": ["bluffer", "random"], **options}
    single = SyncVectorEnv(
        [lambda: CheatEnv(variant, 3, **arguments)], autoreset_mode=AutoresetMode.SAME_STEP
    )
    many = CheatVectorEnv(1, variant, 3, **arguments)
    assert many.observation_space == single.observation_space
    assert many.action_space == single.action_space
    found = [env.reset(seed=3) for env in (single, many)]
    lottery, ends = Lottery(3), 0
    for step in range(400):
        (seen, *rest, infos), other = found[0], found[1]
        ends += "final_info" in infos
        assert data_equivalence((seen, *rest, infos), other, exact=True)
        actions = choose(lottery, infos["action_mask"])
        if step % 100 == 99:
            actions = infos["action_mask"].argmin(axis=1)
        found = [env.step(actions) for env in (single, many)]
    assert ends > 2


def test_each_table_plays_the_deals_of_its_number() -> None:
    """Among agents that need no chance, environment i lives the matches of table i of `Tables`."""
    player, rng, tables = load("honest"), np.random.default_rng(0), Tables("russian", 3)
    tables.auto_reset = False
    many, found = CheatVectorEnv(4, "russian", 3, "honest", seat=1), [b""] * 4
    seen, infos = many.reset(seed=5)
    for _ in range(80):
        found = [played + one.tobytes() for played, one in zip(found, seen, strict=True)]
        seen, *_, infos = many.step(player.act(seen, infos["action_mask"], rng))
    assert many.play.tables.state["match"].min() > 0
    for number, played in enumerate(found):
        expected = b""
        for deal in range(6):
            tables.reset(5, deal, number)
            while not tables.terminated[0]:
                if tables.seat[0] == 1:
                    expected += tables.observation[0].tobytes()
                tables.step(player.act(tables.observation, tables.action_mask, rng))
        assert expected.startswith(played)


def test_ends_are_told_and_the_next_match_has_begun() -> None:
    """Same-step autoreset: the last view is in `final_obs`, the next match's is returned."""
    many, lottery = CheatVectorEnv(8, "russian", 3, "random"), Lottery(2)
    assert many.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    _, infos = many.reset(seed=2)
    before, ended = many.play.tables.state["match"].copy(), 0
    for _ in range(60):
        seen, earned, terminated, truncated, infos = many.step(
            choose(lottery, infos["action_mask"])
        )
        match = many.play.tables.state["match"].copy()
        over = terminated | truncated
        assert (match - before == over).all()
        assert (earned[~over] == 0).all() and (earned[over] != 0).all()
        assert infos.get("_final_info", over).tolist() == over.tolist()
        for t in np.flatnonzero(over):
            final = infos["final_info"]
            assert final["match_won"][t] == (earned[t] > 0)
            assert MEMORY.view(infos["final_obs"][t])["phase"].sum() == 0
            assert MEMORY.view(seen[t])["phase"].sum() == 1
        before, ended = match, ended + over.sum()
    assert ended > 5


def test_what_is_returned_belongs_to_the_caller() -> None:
    """Nothing that was returned changes later, or changes the game when it is written to."""
    many, other = (CheatVectorEnv(3, "english", 3, "random") for _ in range(2))
    _, infos = many.reset(seed=1)
    other.reset(seed=1)
    lottery = Lottery(1)
    for _ in range(80):
        actions = choose(lottery, infos["action_mask"])
        step, expected = many.step(actions), other.step(actions)
        assert data_equivalence(step, expected, exact=True)
        infos = {"action_mask": step[4]["action_mask"].copy()}
        for array in (*step[:4], step[4]["action_mask"], step[4]["seat"]):
            array[:] = 1


def test_a_seed_gives_the_same_to_many() -> None:
    """Cards, seats and chance come from the seed; without one the tables go on."""

    def played(many: CheatVectorEnv, seeds: tuple[int | None, ...]) -> list[bytes]:
        found, lottery = [], Lottery(0)
        for seed in seeds:
            seen, infos = many.reset(seed=seed)
            for _ in range(20):
                found.append(seen.tobytes())
                seen, *_, infos = many.step(choose(lottery, infos["action_mask"]))
        return found

    first = played(CheatVectorEnv(5, "russian", 3, "bluffer"), (6, None))
    assert played(CheatVectorEnv(5, "russian", 3, "bluffer"), (6, None)) == first
    assert played(CheatVectorEnv(5, "russian", 3, "bluffer"), (6, 6)) != first
    assert played(CheatVectorEnv(5, "russian", 3, "bluffer"), (7, None)) != first


def test_options_name_matches_and_seats() -> None:
    """One for all tables, or one for each."""
    many = CheatVectorEnv(3, "russian", 4, "dumper")
    _, infos = many.reset(seed=1, options={"deal": [5, 6, 7], "seat": [3, 0, 1]})
    assert infos["seat"].tolist() == [3, 0, 1]
    assert many.play.tables.state["match"].tolist() == [5, 6, 7]
    _, infos = many.reset(options={"seat": 2})
    assert infos["seat"].tolist() == [2, 2, 2]
    assert many.play.tables.state["match"].tolist() == [6, 7, 8]
    with pytest.raises(RulesError, match=r"seat \[0, 1\]: give one, or one for each of 3 tables"):
        many.reset(options={"seat": [0, 1]})


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (np.zeros(3, np.int64), r"actions int64 \(3,\): must be integers \(2,\)"),
        (np.zeros(2), r"actions float64 \(2,\): must be integers"),
        ([0, 46], "action 46 of table 1: must be from 0 to 45"),
        ([-1, 0], "action -1 of table 0: must be from 0 to 45"),
    ],
)
def test_what_are_no_actions_is_refused(actions: Any, told: str) -> None:
    """One clear line, and nothing was played."""
    many = CheatVectorEnv(2, "english", 3)
    many.reset(seed=1)
    before = many.play.tables.state.copy()
    with pytest.raises(IllegalAction, match=told):
        many.step(actions)
    assert (many.play.tables.state == before).all()


def test_an_illegal_action_ends_only_its_own_episode() -> None:
    """The others play on; the table that was left goes on with its next match."""
    many = CheatVectorEnv(3, "russian", 3, "dumper")
    _, infos = many.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    actions[1] = infos["action_mask"][1].argmin()
    with pytest.warns(UserWarning, match="illegal action"):
        _, earned, terminated, _, infos = many.step(actions)
    assert (earned.tolist(), terminated.tolist()) == ([0, -1, 0], [False, True, False])
    assert many.play.tables.state["match"].tolist() == [0, 1, 0]
    assert not infos["final_info"]["match_won"][1]


@pytest.mark.filterwarnings("error")
def test_made_by_name_many_keep_gymnasiums_statistics() -> None:
    """`make_vec` makes the native one, and Gymnasium's wrapper counts its episodes."""
    many = gymnasium.make_vec(
        NAME, num_envs=16, vectorization_mode="vector_entry_point", variant="russian", num_players=3
    )
    assert isinstance(many.unwrapped, CheatVectorEnv)
    counted, paid = RecordEpisodeStatistics(many), 0.0
    _, infos = counted.reset(seed=1)
    counted.action_space.seed(1)
    for _ in range(60):
        actions = counted.action_space.sample(mask=tuple(infos["action_mask"]))
        _, earned, *_, infos = counted.step(actions)
        paid += earned.sum()
    assert counted.episode_count > 10
    assert sum(counted.return_queue) == pytest.approx(paid)
    assert max(counted.length_queue) > 10


def test_pictures_of_many() -> None:
    """Text for every table; other modes are refused, and without one `render` says so."""
    many = CheatVectorEnv(2, "russian", 3, render_mode="ansi", seat=0)
    many.reset(seed=1)
    assert [text.count("cards  ") for text in many.render()] == [1, 1]
    with pytest.raises(ValueError, match="render_mode 'human': must be None or one of ansi"):
        CheatVectorEnv(2, "russian", 3, render_mode="human")
    with pytest.warns(UserWarning, match="render_mode"):
        assert CheatVectorEnv(2, "russian", 3).render() is None


@pytest.mark.parametrize("count", [0, -3, "four", 1.0])
def test_there_is_at_least_one(count: Any) -> None:
    """A number of environments that can't be is refused by name."""
    with pytest.raises(RulesError, match="num_envs"):
        CheatVectorEnv(count)


def test_the_example_plays() -> None:
    """examples/gymnasium_random.py runs as it stands, and without a warning."""
    script = [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / "gymnasium_random.py")]
    ran = subprocess.run(script, capture_output=True, text=True, check=True)
    assert "won" in ran.stdout
