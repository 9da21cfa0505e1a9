"""What Stable-Baselines3 and sb3-contrib ask of environments, and that they learn with these."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from conftest import Lottery
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import agents
from agents import vec_env
from agents.gym_env import CheatEnv, CheatVectorEnv
from agents.vec_env import CheatVecEnv
from cheat_env import RulesError
from cheat_env.observations import MEMORY

ROOT = Path(agents.__file__).parent.parent
EXAMPLES = ROOT / "examples"


def legal(env: Any, lottery: Lottery) -> np.ndarray:
    """Return a legal action for each of an environment's tables, asked as sb3-contrib asks."""
    return np.array([lottery.choose(mask) for mask in get_action_masks(env)])


@pytest.mark.filterwarnings("error", "ignore:.*illegal action:UserWarning")
@pytest.mark.parametrize("variant", ["english", "marquoir", "russian"])
def test_sb3_finds_nothing_wrong_with_the_single_one(variant: str) -> None:
    """Its checker passes without a warning, under Gymnasium's wrappers too."""
    check_env(CheatEnv(variant))
    check_env(gymnasium.make("cheat_env/Cheat-v0", variant=variant))


@pytest.mark.parametrize(
    ("variant", "options"),
    [("russian", {}), ("marquoir", {"deals": 2}), ("english", {"max_plays": 9})],
)
def test_one_table_is_what_sb3_makes_of_the_single_one(
    variant: str, options: dict[str, Any]
) -> None:
    """With one table all is as in SB3's own `DummyVecEnv` of the single environment."""
    arguments = {"opponents": ["bluffer", "random"], **options}
    ours = CheatVecEnv(1, variant, 3, **arguments)
    theirs = DummyVecEnv([lambda: CheatEnv(variant, 3, **arguments)])
    assert (ours.observation_space, ours.action_space) == (
        theirs.observation_space,
        theirs.action_space,
    )
    lottery, ends, cut = Lottery(3), 0, 0
    assert ours.seed(3) == theirs.seed(3) == [3]
    assert ours.reset().tobytes() == theirs.reset().tobytes()
    for _ in range(400):
        assert get_action_masks(ours).tolist() == get_action_masks(theirs).tolist()
        actions = legal(ours, lottery)
        (seen, *rest, infos), other = ours.step(actions), theirs.step(actions)
        assert (seen.tobytes(), seen.dtype) == (other[0].tobytes(), other[0].dtype)
        assert [array.tolist() for array in rest] == [array.tolist() for array in other[1:3]]
        assert [array.dtype for array in rest] == [array.dtype for array in other[1:3]]
        last = infos[0].pop("terminal_observation", None)
        assert (last is None) == (not rest[1][0])
        if last is not None:
            assert last.tobytes() == other[3][0]["terminal_observation"].tobytes()
        assert infos[0].items() <= other[3][0].items()
        ends, cut = ends + rest[1][0], cut + infos[0]["TimeLimit.truncated"]
    assert ends > 1
    assert (cut > 0) == ("max_plays" in options)


def test_many_tables_are_those_of_gymnasium() -> None:
    """The same seed gives what `CheatVectorEnv` gives, step for step."""
    ours, theirs = CheatVecEnv(6, "russian", 4), CheatVectorEnv(6, "russian", 4)
    ours.seed(8)
    lottery, ends = Lottery(8), 0
    assert ours.reset().tobytes() == theirs.reset(seed=8)[0].tobytes()
    for _ in range(80):
        actions = legal(ours, lottery)
        (seen, earned, over, told), other = ours.step(actions), theirs.step(actions)
        assert seen.tobytes() == other[0].tobytes()
        assert earned.tolist() == other[1].astype(np.float32).tolist()
        assert over.tolist() == (other[2] | other[3]).tolist()
        for t in np.flatnonzero(over):
            assert told[t]["score"] == other[4]["final_info"]["score"][t]
            assert MEMORY.view(told[t]["terminal_observation"])["phase"].sum() == 0
        ends += over.sum()
    assert ends > 5


def test_seeds_are_used_once() -> None:
    """A seed is for the next reset; later ones go on, and unseeded environments differ."""
    env = CheatVecEnv(3, "russian", 3, "dumper")
    env.seed(1)
    first, following = env.reset(), env.reset()
    assert first.tobytes() != following.tobytes()
    env.seed(1)
    assert env.reset().tobytes() == first.tobytes()
    assert env.reset().tobytes() == following.tobytes()
    assert len(set(map(tuple, [CheatVecEnv(3).seed(), CheatVecEnv(3).seed()]))) == 2
    state = np.random.get_state()[1].tolist()
    env.seed()
    env.reset()
    assert np.random.get_state()[1].tolist() == state


