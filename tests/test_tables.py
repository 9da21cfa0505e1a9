"""Many tables at once play the same games as one, and refuse what is not legal."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import VARIANTS, Lottery
from positions import same

from cheat_env import IllegalAction, Tables, raw_env
from cheat_env import actions as act
from cheat_env.bench import choose_random
from cheat_env.dealing import match_over, next_deal, start_match
from cheat_env.engine import apply, legal_actions
from cheat_env.observations import MEMORY, encode
from cheat_env.rules import Rules
from cheat_env.state import DTYPE, OVER, allocate

STEPS = 700
ARRAYS = ("observation", "action_mask", "seat", "reward", "terminated", "truncated")
Shown = tuple[Any, bytes, bytes, int]


# --- One game, whoever plays it -------------------------------------------------------------------


def by_engine(variant: str, players: int, number: int) -> Iterator[Shown]:
    """Play by calling the compiled rules."""
    options = Rules.load(variant, max_plays=60, deals=2).options(players)
    state = allocate(1)
    table = state[0]
    table["seed"], table["number"] = 3, number
    start_match(table, options)
    allowed, seen = np.zeros(act.NUM_ACTIONS, np.int8), np.zeros(MEMORY.size, np.int8)
    lottery = Lottery(3)
    for _ in range(STEPS):
        legal_actions(table, options, allowed)
        encode(table, options, int(table["turn"]), seen)
        yield state.copy()[0], seen.tobytes(), allowed.tobytes(), int(table["turn"])
        apply(table, options, lottery.choose(allowed))
        if table["phase"] == OVER:
            next_deal(table, options)


def by_tables(
    variant: str, players: int, number: int, num_tables: int = 1, threads: int = 1
) -> Iterator[Shown]:
    """Play with `Tables`, of which the others play something else."""
    made = Tables(variant, players, num_tables, threads=threads, max_plays=60, deals=2)
    made.reset(3, numbers=None if num_tables > 1 else number)
    row = number if num_tables > 1 else 0
    lottery, others = Lottery(3), np.random.default_rng(1)
    for _ in range(STEPS):
        yield shown(made, row)
        actions = (made.action_mask * others.random(made.action_mask.shape)).argmax(axis=1)
        actions[row] = lottery.choose(made.action_mask[row])
        made.step(actions)


def shown(tables: Tables, row: int) -> Shown:
    """Return what a table is and shows."""
    seen, allowed = tables.observation[row].tobytes(), tables.action_mask[row].tobytes()
    return tables.state.copy()[row], seen, allowed, int(tables.seat[row])


def by_raw_env(variant: str, players: int) -> Iterator[Shown]:
    """Play with the environment of PettingZoo."""
    game = raw_env(variant, players, observation="memory", max_plays=60, deals=2)
    game.reset(seed=3)
    lottery = Lottery(3)
    for _ in range(STEPS):
        seen = game.observe(game.agent_selection)
        yield (
            game.tables.state.copy()[0],
            seen["observation"].tobytes(),
            seen["action_mask"].tobytes(),
            game.possible_agents.index(game.agent_selection),
        )
        game.step(lottery.choose(seen["action_mask"]))
        if game.terminations["player_0"] or game.truncations["player_0"]:
            game.reset()


def agree(one: Iterator[Shown], other: Iterator[Shown], but: tuple[str, ...] = ()) -> None:
    """Check that two games show the same at every step; `but` names fields that may differ."""
    for (table, *rest), (table2, *rest2) in zip(one, other, strict=True):
        assert rest == rest2
        assert [n for n in DTYPE.names if not np.array_equal(table[n], table2[n])] in (
            [],
            list(but),
        )


def test_the_engine_and_one_table_agree(game: tuple[str, int]) -> None:
    """`Tables` of one is the engine's own game."""
    agree(by_engine(*game, 0), by_tables(*game, 0))


def test_the_environment_and_one_table_agree(game: tuple[str, int]) -> None:
    """The environment plays the same matches, one after another; a reset clears the reward."""
    agree(by_raw_env(*game), by_tables(*game, 0))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("number", [0, 5, 63])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_table_of_many_agrees(variant: str, number: int, threads: int) -> None:
    """A table is not touched by its neighbours, whichever thread steps it."""
    agree(by_tables(variant, 4, number), by_tables(variant, 4, number, 64, threads))


