"""Clauses of the rule book that no single position shows; the others are in tests/records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import GAMES, TESTS, VARIANTS, Lottery, random_match
from playing import never_end

from cheat_env import Rules, RulesError, Tables
from cheat_env import actions as act
from cheat_env.cards import JOKER
from cheat_env.dealing import match_over, next_deal, start_match
from cheat_env.engine import apply, legal_actions
from cheat_env.state import LIE, OVER, PLAY, TRUE, WINDOW, State, allocate

CLAUSES = [
    f"{part}{n}"
    for part, last in (("A", 17), ("B", 9), ("C", 17), ("G", 15), ("K", 2))
    for n in range(1, last + 1)
]


@pytest.mark.parametrize("clause", CLAUSES)
def test_clause_is_shown(clause):
    """Every clause id of the rule book and the family stands in a test or in a record."""
    listed = re.compile(rf"^\s*clauses:.*\b{clause}\b", re.MULTILINE)
    said = re.compile(rf'"""[^"]*\b{clause}\b')
    texts = [path.read_text("utf-8") for path in sorted(TESTS.glob("test_*.py"))]
    played = [path.read_text("utf-8") for path in sorted(TESTS.glob("records/**/*.yaml"))]
    assert any(map(said.search, texts)) or any(map(listed.search, played))


def deals(variant: Any, players: int, seed: int, **rules: Any) -> Iterator[State]:
    """Play random matches for ever; yields the table at the end of every deal."""
    options = Rules.load(variant, **rules).options(players)
    state, mask, lottery = allocate(1), np.zeros(act.NUM_ACTIONS, np.int8), Lottery(seed)
    table = state[0]
    table["seed"] = seed
    start_match(table, options)
    while True:
        while table["phase"] != OVER:
            legal_actions(table, options, mask)
            apply(table, options, lottery.choose(mask))
        yield state.copy()
        next_deal(table, options)


def clockwise(table: Any, players: int, values: str) -> list[int]:
    """Return values by seat, from the dealer's left round to the dealer."""
    first = int(table["dealer"]) + 1
    return [int(table[values][(first + i) % players]) for i in range(players)]


# --- Players, decks, deals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "players"),
    [
        ("english", 2),
        ("english", 7),
        ("marquoir", 2),
        ("marquoir", 9),
        ("russian", 1),
        ("russian", 7),
    ],
)
def test_players_outside_the_range(variant, players):
    """A1, B1, C1: a game is refused for too few or too many players."""
    with pytest.raises(RulesError, match=f"num_players {players}"):
        Tables(variant, players)


def test_players_inside_the_range():
    """A1, B1, C1: 3 to 6, 3 to 8 and 2 to 6 players."""
    ranges = {variant: Rules.load(variant).players for variant in VARIANTS}
    assert ranges == {"english": (3, 6), "marquoir": (3, 8), "russian": (2, 6)}


ALL_RANKS = "A 2 3 4 5 6 7 8 9 10 J Q K"
FROM_TWO = "2 3 4 5 6 7 8 9 10 J Q K A"
FROM_SIX = "6 7 8 9 10 J Q K A"


def test_deck(game):
    """A2, B2, C2: ranks, cards of each rank and cards in all; no jokers."""
    variant, players = game
    tables = Tables(variant, players)
    ranks, copies = ALL_RANKS, 4
    if variant == "marquoir" and players > 6:
        copies = 8
    if variant == "russian":
        ranks = FROM_SIX if players <= 3 else FROM_TWO
    assert " ".join(tables.deck) == ranks
    table = tables.state[0]
    cards = table["hand"].sum(axis=0) + table["aside"]
    assert cards.tolist() == [copies] * len(tables.deck) + [0] * (JOKER + 1 - len(tables.deck))


def test_one_deck_may_be_forced():
    """B2: `decks: 1` plays seven or eight players with one deck."""
    tables = Tables("marquoir", 8, decks=1)
    assert tables.state[0]["hand"].sum() == 52


DEALT = {
    ("english", 3): [18, 17, 17],
    ("english", 4): [13, 13, 13, 13],
    ("english", 5): [11, 11, 10, 10, 10],
    ("english", 6): [9, 9, 9, 9, 8, 8],
    ("marquoir", 3): [18, 17, 17],
    ("marquoir", 4): [13, 13, 13, 13],
    ("marquoir", 5): [11, 11, 10, 10, 10],
    ("marquoir", 6): [9, 9, 9, 9, 8, 8],
    ("marquoir", 7): [15, 15, 15, 15, 15, 15, 14],
    ("marquoir", 8): [13, 13, 13, 13, 13, 13, 13, 13],
    ("russian", 2): [18, 17],
    ("russian", 3): [12, 12, 11],
    ("russian", 4): [13, 13, 13, 12],
    ("russian", 5): [11, 10, 10, 10, 10],
    ("russian", 6): [9, 9, 9, 8, 8, 8],
}


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_deal_sizes(game, seed):
    """A3, C3: the extra cards go to the first seats from the dealer's left."""
    variant, players = game
    table = Tables(variant, players, seed=seed).state[0]
    assert clockwise(table, players, "hand_size") == DEALT[game]
    assert table["aside"].sum() == (1 if variant == "russian" else 0)


