"""Games of the family in OpenSpiel for tests: loaded, dealt and played."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cheat_env import Rules
from cheat_env.observations import MEMORY, encode

pyspiel = pytest.importorskip("pyspiel")

from cheat_env.open_spiel import NAME  # noqa: E402

#: A game of two that is small enough for OpenSpiel's own algorithms; seat 0 leads.
SMALL = {"players": 2, "ranks": 3, "copies": 1, "most": 1, "max_plays": 6, "dealer": 1}


def load(**parameters: Any) -> Any:
    """Return a game of OpenSpiel."""
    return pyspiel.load_game(NAME, parameters)


def small_rules(parameters: dict[str, Any]) -> Rules:
    """Return the rules of a small game as the solver takes them."""
    return Rules.load(
        "english",
        players=[2, 2],
        deck=f"A-{parameters['ranks']}",
        copies=parameters["copies"],
        cards_per_play=[1, parameters["most"]],
        max_plays=parameters["max_plays"],
    )


def source(seed: int) -> np.random.Generator:
    """Return a source of random numbers."""
    return np.random.default_rng(seed)


def deal(state: Any, hands: NDArray[np.int8], dealer: int = 0) -> None:
    """Let chance deal these hands, (seats, 14)."""
    if not state.history():
        state.apply_action(dealer)
    game = state.get_game()
    for seat, slot in itertools.product(range(game.num_players()), game.slots):
        assert state.is_chance_node()
        state.apply_action(int(hands[seat, slot]))


def at_random(state: Any, rng: np.random.Generator) -> int:
    """Return a random action, or what chance does."""
    if state.is_chance_node():
        actions, shares = zip(*state.chance_outcomes(), strict=True)
        return int(rng.choice(actions, p=shares))
    return int(rng.choice(state.legal_actions()))


def look(state: Any, seat: int) -> NDArray[np.int8]:
    """Return what a seat sees by the longer observation."""
    seen = np.zeros(MEMORY.size, np.int8)
    encode(state.table, state.get_game().options, seat, seen)
    return seen
