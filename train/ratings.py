"""Ratings of openskill, to read beside the table of shares and never in its place.

A deal tells who won, and that only one did. So a cell is counted as duels: one agent in a seat
outdoes another in another seat when it is the one of the two that won (where the last with cards
loses: when the other is the one that lost). At equal strength both are as frequent, whatever the
number of seats, and that is what Plackett and Luce's model says of the winner.

openskill learns from one duel after another, and what it says then depends on their order. Here
every agent plays one duel a round, spread evenly over those it met, and each duel counts in both
outcomes by how often they came: no order is chosen, equals get equal ratings, and more deals make
no ratings higher, only surer. openskill's own sigma counts duels of one deal as independent and
falls with every round, so it says nothing here; the error is 1.96 standard deviations of the
ratings over redraws of the cells within their intervals, which are clustered by deal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from openskill.models import PlackettLuce, PlackettLuceRating

from train.findings import Finding, Game
from train.payoffs import REACH, REDRAWS, redrawn

#: Duels of each agent. With more, differences shrink, as openskill's scale does with its sigma.
ROUNDS = 40
MODEL = PlackettLuce()


@dataclass(frozen=True)
class Rating:
    """An agent's rating; the error is None where some cell has no interval."""

    name: str
    rating: float
    error: float | None


def ratings(game: Game, rounds: int = ROUNDS, redraws: int = REDRAWS) -> list[Rating]:
    """Return the ratings of the agents that met another, best first."""
    cells = [
        cell
        for cell in game.cells
        if len(cell.names) > 1
        and all(record.share.mean is not None for record in cell.agents.values())
    ]
    names = [name for name in game.names if any(name in cell.lineup for cell in cells)]
    if not names:
        return []
    measured = rate(_duels(game, cells, names, None), rounds)
    errors: list[float | None] = [None] * len(names)
    if all(record.share.low is not None for cell in cells for record in cell.agents.values()):
        rng = np.random.default_rng(0)
        again = [rate(_duels(game, cells, names, rng), rounds) for _ in range(redraws)]
        errors = (REACH * np.std(again, axis=0, ddof=1)).tolist()
    found = [Rating(*three) for three in zip(names, measured.tolist(), errors, strict=True)]
    # Rounded, so that equals stand in the order of their names
    return sorted(found, key=lambda one: (-round(one.rating, 6), one.name))


def _duels(
    game: Game, cells: list[Finding], names: list[str], rng: np.random.Generator | None
) -> NDArray[np.float64]:
    """Return how often the agent of the row outdid that of the column, in seat-games."""
    place = {name: number for number, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for cell in cells:
        shares = _shares(cell, rng)
        for one in cell.names:
            for other in cell.names:
                if one != other:
                    outdid = 1 - shares[other] if game.last_loses else shares[one]
                    wins[place[one], place[other]] += cell.finished * outdid
    return wins


def _shares(cell: Finding, rng: np.random.Generator | None) -> Mapping[str, float]:
    """Return each agent's share of a cell, as measured or drawn anew within its interval."""
    measured = {name: cell.agents[name].share.mean or 0.0 for name in cell.names}
    if rng is None:
        return measured
    shares = {name: redrawn(cell.agents[name].share, rng) for name in cell.names}
    if len(shares) == 2:  # what one agent takes is taken from the other
        one, other = cell.names
        seats = cell.lineup.count(one) / cell.lineup.count(other)
        left = measured[other] - (shares[one] - measured[one]) * seats
        shares[other] = min(max(left, 0.0), 1.0)
    return shares


def rate(wins: NDArray[np.float64], rounds: int = ROUNDS) -> NDArray[np.float64]:
    """Return the ratings (openskill's mu) after some rounds, from how often each outdid each."""
    size = len(wins)
    played = wins + wins.T
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size) if played[i, j] > 0]
    met = np.maximum((played > 0).sum(axis=1), 1)
    now = [MODEL.rating() for _ in range(size)]
    for _ in range(rounds):
        mu, log_sigma = np.zeros(size), np.zeros(size)
        for i, j in pairs:
            for first, second in ((i, j), (j, i)):
                if not (weight := wins[first, second] / played[i, j]):
                    continue
                after = MODEL.rate([[now[first]], [now[second]]])
                for who, (rating,) in zip((first, second), after, strict=True):
                    mu[who] += weight * (rating.mu - now[who].mu)
                    log_sigma[who] += weight * np.log(rating.sigma / now[who].sigma)
        now = [_moved(now[i], mu[i] / met[i], log_sigma[i] / met[i]) for i in range(size)]
    return np.array([rating.mu for rating in now])


def _moved(rating: PlackettLuceRating, mu: float, log_sigma: float) -> PlackettLuceRating:
    return MODEL.rating(mu=rating.mu + float(mu), sigma=rating.sigma * float(np.exp(log_sigma)))