def test_start_of_a_deal(game):
    """A4, A5, B3, C4: no pile, the dealer's left leads, with aces or a rank of its choice."""
    variant, players = game
    tables = Tables(variant, players, 50)
    for table, seat in zip(tables.state, tables.seat, strict=True):
        assert table["pile_size"] == table["group_size"] == table["plays"] == 0
        assert seat == table["turn"] == (table["dealer"] + 1) % players
        rank = None if table["rank"] < 0 else tables.deck[table["rank"]]
        assert rank == ("A" if variant == "english" else None)


@pytest.mark.parametrize(("variant", "players"), [("english", 5), ("marquoir", 8), ("russian", 3)])
def test_first_dealer_by_lot(variant, players):
    """A3, B9, C3: over many matches every seat is the first dealer about equally often."""
    tables = Tables(variant, players, 8000, seed=5)
    counts = np.bincount(tables.state["dealer"], minlength=players)
    expected = 8000 / players
    assert ((counts - expected) ** 2 / expected).sum() < 30  # chance of more: under 0.001


def test_dealt_cards_are_uniform():
    """A3: a seat holds about the same number of every rank."""
    tables = Tables("english", 4, 8000, seed=5)
    means = tables.state["hand"][:, :4, :13].mean(axis=0)
    assert np.abs(means - 1).max() < 0.05  # standard error 0.01


@pytest.mark.parametrize("variant", VARIANTS)
def test_dealer_moves_left_in_a_match(variant):
    """A16, B9, C3: the next deal of a match is dealt by the seat to the left, from a full deck."""
    games = deals(variant, 3, 8, deals=4, max_plays=10**6)
    ended = [next(games)[0] for _ in range(4)]
    assert [int(table["deal"]) for table in ended] == [0, 1, 2, 3]
    first = int(ended[0]["dealer"])
    assert [int(table["dealer"]) for table in ended] == [(first + i) % 3 for i in range(4)]


def test_a_match_starts_by_lot_and_without_scores():
    """B9: the match after a match draws its first dealer again, and its scores start at 0."""
    games = deals("marquoir", 4, 8, deals=1, max_plays=10**6)
    ended = [next(games)[0] for _ in range(12)]
    assert [int(table["match"]) for table in ended] == list(range(12))
    steps = {int(b["dealer"] - a["dealer"]) % 4 for a, b in pairwise(ended)}
    assert len(steps) > 1
    assert all(0 < table["score"].sum() < 4 for table in ended)


# --- Scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [3, 4, 5])
def test_scores_of_a_match(players):
    """B7, B8: five deals, a point in each for the fullest hands, added up."""
    games = deals("marquoir", players, 4, max_plays=10**6)
    total = np.zeros(players, int)
    for number in range(5):
        table = next(games)[0]
        sizes = table["hand"][:players].sum(axis=1)
        total += sizes == sizes.max()
        assert table["deal"] == number
        assert table["score"][:players].tolist() == total.tolist()
        assert table["loser"][:players].tolist() == (sizes == sizes.max()).tolist()
        assert sizes.min() == 0
    assert match_over(table, Rules.load("marquoir").options(players))


def test_rewards_of_a_match_are_those_of_its_deals():
    """B8: an episode is the whole match, and pays at the end of each deal."""
    paid, ends = np.zeros(4), 0
    for tables, action in random_match("marquoir", 4, 2):
        deal = int(tables.state[0]["deal"])
        last = tables, action
        probe = tables.state.copy()
        apply(probe[0], tables.options, action)
        if probe[0]["phase"] == OVER:
            ends += 1
            paid += probe[0]["reward"][:4]
    assert deal == 4 and ends == 5
    assert last[0].terminated[0]
    assert paid.sum() == pytest.approx(0, abs=1e-5)
    assert (last[0].state[0]["score"][:4] > 0).any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_rewards_add_up_to_zero(variant):
    """A15, B7, C13: what the losers pay the others get."""
    games = deals(variant, 4, 3, max_plays=10**6)
    for _ in range(20):
        table = next(games)[0]
        assert table["reward"][:4].sum() == pytest.approx(0, abs=1e-6)
        assert set(table["reward"][:4]) != {0}


def test_one_winner_no_ties():
    """A15: an English deal has exactly one winner, the only seat without cards."""
    games = deals("english", 4, 1, max_plays=10**6)
    for _ in range(20):
        table = next(games)[0]
        assert (table["hand_size"][:4] == 0).sum() == 1
        winner = int(np.flatnonzero(table["out"])[0])
        assert table["hand_size"][winner] == 0
        assert table["reward"][winner] == 1
        assert table["loser"].sum() == 0


# --- Turns ----------------------------------------------------------------------------------------