@pytest.mark.parametrize("tables", [1, 2, 7])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(tables: int, threads: int) -> None:
    """Every array is the same with threads, also with more of them than tables."""
    made = [Tables("russian", 3, tables, threads=n, seed=1) for n in (1, threads)]
    lottery = Lottery(1)
    for _ in range(300):
        actions = np.array([lottery.choose(mask) for mask in made[0].action_mask])
        for one in made:
            one.step(actions)
        assert same(made[0].state, made[1].state)
        for name in ARRAYS:
            assert np.array_equal(getattr(made[0], name), getattr(made[1], name))


@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_games_are_equal_bytes(variant: str) -> None:
    """A copy of a state is equal byte for byte, as the description of the state says."""
    state = Tables(variant, 4, 40).state
    for copied in (state.copy(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert same(state, copied)
        assert copied.tobytes() == state.tobytes()


# --- Deals ----------------------------------------------------------------------------------------


def deals(tables: Tables, choose: Callable[[np.ndarray], int], steps: int) -> dict[Any, bytes]:
    """Play on and return each deal by table, match and number in the match."""
    found: dict[Any, bytes] = {}
    for _ in range(steps):
        for t, table in enumerate(tables.state):
            if table["plays"] == 0 and not table["picked_size"]:
                key = (t, int(table["match"]), int(table["deal"]))
                cards = table["hand"].tobytes() + table["aside"].tobytes()
                found.setdefault(key, cards + bytes([table["dealer"]]))
        tables.step(np.array([choose(mask) for mask in tables.action_mask]))
    return found


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", [1, 3])
def test_a_deal_does_not_depend_on_play(variant: str, length: int) -> None:
    """Deal k of table t is that of (seed, t, k), however the deals before it were played."""
    rules = {"deals": length, "max_plays": 40, "deck": "A-7", "copies": 2}
    one = deals(Tables(variant, 3, 4, seed=9, **rules), Lottery(1).choose, 400)
    other = deals(Tables(variant, 3, 4, seed=9, **rules), lambda m: np.flatnonzero(m)[0], 400)
    common = one.keys() & other.keys()
    assert len(common) > 10
    assert {number for _, _, number in common} == set(range(length))
    assert {key: one[key] for key in common} == {key: other[key] for key in common}
    assert len(set(one.values())) > 0.9 * len(one)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_deal_can_be_named(variant: str) -> None:
    """`reset` deals the match and the table's number that it is given."""
    many = Tables(variant, 4, 6, seed=9, max_plays=6, deals=1)
    met = deals(many, Lottery(2).choose, 300)
    keys = sorted(key for key in met if key[1] < 5)
    named = Tables(variant, 4, len(keys), deals=1)
    named.reset(9, deals=[match for _, match, _ in keys], numbers=[t for t, _, _ in keys])
    for key, table in zip(keys, named.state, strict=True):
        cards = table["hand"].tobytes() + table["aside"].tobytes() + bytes([table["dealer"]])
        assert cards == met[key]
    named.reset(9, deals=2, numbers=1)
    assert len({table["hand"].tobytes() for table in named.state}) == 1


def test_other_seeds_deal_otherwise() -> None:
    """Neighbouring seeds, tables and matches never give the same cards."""
    hands = set()
    for seed in (0, 1, 2**64 - 1):
        for match in (0, 1):
            tables = Tables("english", 4, 100)
            tables.reset(seed, deals=match)
            hands |= {table["hand"].tobytes() for table in tables.state}
    assert len(hands) == 600


def test_reset_keeps_the_seed_unless_told() -> None:
    """Without a seed `reset` deals the same first match again."""
    tables = Tables("marquoir", 5, 3, seed=4)
    first = tables.observation.copy()
    for _ in range(20):
        tables.step(tables.action_mask.argmax(axis=1))
    tables.reset()
    assert np.array_equal(tables.observation, first)
    tables.reset(5)
    assert not np.array_equal(tables.observation, first)


@pytest.mark.parametrize("variant", VARIANTS)
def test_dealers_are_drawn_by_lot_and_move_on(variant: str) -> None:
    """A3, A16, B9, C3: every seat deals first equally often, then the seat to the left."""
    tables = Tables(variant, 4, 4000, seed=2, deals=3, max_plays=1)
    first = tables.state["dealer"].copy()
    shares = np.bincount(first, minlength=4) / 4000
    assert shares == pytest.approx([0.25] * 4, abs=0.03)
    options, state = tables.options, tables.state
    for t in range(0, 4000, 100):
        state[t]["phase"] = OVER
        assert not match_over(state[t], options)
        next_deal(state[t], options)
        assert state[t]["dealer"] == (first[t] + 1) % 4


# --- What is refused ------------------------------------------------------------------------------


def bytes_of(tables: Tables) -> list[bytes]:
    """Return every array of some tables as bytes."""
    return [tables.state.tobytes(), *[getattr(tables, name).tobytes() for name in ARRAYS]]


@pytest.mark.parametrize("auto_reset", [True, False])
def test_an_illegal_action_is_named_and_changes_nothing(
    game: tuple[str, int], auto_reset: bool
) -> None:
    """The error names table, seat, action and what is legal; no byte of any table is touched."""
    tables, lottery = Tables(*game, 8, seed=1, auto_reset=auto_reset), Lottery(1)
    for _ in range(15):
        tables.step(np.array([lottery.choose(mask) for mask in tables.action_mask]))
    actions = np.array([lottery.choose(mask) for mask in tables.action_mask])
    legal = np.flatnonzero(tables.action_mask[3])
    for wrong in (int(np.flatnonzero(tables.action_mask[3] == 0)[0]), -1, 46, 10**12, -(2**62)):
        actions[3], before = wrong, bytes_of(tables)
        with pytest.raises(IllegalAction) as caught:
            tables.step(actions)
        assert bytes_of(tables) == before
        message = str(caught.value)
        assert message.startswith(f"table 3, seat {tables.seat[3]}: action {wrong}")
        told = ", ".join(f"{action} {act.name(action)}" for action in legal)
        assert message.endswith(f"legal: {told}")


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        [0],
        [0, 0, 0],
        [[0, 0]],
        [0.0, 0.0],
        [float("nan"), 0],
        [None, 0],
        ["0", "0"],
        [True, True],
        [],
        np.array([2**64 - 1, 0], np.uint64),
        np.array([0, 0], object),
    ],
    ids=str,
)
def test_what_are_no_actions_is_refused(wrong: Any) -> None:
    """Other types, shapes, nothing and no-numbers raise and change nothing."""
    tables = Tables("russian", 2, 2)
    before = bytes_of(tables)
    with pytest.raises(IllegalAction):
        tables.step(wrong)
    assert bytes_of(tables) == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_every_integer_type_is_taken(dtype: Any) -> None:
    """Actions may come in any integer type, in any memory order."""
    tables, plain = Tables("english", 4, 3), Tables("english", 4, 3)
    for _ in range(30):
        actions = tables.action_mask.argmax(axis=1)
        strided = np.zeros((3, 2), dtype)
        strided[:, 0] = actions
        tables.step(strided[:, 0])
        plain.step(actions)
    assert same(tables.state, plain.state)


