"""Long runs: millions of decisions of random and extreme play, every card counted after each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import PLAYERS, VARIANTS
from invariants import whole_deck
from numpy.typing import NDArray

from cheat_env import Tables
from cheat_env import actions as act
from cheat_env.cards import NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import MAX_SEATS
from cheat_env.state import State
from cheat_env.tables import Arrays, step_tables

#: Who plays: at random; challenging, or never, where there is a choice; the first legal action, or
#: the last; laying as many cards as there are.
RANDOM, CALLER, TRUSTING, FIRST, LAST, DUMPER = KINDS = range(6)
ALL_WELL, NO_ACTION, CARDS_LOST = range(3)
DECISIONS = 10_000_000


@compiled
def choose(mask: NDArray[np.int8], kind: int, word: np.uint64) -> int:
    """Return a legal action of a mask by a kind of player, or -1 where there is none."""
    legal, first, last = 0, -1, -1
    for action in range(act.NUM_ACTIONS):
        if mask[action] == 1:
            first = action if legal == 0 else first
            last = action
            legal += 1
    if kind == CALLER and mask[act.CHALLENGE] == 1:
        return act.CHALLENGE
    if kind == TRUSTING and mask[act.ACCEPT] == 1:
        return act.ACCEPT
    if kind == FIRST or (kind == DUMPER and first < act.LAY):
        return first
    if kind == LAST or legal == 0:
        return last
    skip = int((word >> np.uint64(33)) % np.uint64(legal))
    for action in range(act.NUM_ACTIONS):
        if mask[action] == 1:
            if skip == 0:
                return action
            skip -= 1
    return -1


@compiled
def cards_lost(state: State, t: int, deck: NDArray[np.int64], copies: int) -> bool:
    """Say whether a table holds other cards than the deck, or sizes that are not those of cards."""
    table = state[t]
    for slot in range(SLOTS):
        found = int(table.group[slot]) + int(table.aside[slot]) + int(table.gone[slot])
        if slot < NUM_RANKS:
            found += copies * int(table.quads[slot])
        for seat in range(MAX_SEATS):
            found += int(table.hand[seat, slot]) + int(table.pile[seat, slot])
            found += int(table.burnt[seat, slot])
            if table.hand[seat, slot] < 0:
                return True
        if found != deck[slot]:
            return True
    for seat in range(MAX_SEATS):
        if np.sum(table.hand[seat]) != table.hand_size[seat]:
            return True
    return bool(np.sum(table.pile) + np.sum(table.group) != table.pile_size)


@compiled
def play_long(
    state: State,
    game: NDArray[np.void],
    arrays: Arrays,
    actions: NDArray[np.int64],
    words: NDArray[np.uint64],
    deck: NDArray[np.int64],
    rounds: int,
    ended: NDArray[np.int64],
) -> int:
    """Play every table so many actions on; counts deals ended and truncated. Says what went wrong.

    At a third of the tables all seats play alike, at the others each is of another kind.
    """
    for _ in range(rounds):
        for t in range(len(actions)):
            words[t] = words[t] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            kind = t if t % 3 == 0 else t + int(arrays.seat[t])
            actions[t] = choose(arrays.action_mask[t], kind % 6, words[t])
            if actions[t] < 0:
                return NO_ACTION
        step_tables(state, game, arrays, actions, True, 0, len(actions))
        for t in range(len(actions)):
            ended[0] += arrays.terminated[t]
            ended[1] += arrays.truncated[t]
            if cards_lost(state, t, deck, int(game[0].copies)):
                return CARDS_LOST
    return ALL_WELL


def resident() -> int:
    """Return how many bytes of memory this process has, or 0 where the system does not tell."""
    told = Path("/proc/self/statm")
    return 4096 * int(told.read_text().split()[1]) if told.exists() else 0


def play(variant: str, decisions: int) -> tuple[NDArray[np.int64], list[int]]:
    """Play decisions at every number of seats; returns deals ended and truncated, and memory."""
    ended, memory = np.zeros(2, np.int64), []
    parts = 10
    for players in PLAYERS[variant]:
        tables = Tables(variant, players, 102, seed=7)
        deck = whole_deck(tables).astype(np.int64)
        words = np.arange(102, dtype=np.uint64)
        actions = np.zeros(102, np.int64)
        rounds = -(-decisions // (len(PLAYERS[variant]) * parts * 102))
        for _ in range(parts):
            went = play_long(
                tables.state, tables.game, tables.arrays, actions, words, deck, rounds, ended
            )
            assert went == ALL_WELL, (players, went)
            assert (tables.state["plays"] <= tables.rules.max_plays).all()
            memory.append(resident())
    return ended, memory


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_card_is_lost_in_a_million_decisions(variant: str) -> None:
    """Every deal ends or is truncated, and nobody is asked without an action."""
    ended, _ = play(variant, 1_000_000)
    assert ended.sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_card_is_lost_in_ten_million_decisions(variant: str) -> None:
    """The same for long, and memory stays as it was: within 5% from the first part to the last."""
    ended, memory = play(variant, DECISIONS)
    assert ended.sum() > 1000
    assert abs(memory[-1] - memory[0]) <= 0.05 * memory[0]


def test_lost_cards_are_found() -> None:
    """One card more, fewer, or in another place than its size says: the check tells."""
    tables = Tables("russian", 4, 3)
    deck = whole_deck(tables).astype(np.int64)
    assert not any(cards_lost(tables.state, t, deck, 4) for t in range(3))
    tables.state["hand"][0, 1, 2] += 1
    tables.state["pile"][1, 0, 5] += 1
    tables.state["hand_size"][2, 3] -= 1
    assert all(cards_lost(tables.state, t, deck, 4) for t in range(3))
