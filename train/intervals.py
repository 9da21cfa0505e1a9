"""Means over deals with their 95% intervals.

The deals are the clusters: seats and rotations of one deal share its cards, so they are no
independent trials. The estimator is the ratio of two sums over deals, with its t interval (Cochran,
"Sampling Techniques", chapter 6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

CONFIDENCE = 0.95
#: A standard error below this is rounding: every deal went the same way.
NO_SPREAD = 1e-9

#: mean, low and high; None where there is nothing to tell them from.
Estimate = dict[str, float | None]


def unknown() -> Estimate:
    """Return an estimate that tells nothing."""
    return {"mean": None, "low": None, "high": None}


def mean(sums: ArrayLike, games: ArrayLike) -> Estimate:
    """Return the mean over games of what `sums` holds by deal: both (deals,).

    Without games there is no mean; from fewer than two deals, or where every deal went the same
    way, there is no interval.
    """
    sums, games = np.asarray(sums, np.float64), np.asarray(games, np.float64)
    if not games.any():
        return unknown()
    ratio = float(sums.sum() / games.sum())
    deals, error = _standard_error(sums, games, ratio)
    if error < NO_SPREAD:
        return {"mean": ratio, "low": None, "high": None}
    half = float(special.stdtrit(deals - 1, (1 + CONFIDENCE) / 2) * error)
    return {"mean": ratio, "low": ratio - half, "high": ratio + half}


def share(hits: ArrayLike, games: ArrayLike) -> Estimate:
    """Return the share of games that are hits, by deal as in `mean`; its ends stay in 0 .. 1.

    Where all or none are hits, the interval is Clopper and Pearson's for so many deals. Where every
    deal has the same part of hits, as where an agent has all the seats, it is that point.
    """
    found = mean(hits, games)
    ratio, deals = found["mean"], int(np.count_nonzero(games))
    if ratio is None or deals < 2:
        return found
    if ratio in (0, 1):  # no spread to estimate from
        end = ((1 - CONFIDENCE) / 2) ** (1 / deals)
        low, high = (end, 1.0) if ratio else (0.0, 1 - end)
        return {"mean": ratio, "low": low, "high": high}
    if found["low"] is None or found["high"] is None:
        return {"mean": ratio, "low": ratio, "high": ratio}
    return {"mean": ratio, "low": max(found["low"], 0.0), "high": min(found["high"], 1.0)}


def _standard_error(sums: np.ndarray, games: np.ndarray, ratio: float) -> tuple[int, float]:
    """Return how many deals have games, and the standard error of the ratio; 0: none to tell."""
    deals = int(np.count_nonzero(games))
    if deals < 2:
        return deals, 0.0
    residual = sums - ratio * games
    return deals, float(np.sqrt((residual**2).sum() * deals / (deals - 1)) / games.sum())
