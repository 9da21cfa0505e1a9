"""Games for tests of the solver, in sequence form: from all their ends, and Kuhn poker's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from train.solver import Game, Seat


class Decision(NamedTuple):
    """An action on the way to an end: whose, in which information state, and out of how many."""

    seat: int
    state: str
    action: int
    actions: int


#: The probability of an end by chance, what it pays the first seat, and the way there.
End = tuple[float, float, list[Decision]]


def sequence_form(ends: Sequence[End]) -> tuple[Game, tuple[dict[str, int], dict[str, int]]]:
    """Return a game given by all its ends, and the first sequence of each information state."""
    places = _places(ends, 0), _places(ends, 1)
    sequences = [[_last(path, seat, places[seat]) for *_, path in ends] for seat in (0, 1)]
    seats = [_seat(ends, seat, places[seat]) for seat in (0, 1)]
    game = Game(
        (seats[0], seats[1]),
        (np.array(sequences[0]), np.array(sequences[1])),
        np.array([chance for chance, _, _ in ends]),
        np.array([payoff for _, payoff, _ in ends]),
    )
    return game, places


def _places(ends: Sequence[End], seat: int) -> dict[str, int]:
    """Return the first sequence of each information state of a seat, in the order of meeting."""
    places: dict[str, int] = {}
    following = 1
    for _, _, path in ends:
        for step in path:
            if step.seat == seat and step.state not in places:
                places[step.state] = following
                following += step.actions
    return places


def _last(path: Sequence[Decision], seat: int, places: dict[str, int]) -> int:
    """Return the sequence of a seat that a way ends with."""
    own = [step for step in path if step.seat == seat]
    return places[own[-1].state] + own[-1].action if own else 0


def _seat(ends: Sequence[End], seat: int, places: dict[str, int]) -> Seat:
    """Return the part of a seat."""
    parent, actions = {}, {}
    for _, _, path in ends:
        for i, step in enumerate(path):
            if step.seat == seat:
                parent[step.state] = _last(path[:i], seat, places)
                actions[step.state] = step.actions
    start = [*places.values(), 1 + sum(actions.values())]
    return Seat(np.array([parent[state] for state in places]), np.array(start))


def kuhn() -> list[End]:
    """Return the ends of Kuhn poker (Kuhn 1950), for three cards and an ante of one."""
    ends = []
    for cards in permutations(range(3), 2):
        higher = 1 if cards[0] > cards[1] else -1
        pays = {"pp": higher, "pbp": -1, "pbb": 2 * higher, "bp": 1, "bb": 2 * higher}
        for line, payoff in pays.items():
            path = [
                Decision(i % 2, f"{cards[i % 2]}{line[:i]}", "pb".index(word), 2)
                for i, word in enumerate(line)
            ]
            ends.append((1 / 6, float(payoff), path))
    return ends
