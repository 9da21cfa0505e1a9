"""Who beats whom: the payoff matrix of a game, its cycles, and its maximal lottery.

A row against a column is the share of one seat of the row's agent against copies of the column's,
less the equal share. The order that a table of shares suggests may not exist: cycles are named, and
in place of a best agent there is the mixture that no single agent beats.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from train.findings import Estimate, Game

#: How far an interval of 95% reaches, in standard errors.
REACH = float(stats.norm.ppf(0.975))
REDRAWS = 30
#: A smaller weight is the rounding of the solver.
TINY = 1e-6


@dataclass(frozen=True)
class Payoffs:
    """The shares of one agent (row) against copies of another (column).

    Attributes:
        shares: by pair; a pair that was not played is not in it, nor is an agent against itself.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    equal: float
    shares: dict[tuple[str, str], Estimate]

    def beats(self, one: str, other: str) -> bool:
        """Tell whether one takes more than the equal share from copies of the other for sure."""
        share = self.shares.get((one, other))
        return share is not None and share.low is not None and share.low > self.equal


@dataclass(frozen=True)
class Lottery:
    """The maximal lottery of a square matrix of payoffs.

    Attributes:
        weights: by agent, in the order of the rows.
        drawn: in which share of the redraws within the intervals the agent has weight;
            None where some cell has no interval.
    """

    weights: dict[str, float]
    drawn: dict[str, float] | None


def payoffs(game: Game) -> Payoffs | None:
    """Return the matrix of the cells that are one agent against copies of another, if any."""
    shares: dict[tuple[str, str], Estimate] = {}
    for cell in game.cells:
        first, *rest = cell.names
        if len(rest) == 1 and cell.lineup.count(first) == 1:
            # Of a pair played twice the first is shown here; the table of results has both.
            shares.setdefault((first, rest[0]), cell.agents[first].share)
    if game.mixed or not shares:
        return None
    rows, columns = zip(*shares, strict=True)
    return Payoffs(_in_order(game, rows), _in_order(game, columns), game.equal, shares)


def _in_order(game: Game, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in game.names if name in names)


def cycles(table: Payoffs) -> list[tuple[str, str, str]]:
    """Return each three agents of which every one beats the next, once."""
    order = {name: place for place, name in enumerate(table.rows)}
    return [
        three
        for three in permutations(table.rows, 3)
        if order[three[0]] == min(order[name] for name in three)
        and all(table.beats(*pair) for pair in around(three))
    ]


def around(three: tuple[str, str, str]) -> list[tuple[str, str]]:
    """Return the three pairs of a cycle."""
    one, two, last = three
    return [(one, two), (two, last), (last, one)]


def mutual(table: Payoffs) -> list[tuple[str, str]]:
    """Return the pairs in which each beats a table of the other."""
    return [
        (one, other)
        for number, one in enumerate(table.rows)
        for other in table.rows[number + 1 :]
        if table.beats(one, other) and table.beats(other, one)
    ]


def lottery(table: Payoffs, redraws: int = REDRAWS) -> Lottery | None:
    """Return the maximal lottery, or None where not every agent met every other both ways."""
    names = table.rows
    if set(names) != set(table.columns) or len(table.shares) < len(names) * (len(names) - 1):
        return None
    weights = mixture(_matrix(table, None))
    drawn = None
    if all(share.low is not None or share.mean is None for share in table.shares.values()):
        rng = np.random.default_rng(0)
        supports = [mixture(_matrix(table, rng)) > TINY for _ in range(redraws)]
        drawn = dict(zip(names, np.mean(supports, axis=0).tolist(), strict=True))
    return Lottery(dict(zip(names, weights.tolist(), strict=True)), drawn)


def _matrix(table: Payoffs, rng: np.random.Generator | None) -> NDArray[np.float64]:
    """Return the antisymmetric payoffs, as measured or drawn anew within their intervals.

    A pair of which no deal finished counts as a draw.
    """
    size = len(table.rows)
    matrix = np.zeros((size, size))
    for row, one in enumerate(table.rows):
        for column, other in enumerate(table.rows):
            share = table.shares.get((one, other))
            if share is not None and share.mean is not None:
                taken = share.mean if rng is None else redrawn(share, rng)
                matrix[row, column] = taken - table.equal
    return (matrix - matrix.T) / 2


def redrawn(share: Estimate, rng: np.random.Generator) -> float:
    """Draw a share anew from the normal of its interval, kept between 0 and 1."""
    assert share.mean is not None
    error = 0.0
    if share.low is not None and share.high is not None:
        error = (share.high - share.low) / (2 * REACH)
    return float(np.clip(share.mean + error * rng.standard_normal(), 0, 1))


def mixture(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mixture that no row of an antisymmetric matrix beats.

    Where there are several, the mean of those that give each agent the most weight: equals
    then get equal weights, and every agent that can have weight has some.
    """
    size = len(matrix)
    found = [
        optimize.linprog(
            -wanted,
            A_ub=-matrix.T,
            # The value of such a game is 0; the slack lets through what rounding adds.
            b_ub=np.full(size, 1e-9),
            A_eq=np.ones((1, size)),
            b_eq=[1.0],
            bounds=(0, 1),
            method="highs",
        ).x
        for wanted in np.eye(size)
    ]
    weights = np.mean(found, axis=0)
    weights[weights < TINY] = 0
    return np.asarray(weights / weights.sum(), np.float64)
