"""One learner's seat among agents: what it sees, when it is asked, and what it is paid."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import Lottery

from agents import load
from agents.gym_env import CheatEnv
from cheat_env import Tables, raw_env
from cheat_env.observations import TABLE, encode
from cheat_env.render import ansi

#: Tiny hands: a deal can be over as soon as it is dealt (G12).
TINY = {"base": "desconfio", "players": [2, 3], "deck": "A-3", "copies": 2}
#: Games by how they end, and one that is cut.
GAMES: list[tuple[Any, int, dict[str, Any]]] = [
    ("english", 4, {}),
    ("marquoir", 3, {"deals": 1}),
    ("marquoir", 3, {"deals": 2}),
    ("russian", 4, {}),
    ("veryu", 3, {}),
    ("english", 3, {"max_plays": 8}),
    (TINY, 3, {"deals": 2}),
]


class Recorder:
    """An agent that plays as another one does, and notes what it did."""

    observation = "memory"

    def __init__(self, name: str, log: list[tuple[str, int]]) -> None:
        self.name = name
        self._agent = load(name)
        self._log = log

    def act(
        self, observation: np.ndarray, action_mask: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        actions = self._agent.act(observation, action_mask, rng)
        self._log += [(self.name, int(action)) for action in actions]
        return actions


class Beside:
    """A single seat, and the same match played along in `raw_env`, which must show the same.

    Attributes:
        env: the single seat, among recorders.
        raw: the whole match.
        asked: how often the learner was asked in this episode.
        last_word: whether another seat's move ended it.
        was_out: whether others moved after the learner was out.
    """

    def __init__(self, variant: Any, players: int, names: list[str], **options: Any) -> None:
        self.log: list[tuple[str, int]] = []
        self.names = names
        recorders = [Recorder(name, self.log) for name in names]
        self.env = CheatEnv(variant, players, recorders, **options)
        options = {"observation": "memory"} | options
        options.pop("seat", None)
        self.raw = raw_env(variant, players, **options)

    def begin(self, seed: int, deal: int) -> np.ndarray:
        self.log.clear()
        self.seen, self.info = self.env.reset(seed=seed, options={"deal": deal})
        self.seat = self.info["seat"]
        self.raw.reset(seed=seed, options={"deal": deal})
        self.paid = self.raw.rewards[self.me]
        self.asked, self.last_word, self.was_out = 0, False, False
        self._others_move()
        self._compare()
        return self.info["action_mask"]

    @property
    def me(self) -> str:
        return f"player_{self.seat}"

    @property
    def over(self) -> bool:
        return self.raw.terminations[self.me] or self.raw.truncations[self.me]

    def _others_move(self) -> None:
        players = len(self.raw.agents)
        for name, action in self.log:
            offset = (self.raw._seat_of[self.raw.agent_selection] - self.seat) % players
            assert name == self.names[(offset - 1) % len(self.names)] and offset > 0
            self.was_out |= bool(self.raw.tables.state[0]["out"][self.seat])
            self.raw.step(action)
            self.paid += self.raw.rewards[self.me]
            self.last_word = True
        self.log.clear()

    def _compare(self) -> None:
        shown, tables = self.raw.observe(self.me), self.raw.tables
        mask = np.ones(46, np.int8) if self.over else shown["action_mask"]
        view = shown["observation"]
        if self.over:
            encode(tables.state[0], tables.options, self.seat, view)
        assert self.seen.tobytes() == view.tobytes()
        assert self.info["action_mask"].tolist() == mask.tolist()
        assert self.env.action_masks().tolist() == (mask == 1).tolist()
        assert self.over or self.raw.agent_selection == self.me

    def step(self, action: int) -> bool:
        """Play on and return whether the episode is over."""
        if not self.over:
            self.asked += 1
            self.last_word = False
            self.raw.step(action)
            self.paid += self.raw.rewards[self.me]
        self.seen, reward, terminated, truncated, self.info = self.env.step(action)
        self._others_move()
        self._compare()
        assert reward == pytest.approx(self.paid)
        self.paid = 0.0
        assert terminated == self.raw.terminations[self.me]
        assert truncated == self.raw.truncations[self.me]
        expected = {"seat": self.seat} | self.raw.infos[self.me]
        assert {k: v for k, v in self.info.items() if k != "action_mask"} == expected
        return terminated or truncated


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
@pytest.mark.parametrize(("variant", "players", "options"), GAMES, ids=str)
def test_the_seat_lives_through_the_whole_match(
    variant: Any, players: int, options: dict[str, Any]
) -> None:
    """Views, masks, rewards, ends and infos are those of the same moves in `raw_env`."""
    names = ["honest", "counter", "random"][: players - 1]
    beside, lottery, met = Beside(variant, players, names, **options), Lottery(5), Counter[str]()
    for deal in range(25):
        mask = beside.begin(5, deal)
        while not beside.step(lottery.choose(mask)):
            mask = beside.info["action_mask"]
        met["by others"] += beside.last_word
        met["after it was out"] += beside.was_out
        met["never asked"] += beside.asked == 0
        met["cut"] += beside.raw.truncations[beside.me]
    assert met["by others"] > 0
    if variant == "russian":
        assert met["after it was out"] > 0
    if variant == TINY:
        assert met["never asked"] > 0
    assert (met["cut"] > 0) == ("max_plays" in options)


def test_what_two_deals_pay_is_summed() -> None:
    """In a match of two deals the learner's rewards add up to those of its score."""
    env, rng = CheatEnv("marquoir", 3, "random", deals=2), np.random.default_rng(0)
    for seed in range(10):
        _, info = env.reset(seed=seed)
        paid, over = 0.0, False
        while not over:
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            _, reward, over, cut, info = env.step(action)
            assert not cut
            paid += reward
        scores = env.play.tables.state[0]["score"][:3]
        assert scores.sum() >= 2 and info["score"] == scores[info["seat"]]
        assert -2 <= paid <= 2 and (paid < 1) == (info["score"] > 0)


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
def test_a_match_that_never_asks_is_one_step() -> None:
    """G12: the mask forbids nothing, whatever is done ends the episode, and its reward is paid."""
    env, met = CheatEnv(TINY, 3), Counter[float]()
    for deal in range(40):
        seen, info = env.reset(seed=1, options={"deal": deal})
        if env.play.tables.state[0]["phase"] != len(("announce", "play", "window", "quads")):
            continue
        assert info["action_mask"].all() and seen in env.observation_space
        _, reward, terminated, truncated, info = env.step(deal)
        assert terminated and not truncated
        assert info["match_won"] == (reward == 1)
        met[reward] += 1
    assert set(met) == {1.0, -0.5}


