"""Two-player zero-sum games in sequence form: CFR+, best responses and exploitability.

The sequence form (von Stengel 1996) keeps of a game what matters to two seats that forget nothing:
a sequence is a line of a seat's own actions, 0 the empty one; an information state begins at the
end of a sequence of its seat, and each of its actions makes a sequence of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheat_env.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Seat(NamedTuple):
    """The m information states of a seat, each after those that it can follow.

    Information state i has the sequences `start[i]` .. `start[i + 1] - 1`, one for each action.
    """

    parent: Ints
    """(m,), the sequence at whose end each begins."""
    start: Ints
    """(m + 1,), from 1 up to the number of sequences."""


class Game(NamedTuple):
    """What each seat can know and do, and the t ends that pay: what is left out pays nothing."""

    seats: tuple[Seat, Seat]
    sequences: tuple[Ints, Ints]
    """(t,) each, the sequences that lead to an end."""
    chance: Floats
    """(t,), the probability that chance allows it."""
    payoff: Floats
    """(t,), what the first seat is paid there by the second."""


#: What both seats do: for each the probability of every sequence's last action where it is asked
#: for it, float64 (sequences,); [0] is 1.
Policy = tuple[Floats, Floats]
#: For each seat and information state the first sequence of the one that it is merged with.
Merged = tuple[Ints, Ints]


def uniform(game: Game) -> Policy:
    """Return the policy that gives every action the same probability."""
    first, second = (_normalised(seat, seat.start[:-1], _zeros(seat)) for seat in game.seats)
    return first, second


def solve(game: Game, iterations: int, merged: Merged | None = None) -> Policy:
    """Return the average policy of CFR+ after so many iterations.

    Regrets never fall below 0, the seats take turns, and the average weighs an iteration by its
    number (Tammelin 2014). With `merged`, a seat can't tell information states apart that are
    merged: their regrets are added up, and they share one policy. Such a seat may have forgotten
    what it knew, so nothing promises that this converges; measure it.
    """
    groups = merged or (game.seats[0].start[:-1], game.seats[1].start[:-1])
    regrets = _zeros(game.seats[0]), _zeros(game.seats[1])
    sums = _zeros(game.seats[0]), _zeros(game.seats[1])
    iterate(
        *game.seats, *game.sequences, game.chance * game.payoff, iterations, *groups, regrets, sums
    )
    first, second = map(_normalised, game.seats, groups, sums)
    return first, second


def responses(game: Game, policy: Policy) -> tuple[float, float]:
    """Return what a best response wins in each seat, while the other one keeps to the policy."""
    first, second = (respond(game.seats[own], _worth(game, policy, own)) for own in (0, 1))
    return first, second


def exploitability(game: Game, policy: Policy) -> float:
    """Return what best responses win on average over the two seats: half of NashConv."""
    return sum(responses(game, policy)) / 2


def value(game: Game, policy: Policy) -> float:
    """Return what the first seat wins where both keep to the policy."""
    worth = _worth(game, policy, 0)
    follow(game.seats[0], policy[0], worth)
    return float(worth[0])


def _worth(game: Game, policy: Policy, own: int) -> Floats:
    """Return what each of a seat's sequences wins by the ends that it leads to at once."""
    other = 1 - own
    weight = game.chance * game.payoff * (-1 if own else 1)
    others = reach(game.seats[other], policy[other])
    return gather(*(game.sequences[own], game.sequences[other]), weight, others, len(policy[own]))


def _zeros(seat: Seat) -> Floats:
    """Return a number for each of a seat's sequences, 0."""
    return np.zeros(int(seat.start[-1]))


def _normalised(seat: Seat, groups: Ints, weights: Floats) -> Floats:
    """Return probabilities in proportion to the weights of each information state's group."""
    policy = np.ones(len(weights))
    spread(seat, groups, weights, policy)
    return policy


# --- Compiled -------------------------------------------------------------------------------------


