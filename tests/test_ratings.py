"""Ratings, payoffs, cycles and mixtures of made-up evaluations."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from made_evaluations import CYCLE, cell, duel, evaluation, round_robin

from train import payoffs, ratings
from train.findings import Game, parse

#: The best beats everyone, and each of the others who comes after it.
LADDER = {
    (one, other): 0.5 if one < other else 0.1 for one, other in permutations(["a", "b", "c"], 2)
}


def game_of(document: dict[str, Any]) -> Game:
    (game,) = parse(document).games
    return game


def table_of(document: dict[str, Any]) -> payoffs.Payoffs:
    table = payoffs.payoffs(game_of(document))
    assert table is not None
    return table


def rated(document: dict[str, Any]) -> dict[str, float]:
    return {one.name: one.rating for one in ratings.ratings(game_of(document), redraws=2)}


# --- Payoffs --------------------------------------------------------------------------------------


def test_a_cycle_is_found_once_and_everyone_is_needed_against_it() -> None:
    table = table_of(round_robin(CYCLE))
    assert payoffs.cycles(table) == [("rock", "scissors", "paper")]
    assert payoffs.mutual(table) == []
    found = payoffs.lottery(table, redraws=5)
    assert found is not None
    assert found.weights == pytest.approx(dict.fromkeys(["rock", "scissors", "paper"], 1 / 3))
    assert found.drawn == dict.fromkeys(["rock", "scissors", "paper"], 1.0)


def test_the_best_of_a_ladder_has_all_the_weight() -> None:
    table = table_of(round_robin(LADDER))
    assert payoffs.cycles(table) == []
    found = payoffs.lottery(table, redraws=5)
    assert found is not None
    assert found.weights == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert found.drawn == {"a": 1.0, "b": 0.0, "c": 0.0}


def test_rows_are_who_sat_alone() -> None:
    """The share of the strong agent stands in its own row, never in its column."""
    table = table_of(round_robin({("strong", "weak"): 1.0, ("weak", "strong"): 0.0}))
    assert table.shares["strong", "weak"].mean == 1
    assert table.beats("strong", "weak")
    assert not table.beats("weak", "strong")


def test_an_interval_across_the_equal_share_beats_nobody() -> None:
    shares = {pair: 0.26 if share > 0.25 else 0.24 for pair, share in CYCLE.items()}
    assert payoffs.cycles(table_of(round_robin(shares))) == []
    assert payoffs.cycles(table_of(round_robin(shares, half=0.001))) != []
    assert payoffs.cycles(table_of(round_robin(shares, half=None))) == []


def test_each_may_beat_a_table_of_the_other() -> None:
    table = table_of(round_robin({("a", "b"): 0.5, ("b", "a"): 0.4}))
    assert payoffs.mutual(table) == [("a", "b")]


def test_equals_get_equal_weights() -> None:
    shares = dict.fromkeys(permutations(["a", "b", "c", "d"], 2), 0.25)
    found = payoffs.lottery(table_of(round_robin(shares)), redraws=1)
    assert found is not None
    assert list(found.weights.values()) == pytest.approx([0.25] * 4)


def test_no_weight_beats_the_mixture() -> None:
    rng = np.random.default_rng(3)
    for size in range(2, 8):
        matrix = rng.normal(size=(size, size))
        matrix -= matrix.T
        weights = payoffs.mixture(matrix)
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()
        assert (weights @ matrix).min() > -1e-6


def test_a_pair_that_never_finished_is_a_draw() -> None:
    shares: dict[tuple[str, str], float | None] = {**CYCLE, ("rock", "scissors"): None}
    table = table_of(round_robin(shares))
    assert payoffs.cycles(table) == []
    found = payoffs.lottery(table, redraws=2)
    assert found is not None
    assert found.drawn is not None


@pytest.mark.parametrize(
    "document",
    [
        evaluation([duel("a", "b", 0.4)], "one-vs-rest"),
        evaluation([duel("a", "b", 0.4), duel("b", "c", 0.4)], "one-vs-rest"),
    ],
)
def test_no_mixture_where_not_all_met_both_ways(document: dict[str, Any]) -> None:
    assert payoffs.lottery(table_of(document)) is None


def test_no_redraws_without_intervals() -> None:
    found = payoffs.lottery(table_of(round_robin(CYCLE, half=None)))
    assert found is not None
    assert found.drawn is None


@pytest.mark.parametrize("form", ["mixed", "one-vs-rest"])
def test_no_matrix_without_copies(form: str) -> None:
    shares: dict[str, float | None] = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}
    assert payoffs.payoffs(game_of(evaluation([cell("abcd", shares)], form))) is None
    assert payoffs.payoffs(game_of(evaluation([cell("aaaa", {"a": 0.25})], form))) is None


def test_where_the_last_loses_the_equal_share_is_of_those_not_lost() -> None:
    table = table_of(evaluation([duel("a", "b", 0.9, scoring="last")]))
    assert table.equal == 0.75
    assert table.beats("a", "b")
    two_lose = cell("abbb", {"a": 0.8, "b": 0.4}, scoring="last")
    assert table_of(evaluation([two_lose])).equal == 0.5


# --- Ratings --------------------------------------------------------------------------------------


def test_equals_get_equal_ratings() -> None:
    found = rated(round_robin(CYCLE))
    assert list(found.values()) == pytest.approx([25] * 3)
    assert list(found) == ["paper", "rock", "scissors"]


def test_the_order_of_the_cells_changes_nothing() -> None:
    backwards = dict(reversed(LADDER.items()))
    assert rated(round_robin(backwards)) == pytest.approx(rated(round_robin(LADDER)))


def test_ratings_follow_a_ladder() -> None:
    assert list(rated(round_robin(LADDER))) == ["a", "b", "c"]


@pytest.mark.parametrize("players", [2, 3, 6])
def test_an_equal_share_is_an_equal_rating_with_any_number_of_seats(players: int) -> None:
    for scoring, share in (("winner", 1 / players), ("last", (players - 1) / players)):
        found = rated(evaluation([duel("a", "b", share, players, scoring=scoring)]))
        assert list(found.values()) == pytest.approx([25, 25])


def test_who_loses_less_often_is_rated_higher() -> None:
    found = rated(evaluation([duel("a", "b", 0.9, scoring="last")]))
    assert found["a"] > 25 > found["b"]


def test_agents_of_one_table_are_rated() -> None:
    shares: dict[str, float | None] = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    assert list(rated(evaluation([cell("abcd", shares)], "mixed"))) == ["d", "c", "b", "a"]


def test_wider_intervals_are_wider_errors() -> None:
    narrow, wide = (
        ratings.ratings(game_of(round_robin(LADDER, half=half)))[0].error for half in (0.01, 0.05)
    )
    assert narrow is not None
    assert wide is not None
    assert 0 < narrow < wide


def test_no_error_without_intervals() -> None:
    found = ratings.ratings(game_of(round_robin(LADDER, half=None)))
    assert [one.error for one in found] == [None] * 3


def test_what_never_finished_is_not_rated() -> None:
    assert rated(evaluation([duel("a", "b", None)])) == {}
    assert set(rated(evaluation([duel("a", "b", None), duel("a", "c", 0.3)]))) == {"a", "c"}
