"""Many tables at once play the same games as one, and deal by number."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import VARIANTS, Lottery
from playing import ARRAYS, Chooser
from positions import same

from cheat_env import Tables, raw_env
from cheat_env import actions as act
from cheat_env.dealing import match_over, next_deal, start_match
from cheat_env.engine import apply, legal_actions
from cheat_env.observations import MEMORY, encode
from cheat_env.rules import Rules
from cheat_env.state import DTYPE, OVER, allocate

STEPS = 700
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
    lottery, others = Lottery(3), Chooser(1)
    for _ in range(STEPS):
        yield shown(made, row)
        actions = others.choose(made.action_mask)
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


def test_what_is_shown_cannot_be_written() -> None:
    """The arrays are read-only, of a copy too: a step goes on from what the last one wrote."""
    made = Tables("english", 3, 2)
    for tables in (made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        for name in ARRAYS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(tables, name)[:] = 0
        tables.step(tables.action_mask.argmax(axis=1))
        assert all(np.shares_memory(getattr(tables, n), getattr(tables.arrays, n)) for n in ARRAYS)
