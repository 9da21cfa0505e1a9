"""Means over deals and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from train.intervals import mean, share


def by_deal(won: np.ndarray, finished: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return won and finished games (deals, rotations) summed by deal."""
    finished = np.ones_like(won) if finished is None else finished
    return won.sum(axis=1), finished.sum(axis=1)


def test_the_interval_is_clustered_by_deal() -> None:
    """It is the t interval of the ratio of wins to finished games, over deals."""
    rng = np.random.default_rng(0)
    chance = rng.random((60, 1))
    won, finished = rng.random((60, 4)) < chance, rng.random((60, 4)) < 0.9
    won &= finished
    found = share(*by_deal(won, finished))
    ratio = won.sum() / finished.sum()
    deals = [
        (w.sum() - ratio * f.sum()) / finished.sum(axis=1).mean()
        for w, f in zip(won, finished, strict=True)
    ]
    half = stats.t.ppf(0.975, 59) * np.std(deals, ddof=1) / np.sqrt(60)
    assert list(found.values()) == pytest.approx([ratio, ratio - half, ratio + half])
    assert mean(*by_deal(won, finished)) == pytest.approx(found)
    picks = rng.integers(60, size=(4000, 60))
    shares = won[picks].sum(axis=(1, 2)) / finished[picks].sum(axis=(1, 2))
    ends = np.quantile(shares, [0.025, 0.975])
    assert [found["low"], found["high"]] == pytest.approx(ends, abs=0.02)
    naive = 1.96 * np.sqrt(ratio * (1 - ratio) / finished.sum())
    assert half > 1.2 * naive


def test_the_interval_covers() -> None:
    """Of many samples about 95% have the true share in their interval."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        chance = rng.choice([0.1, 0.5], size=(80, 1))
        found = share(*by_deal(rng.random((80, 4)) < chance))
        hits += found["low"] <= 0.3 <= found["high"]
    assert 930 <= hits <= 970


def test_copies_of_a_deal_add_no_certainty() -> None:
    """S28: rotations that end alike are one observation, not four."""
    won = np.random.default_rng(0).random((50, 1)) < 0.5
    one, four = share(*by_deal(won)), share(*by_deal(np.repeat(won, 4, axis=1)))
    assert four == pytest.approx(one)


def test_an_interval_stays_between_none_and_all() -> None:
    """Its ends are chances too; from one deal there is no interval, from none no mean."""
    assert share([1, 0, 0, 0], [4] * 4)["low"] == 0
    assert share([3, 4, 4, 4], [4] * 4)["high"] == 1
    assert share([1], [4]) == {"mean": 0.25, "low": None, "high": None}
    for estimate in (share, mean):
        assert estimate([0, 0], [0, 0]) == {"mean": None, "low": None, "high": None}


@pytest.mark.parametrize("deals", [2, 20, 500])
def test_all_or_none_has_an_exact_interval(deals: int) -> None:
    """Where every deal is won there is no spread; the interval is Clopper and Pearson's."""
    games = np.full(deals, 4)
    exact = stats.binomtest(deals, deals).proportion_ci(0.95)
    assert list(share(games, games).values()) == pytest.approx([1, exact.low, 1])
    assert list(share(0 * games, games).values()) == pytest.approx([0, 0, 1 - exact.low])


def test_deals_that_all_go_alike() -> None:
    """Equal shares by symmetry are exact; of a mean that never varied the interval is unknown."""
    ones, games = np.ones(10), np.full(10, 3)
    assert list(share(ones, games).values()) == pytest.approx([1 / 3] * 3)
    assert mean(ones, games) == {"mean": pytest.approx(1 / 3), "low": None, "high": None}


def test_deals_without_finished_games_do_not_count() -> None:
    """A deal of which nothing finished is no observation."""
    assert share([1, 0, 2, 0], [4, 4, 4, 0]) == share([1, 0, 2], [4, 4, 4])
    assert share([0, 0], [4, 0]) == {"mean": 0, "low": None, "high": None}