@pytest.mark.parametrize(
    "wrong",
    [None, float("nan"), 1.0, True, "0", [0], 46, -1, 10**30, np.uint64(2**63 + 3)],
    ids=str,
)
def test_the_environment_refuses_them_too(wrong: Any) -> None:
    """The environment of one table refuses the same, and names the seat."""
    game = raw_env("russian", 2)
    game.reset(seed=1)
    seat, before = game.tables.seat[0], bytes_of(game.tables)
    with pytest.raises(IllegalAction, match=f"seat {seat}: action"):
        game.step(wrong)
    assert bytes_of(game.tables) == before
    assert game.actions_played == []


# --- The end of a match ---------------------------------------------------------------------------


def test_a_finished_table_waits(game: tuple[str, int]) -> None:
    """Without auto_reset it keeps state and flags, its mask is empty and actions do nothing."""
    tables = Tables(*game, 3, seed=4, auto_reset=False, deals=1, max_plays=40)
    lottery = Lottery(4)
    for _ in range(40 * 16):
        actions = np.array([lottery.choose(m) if m.any() else -7 for m in tables.action_mask])
        done = tables.terminated | tables.truncated
        before, kept = tables.state.copy(), [getattr(tables, n).copy() for n in ARRAYS]
        tables.step(actions)
        assert same(before[done], tables.state[done])
        for name, old in zip(ARRAYS, kept, strict=True):
            new = getattr(tables, name)[done]
            assert np.array_equal(new, old[done] if name != "reward" else np.zeros_like(new))
        if done.all():
            break
    assert done.all()
    assert (tables.state["phase"] == OVER).all()
    assert not tables.action_mask.any()