def test_no_pass_and_no_belief(game):
    """A8, C6, C17: nobody ever passes, and trusting never turns cards up or removes them."""
    variant, players = game
    for tables, action in random_match(variant, players, 6, max_plays=60):
        mask = tables.action_mask[0]
        assert not mask[act.PASS] and not mask[act.BELIEVE] and not mask[act.PICK_JOKER]
        if action in (act.ACCEPT, act.LAY):
            after = tables.state.copy()
            apply(after[0], tables.options, action)
            assert (after["quads"] == tables.state["quads"]).all()
            assert after[0]["recent"][0][3] not in (TRUE, LIE)


@pytest.mark.parametrize("players", [3, 4, 5, 6])
def test_play_runs_clockwise(players):
    """A6, A8, A13: whatever happens, plays go round and the rank rises by one at each."""
    last = None
    for tables, action in random_match("english", players, 9, max_plays=300):
        if action != act.LAY:
            continue
        seat, rank = int(tables.seat[0]), int(tables.state[0]["rank"])
        if last is None:
            assert rank == 0
        else:
            assert (seat, rank) == ((last[0] + 1) % players, (last[1] + 1) % 13)
        last = seat, rank


def test_asked_clockwise_and_once():
    """A10: opponents are asked clockwise from the claimant's left, none of them twice."""
    asked: list[int] = []
    for tables, action in random_match("english", 5, 9, max_plays=300):
        table = tables.state[0]
        if table["phase"] != WINDOW:
            asked = []
            continue
        asked.append((int(tables.seat[0]) - int(table["claimant"])) % 5)
        assert asked == list(range(1, len(asked) + 1))
        if action == act.CHALLENGE:
            asked = []


@pytest.mark.parametrize(("variant", "most"), [("english", 4), ("marquoir", 4), ("russian", 3)])
def test_most_cards_of_a_play(variant, most):
    """A7, B4, C5: one to four cards a play, in the Russian game one to three, all sizes seen."""
    sizes: Counter[int] = Counter()
    for seed in range(5):
        for tables, action in random_match(variant, 5, seed, max_plays=100):
            table = tables.state[0]
            if action == act.LAY:
                sizes[int(table["picked_size"])] += 1
            if table["phase"] == PLAY:
                assert tables.action_mask[0][act.LAY] == (table["picked_size"] > 0)
    assert sorted(sizes) == list(range(1, most + 1))


def test_no_play_is_larger_than_the_hand():
    """A17: once the whole hand is picked it can only be laid."""
    seen = 0
    for tables, _ in random_match("russian", 4, 5):
        table = tables.state[0]
        if table["phase"] == PLAY and table["picked_size"] == table["hand_size"][tables.seat[0]]:
            seen += 1
            assert np.flatnonzero(tables.action_mask[0]).tolist() == [act.LAY]
    assert seen > 0


# --- The Russian end ------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_one_loser_remains(players):
    """C13, C14, C16: a Russian deal leaves exactly one seat with cards, and that seat loses."""
    games = deals("russian", players, 2)
    for _ in range(60):
        table = next(games)[0]
        assert not table["truncated"]
        left = np.flatnonzero(table["hand_size"][:players])
        assert left.tolist() == np.flatnonzero(table["loser"]).tolist()
        assert len(left) == 1
        places = sorted(table["out"][:players].tolist())
        assert places == list(range(players))


@pytest.mark.parametrize("players", [2, 4])
def test_removed_rank_is_never_a_quad(players):
    """C16: the quad of the removed card's rank is never complete."""
    games = deals("russian", players, 12)
    quads = 0
    for _ in range(100):
        table = next(games)[0]
        assert table["aside"].sum() == 1
        removed = int(np.flatnonzero(table["aside"])[0])
        assert table["quads"][removed] == 0
        quads += int(table["quads"].sum())
    assert quads > 20


def test_quads_only_after_taking():
    """C10: quads are asked of the seat that has just taken the table, and of nobody else."""
    asked = 0
    taker = None
    for seed in range(20):
        for tables, action in random_match("russian", 2, seed):
            table = tables.state[0]
            offers = tables.action_mask[0][act.DISCARD : act.KEEP + 1].any()
            if offers:
                asked += 1
                assert tables.seat[0] == taker
            if action == act.CHALLENGE:
                lie = table["group"][table["claim"]] != table["group_size"]
                taker = int(table["claimant"] if lie else table["turn"])
            elif action < act.DISCARD:
                taker = None
    assert asked > 10


# --- Unending play --------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "players"), GAMES, ids=str)
def test_unending_play_is_cut(variant, players):
    """Lies that are always challenged go on to `max_plays`; the cut pays nobody anything."""
    tables = Tables(variant, players, max_plays=40, auto_reset=False)
    while not (tables.terminated[0] or tables.truncated[0]):
        tables.step(np.array([never_end(tables.action_mask[0])]))
    table = tables.state[0]
    assert table["plays"] == 40
    assert tables.truncated[0] and not tables.terminated[0]
    assert table["truncated"]
    assert not tables.reward.any() and not table["loser"].any() and not table["score"].any()


def test_default_cap():
    """`max_plays` is 1000 in the published games."""
    assert {Rules.load(variant).max_plays for variant in VARIANTS} == {1000}