@compiled
def spread(seat: Seat, groups: Ints, weights: Floats, policy: Floats) -> None:
    """Write probabilities in proportion to weights, or equal ones where all weights are 0."""
    for i in range(len(seat.parent)):
        actions, total = seat.start[i + 1] - seat.start[i], 0.0
        for a in range(actions):
            total += weights[groups[i] + a]
        for a in range(actions):
            share = weights[groups[i] + a] / total if total > 0 else 1.0 / actions
            policy[seat.start[i] + a] = share


@compiled
def reach(seat: Seat, policy: Floats) -> Floats:
    """Return the probability that a seat plays each of its sequences where it is asked to."""
    found = np.ones(len(policy))
    for i in range(len(seat.parent)):
        for s in range(seat.start[i], seat.start[i + 1]):
            found[s] = found[seat.parent[i]] * policy[s]
    return found


@compiled
def gather(own: Ints, other: Ints, weight: Floats, others: Floats, size: int) -> Floats:
    """Return the weights of the ends of each own sequence, each times the other seat's reach."""
    worth = np.zeros(size)
    for t in range(len(own)):
        worth[own[t]] += weight[t] * others[other[t]]
    return worth


@compiled
def follow(seat: Seat, policy: Floats, worth: Floats) -> Floats:
    """Add to every sequence what follows it under a policy; returns that by state, (m,)."""
    value = np.zeros(len(seat.parent))
    for i in range(len(seat.parent) - 1, -1, -1):
        for s in range(seat.start[i], seat.start[i + 1]):
            value[i] += policy[s] * worth[s]
        worth[seat.parent[i]] += value[i]
    return value


@compiled
def respond(seat: Seat, worth: Floats) -> float:
    """Add to every sequence what follows it under the best policy; returns the worth of all."""
    for i in range(len(seat.parent) - 1, -1, -1):
        best = worth[seat.start[i]]
        for s in range(seat.start[i] + 1, seat.start[i + 1]):
            best = max(best, worth[s])
        worth[seat.parent[i]] += best
    return float(worth[0])


@compiled
def iterate(
    first: Seat,
    second: Seat,
    ends_first: Ints,
    ends_second: Ints,
    weight: Floats,
    iterations: int,
    groups_first: Ints,
    groups_second: Ints,
    regrets: Policy,
    sums: Policy,
) -> None:
    """Play iterations of CFR+ on regrets and sums, both by sequence and 0 at the start."""
    policy, answer = np.ones(len(regrets[0])), np.ones(len(regrets[1]))
    spread(first, groups_first, regrets[0], policy)
    spread(second, groups_second, regrets[1], answer)
    for t in range(1, iterations + 1):
        others = reach(second, answer)
        worth = gather(ends_first, ends_second, weight, others, len(policy))
        _improve(first, groups_first, worth, policy, regrets[0])
        _average(first, groups_first, policy, t, sums[0])
        others = reach(first, policy)
        worth = gather(ends_second, ends_first, -weight, others, len(answer))
        _improve(second, groups_second, worth, answer, regrets[1])
        _average(second, groups_second, answer, t, sums[1])


@compiled
def _improve(seat: Seat, groups: Ints, worth: Floats, policy: Floats, regret: Floats) -> None:
    """Add what each action would have won more, and play in proportion to what is above 0."""
    value = follow(seat, policy, worth)
    for i in range(len(seat.parent)):
        for a in range(seat.start[i + 1] - seat.start[i]):
            regret[groups[i] + a] += worth[seat.start[i] + a] - value[i]
    for s in range(len(regret)):
        regret[s] = max(regret[s], 0.0)
    spread(seat, groups, regret, policy)


@compiled
def _average(seat: Seat, groups: Ints, policy: Floats, weight: int, sums: Floats) -> None:
    """Add a policy to the average, as often as the seat itself plays there."""
    own = reach(seat, policy)
    for i in range(len(seat.parent)):
        for a in range(seat.start[i + 1] - seat.start[i]):
            sums[groups[i] + a] += weight * own[seat.start[i] + a]