def test_rewards_of_a_deal_sum_to_zero(game: tuple[str, int]) -> None:
    """Who ends a deal by the rules is paid what the others pay; nothing else is ever paid."""
    tables, lottery, ends = Tables(*game, 32, seed=6, max_plays=150), Chooser(), 0
    for _ in range(1500):
        before = tables.state.copy()
        masks = tables.action_mask.copy()
        masks[::2] = POLICIES["accepts"](masks[::2])
        tables.step(lottery.choose(masks))
        paid = tables.reward.any(axis=1)
        anew = tables.state["plays"] < before["plays"]
        assert np.array_equal(paid, anew & ~tables.truncated)
        assert tables.reward.sum(axis=1) == pytest.approx(np.zeros(32), abs=1e-5)
        assert not (tables.terminated & tables.truncated).any()
        assert not (tables.terminated & ~paid).any()
        ends += int(paid.sum())
    assert ends > 5


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_go_on_alone(duplicate: Callable[[Tables], Tables], threads: int) -> None:
    """A copy goes on as the original would, and neither changes the other."""
    tables, chooser = Tables("russian", 4, 5, seed=2, threads=threads), Chooser()
    for _ in range(100):
        tables.step(chooser.choose(tables.action_mask))
    copied = duplicate(tables)
    kept = tables.state.copy()
    for _ in range(80):
        copied.step(copied.action_mask.argmax(axis=1))
    assert same(tables.state, kept)
    for _ in range(80):
        tables.step(tables.action_mask.argmax(axis=1))
    assert same(tables.state, copied.state)
    assert all(np.array_equal(getattr(tables, n), getattr(copied, n)) for n in ARRAYS)


# --- Unending play --------------------------------------------------------------------------------


class Chooser:
    """Compiled random actions for many tables."""

    def __init__(self) -> None:
        self.word = np.uint64(88172645463325252)

    def choose(self, masks: np.ndarray) -> np.ndarray:
        """Return one of each table's actions, int (n,)."""
        actions = np.zeros(len(masks), np.int64)
        self.word = np.uint64(choose_random(masks, self.word, actions))
        return actions


def _prefer(masks: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the masks without what is not wanted, where anything wanted is left."""
    some = (masks & wanted).any(axis=1, keepdims=True)
    return np.where(some, masks & wanted, masks)


def _only(*numbers: int) -> np.ndarray:
    wanted = np.zeros(act.NUM_ACTIONS, np.int8)
    wanted[list(numbers)] = 1
    return wanted


CHALLENGE, TRUE, LAY = _only(act.CHALLENGE), _only(act.PICK), _only(act.LAY)
POLICIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "random": lambda masks: masks,
    "challenges": lambda masks: _prefer(masks, CHALLENGE),
    "accepts": lambda masks: _prefer(masks, 1 - CHALLENGE),
    "lies": lambda masks: _prefer(_prefer(masks, 1 - CHALLENGE), 1 - TRUE),
    "lies and challenges": lambda masks: _prefer(_prefer(masks, 1 - TRUE), CHALLENGE),
    "is truthful": lambda masks: _prefer(_prefer(_prefer(masks, 1 - CHALLENGE), LAY), TRUE),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("variant", "players"),
    [
        ("english", 3),
        ("english", 6),
        ("marquoir", 3),
        ("marquoir", 8),
        ("russian", 2),
        ("russian", 6),
    ],
)
def test_s12_every_policy_comes_to_an_end(variant: str, players: int, policy: str) -> None:
    """S12: 2,000 games a policy end by the rules or at the cap, and are never stuck before."""
    cap, games = 120, 334
    tables = Tables(
        variant, players, games, seed=12, observation="table", auto_reset=False, deals=1,
        max_plays=cap,
    )  # fmt: skip
    chooser, steps = Chooser(), cap * (players - 1 + 6)
    for _ in range(steps):
        done = tables.terminated | tables.truncated
        if done.all():
            break
        assert np.array_equal(tables.action_mask.any(axis=1), ~done)
        tables.step(chooser.choose(POLICIES[policy](tables.action_mask)))
    assert (tables.terminated ^ tables.truncated).all()
    assert (tables.state["plays"] <= cap).all()
    assert (tables.state["plays"][tables.truncated] == cap).all()