def test_options_are_heeded_once() -> None:
    """As for SB3's own: one mapping for all tables, or one for each, for the next reset."""
    env = CheatVecEnv(2, "russian", 3, "dumper", seat=0)
    env.set_options({"seat": 2})
    env.reset()
    assert env._env.play.seat.tolist() == [2, 2]
    env.set_options([{"seat": 1, "deal": 4}, {"seat": 2, "deal": 9}])
    env.reset()
    assert env._env.play.seat.tolist() == [1, 2]
    env.reset()
    assert env._env.play.seat.tolist() == [0, 0]
    assert env._env.play.tables.state["match"].tolist() == [5, 10]
    env.set_options([{"seat": 1}, {}])
    with pytest.raises(RulesError, match="options: must name the same"):
        env.reset()


def test_it_has_what_sb3_asks_for() -> None:
    """Masks by `env_method`, also of some tables; other methods and attributes are told apart."""
    env = CheatVecEnv(4, "english", 3, render_mode="ansi")
    env.reset()
    assert is_masking_supported(env) and is_masking_supported(VecMonitor(env))
    masks = get_action_masks(env)
    assert masks.shape == (4, 46) and masks.dtype == np.bool_ and masks.any(axis=1).all()
    (mask,) = env.env_method("action_masks", indices=2)
    assert mask.tolist() == masks[2].tolist()
    assert env.get_attr("render_mode", indices=[0, 1]) == ["ansi", "ansi"]
    assert all("pile" in text for text in env.env_method("render"))
    assert not env.has_attr("nothing") and env.env_is_wrapped(gymnasium.Wrapper) == [False] * 4
    with pytest.raises(AttributeError, match="nothing to set"):
        env.set_attr("seat", 1)
    with pytest.raises(AttributeError):
        env.env_method("nothing")
    env.close()


def test_sb3s_wrappers_wrap_it() -> None:
    """`VecMonitor` counts episodes and what they paid, `VecNormalize` scales what is seen."""
    env = VecNormalize(VecMonitor(CheatVecEnv(8, "russian", 3, "random"), info_keywords=("seat",)))
    env.seed(1)
    env.reset()
    lottery, episodes = Lottery(1), []
    for _ in range(40):
        seen, _, _, infos = env.step(legal(env, lottery))
        episodes += [info["episode"] for info in infos if "episode" in info]
    assert np.abs(seen).max() <= 10
    assert len(episodes) > 3
    assert all(episode["r"] in (-1, 0.5) and 0 <= episode["seat"] < 3 for episode in episodes)


def test_what_the_module_shows_is_what_the_readme_shows_and_runs() -> None:
    """The example of five lines trains as it stands, and what it trained can be evaluated."""
    lines = re.findall(r"^    (.*)$", vec_env.__doc__, re.MULTILINE)
    assert len(lines) == 4
    for page in ("README.md", "docs/adapters.md"):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
        assert lines in [[line for line in block.splitlines() if line] for block in blocks], page
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    assert names["model"].num_timesteps >= 20_000
    env = VecMonitor(CheatVecEnv(4, "russian", num_players=4, opponents="random"))
    rewards, lengths = evaluate_policy(names["model"], env, 8, return_episode_rewards=True)
    assert len(rewards) == 8
    assert all(reward in (-1, np.float32(1 / 3)) for reward in rewards)
    assert min(lengths) > 1


def test_the_single_one_trains_and_a_truncation_is_bootstrapped(tmp_path: Path) -> None:
    """MaskablePPO takes the single environment too; saved and loaded it still knows its spaces."""
    env = CheatEnv("english", 3, max_plays=6, observation="table")
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=1)
    model.learn(128)
    model.save(tmp_path / "model.zip")
    loaded = MaskablePPO.load(tmp_path / "model.zip", env=env)
    seen, info = env.reset(seed=1)
    action, _ = loaded.predict(seen, action_masks=env.action_masks())
    assert info["action_mask"][action] == 1
    env.step(action)


def test_the_example_learns() -> None:
    """examples/sb3_maskable_ppo.py runs with few decisions."""
    script = [sys.executable, str(EXAMPLES / "sb3_maskable_ppo.py"), "1"]
    ran = subprocess.run(script, capture_output=True, text=True, check=True)
    assert ran.stdout.count("against three of") == 3