# --- Seats, seeds and deals -----------------------------------------------------------------------


def test_the_seat_is_drawn_evenly() -> None:
    """Over 1,000 matches every seat is the learner's equally often, whoever deals."""
    env, seats = CheatEnv("russian", 4), Counter[tuple[int, int]]()
    env.reset(seed=0)
    for _ in range(1000):
        info = env.reset()[1]
        seats[info["seat"], int(env.play.tables.state[0]["dealer"])] += 1
    assert len(seats) == 16
    assert max(seats.values()) < 90 and min(seats.values()) > 38


@pytest.mark.parametrize("seat", range(4))
def test_a_seat_can_be_chosen(seat: int) -> None:
    """A fixed seat is that in every episode; an option fixes it for one."""
    env = CheatEnv("english", 4, seat=seat)
    assert [env.reset()[1]["seat"] for _ in range(5)] == [seat] * 5
    drawn = CheatEnv("english", 4)
    assert drawn.reset(seed=1, options={"seat": seat})[1]["seat"] == seat
    assert {drawn.reset()[1]["seat"] for _ in range(20)} == set(range(4))


def episodes(env: CheatEnv, seed: int | None, count: int) -> list[Any]:
    """Play random episodes on end and return all that was seen of them."""
    found, rng = [], np.random.default_rng(3)
    for episode in range(count):
        seen, info = env.reset(seed=seed if episode == 0 else None)
        over = False
        while not over:
            found.append((seen.tobytes(), info["action_mask"].tobytes(), info["seat"]))
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            seen, reward, terminated, truncated, info = env.step(action)
            found.append((reward, terminated, truncated))
            over = terminated or truncated
    return found


def test_a_seed_gives_the_same_episodes() -> None:
    """The same seed gives the same cards, seats and chance, in any instance; others differ."""
    env = CheatEnv("russian", 3, ["bluffer", "random"])
    first = episodes(env, 7, 4)
    assert (
        episodes(env, 7, 4)
        == first
        == episodes(CheatEnv("russian", 3, ["bluffer", "random"]), 7, 4)
    )
    assert episodes(env, 8, 4) != first
    assert episodes(CheatEnv("russian", 3), None, 1) != episodes(CheatEnv("russian", 3), None, 1)


def test_the_deals_are_those_of_the_environment_of_all_seats() -> None:
    """Episode k of a seed has the cards of match k of `raw_env`, and its own seat, also alone."""
    env, whole, found = CheatEnv("russian", 3, "dumper"), raw_env("russian", 3), []
    for episode in range(6):
        info = env.reset(seed=9 if episode == 0 else None)[1]
        whole.reset(seed=9, options={"deal": episode})
        found.append((info["seat"], whole.tables.state[0]["hand"][info["seat"]].tolist()))
        assert held(env) == found[episode]
    for episode in (4, 2):
        env.reset(seed=9, options={"deal": episode})
        assert held(env) == found[episode]
    env.reset()
    assert held(env) == found[3]


def held(env: CheatEnv) -> tuple[int, list[int]]:
    """Return the learner's seat and its cards."""
    seat = int(env.play.seat[0])
    return seat, env.play.tables.state[0]["hand"][seat].tolist()


# --- Opponents ------------------------------------------------------------------------------------


@pytest.mark.parametrize("opponents", ["honest", ["honest"], load("honest"), ["honest"] * 3])
def test_one_agent_stands_for_all(opponents: Any) -> None:
    """One name, a list of one, one object and a name for each seat are the same opponents."""
    expected = episodes(CheatEnv("russian", 4, ("honest", "honest", "honest")), 2, 2)
    assert episodes(CheatEnv("russian", 4, opponents), 2, 2) == expected


def test_copies_act_in_one_call() -> None:
    """An agent that sits in several seats is one, named or given."""
    assert len(CheatEnv("english", 6, "honest").play._agents) == 1
    names = ["honest", "random", "honest"]
    assert len(CheatEnv("english", 4, names).play._agents) == 2
    one = load("random")
    assert len(CheatEnv("english", 4, [one, one, load("random")]).play._agents) == 2


def test_the_learner_can_read_less_than_the_others() -> None:
    """With `table` it sees what raw_env shows of `table`, though its opponents read `memory`."""
    beside = Beside("russian", 3, ["counter", "reader"], observation="table")
    assert beside.env.observation_space == TABLE.space()
    lottery, mask = Lottery(1), beside.begin(1, 0)
    while not beside.step(lottery.choose(mask)):
        mask = beside.info["action_mask"]


# --- Ends and pictures ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*illegal action:UserWarning")
def test_an_illegal_action_ends_the_episode() -> None:
    """It is warned of, costs 1 and is no victory; the next episode is as if nothing had been."""
    env, other = CheatEnv("russian", 3), CheatEnv("russian", 3)
    _, info = env.reset(seed=1)
    before = env.play.tables.state.copy()
    with pytest.warns(UserWarning, match="illegal action"):
        seen, reward, terminated, truncated, info = env.step(int(np.argmin(info["action_mask"])))
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert info["match_won"] is False and info["score"] == 0
    assert info["action_mask"].all() and seen in env.observation_space
    assert (env.play.tables.state == before).all()
    assert episodes(env, 4, 2) == episodes(other, 4, 2)


def test_a_copy_plays_on_as_the_original() -> None:
    """Deep copies and pickles have all of the episode: cards, chance and what is to be paid."""
    env = CheatEnv("russian", 3, ["bluffer", "random"])
    _, info = env.reset(seed=6)
    for _ in range(5):
        info = env.step(int(np.argmax(info["action_mask"])))[4]
    copies = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    over = False
    while not over:
        action = int(np.argmax(info["action_mask"]))
        (seen, *rest, info), *others = (each.step(action) for each in copies)
        for other in others:
            assert (other[0].tobytes(), *other[1:4]) == (seen.tobytes(), *rest)
        over = rest[1] or rest[2]


def test_pictures_show_what_the_learner_may_see(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, or printed at every step: the table from the learner's seat, and no other hand."""
    env, printing = (CheatEnv("russian", 3, render_mode=mode) for mode in ("ansi", "human"))
    for each in (env, printing):
        each.reset(seed=4)
    for _ in range(3):
        tables: Tables = env.play.tables
        shown = env.render()
        seat = int(env.play.seat[0])
        assert shown == ansi(tables.state[0], tables.options, tables.deck, seat)
        hands = [line for line in shown.splitlines() if " cards  " in line and "seat" in line]
        assert len(hands) == 1 and f"seat {seat}" in hands[0]
        assert capsys.readouterr().out == shown + "\n"
        action = int(np.argmax(env.action_masks()))
        over = [e.step(action)[2] for e in (env, printing)]
        assert over == [False, False]
    assert printing.render() is None


def test_without_a_render_mode_there_is_a_warning() -> None:
    """`render` says what is missing."""
    env = CheatEnv("russian", 3)
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"), warnings.catch_warnings():
        assert env.render() is None
