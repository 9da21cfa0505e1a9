"""Clauses of the rule book on what a seat may see and remember, followed through random games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import GAMES, random_match
from positions import turned

from cheat_env import Tables
from cheat_env import actions as act
from cheat_env.cards import JOKER
from cheat_env.engine import apply, legal_actions
from cheat_env.observations import MEMORY, TRUTH, encode, truth
from cheat_env.state import OVER, TALLIES


def watched(
    game: tuple[str, int], seed: int, every: int, max_plays: int = 60
) -> Iterator[tuple[Tables, int, np.ndarray]]:
    """Play a random match; yields, at every so many actions, each seat and what it observes."""
    row = np.zeros(MEMORY.size, np.int8)
    for turn, (tables, _) in enumerate(random_match(*game, seed, max_plays=max_plays)):
        if turn % every == 0:
            for seat in range(game[1]):
                encode(tables.state[0], tables.options, seat, row)
                yield tables, seat, row


def shuffle_hidden(table: Any, observer: int, rng: np.random.Generator) -> None:
    """Exchange all the cards that `observer` can't see, keeping every number of cards."""
    rows = [table["aside"]]
    rows += [
        table[where][seat] for where in ("hand", "pile") for seat in range(8) if seat != observer
    ]
    if table["claimant"] != observer:
        rows.append(table["group"])
    ranks = np.repeat(np.arange(JOKER + 1), np.sum(rows, axis=0))
    rng.shuffle(ranks)
    for row in rows:
        size = int(row.sum())
        row[:] = np.bincount(ranks[:size], minlength=JOKER + 1)
        ranks = ranks[size:]


def test_hidden_cards_are_not_seen(game):
    """K1, C3: with all hidden cards exchanged, the removed one too, a seat sees the same."""
    rng = np.random.default_rng(3)
    after = np.zeros(MEMORY.size, np.int8)
    moved = 0
    for tables, seat, before in watched(game, 4, 5):
        other = tables.state.copy()
        shuffle_hidden(other[0], seat, rng)
        moved += not (other["hand"] == tables.state["hand"]).all()
        if other[0]["turn"] != seat:
            other[0]["picked"][:] = 0  # nor is what another seat has picked so far
        encode(other[0], tables.options, seat, after)
        assert (before == after).all()
    assert moved > 20


def test_removed_card_is_in_no_mask():
    """C3: what may be done does not depend on the removed card."""
    tables = Tables("russian", 2, 64)
    mask = np.zeros(act.NUM_ACTIONS, np.int8)
    for table, legal in zip(tables.state.copy(), tables.action_mask, strict=True):
        table["aside"][:] = 0
        legal_actions(table, tables.options, mask)
        assert (mask == legal).all()


def test_public_numbers(game):
    """K1: hand sizes, pile, last group, claimant, rank, places and scores, seen from every seat."""
    players = game[1]
    for tables, seat, row in watched(game, 4, 7):
        table, ranks, seen = tables.state[0], len(tables.deck), MEMORY.view(row)
        order = [(seat + i) % players for i in range(players)]
        assert seen["hand_sizes"][:players].tolist() == table["hand_size"][order].tolist()
        assert seen["out"][:players].tolist() == table["out"][order].tolist()
        assert seen["scores"][:players].tolist() == table["score"][order].tolist()
        assert seen["pile_size"][0] == table["pile_size"]
        assert seen["group_size"][0] == table["group_size"]
        claimant = [int(table["group_size"] > 0 and s == table["claimant"]) for s in order]
        assert seen["claimant"][:players].tolist() == claimant
        own = turned(table["hand"][seat], table, ranks)
        assert seen["own_hand"][:ranks].tolist() == own[:ranks].tolist()


def test_truth_holds_every_card(game):
    """The whole truth adds up to the deck, for critics that may see it."""
    variant, players = game
    for tables, _ in random_match(variant, players, 4, max_plays=10):
        table = tables.state[0]
        seen = TRUTH.view(truth(table, tables.options))
        cards = sum(
            seen[name].reshape(-1, JOKER + 1).sum(axis=0)
            for name in ("hand", "pile", "group", "aside")
        )
        ranks, copies = len(tables.deck), int(tables.options["copies"])
        assert (cards[:ranks] + copies * seen["quads"][:ranks] == copies).all()


MEMORIES = [
    *[(*game, {}) for game in GAMES],
    ("russian", 4, {"quads": "mandatory", "challengers": "anyone"}),
    ("english", 4, {"challengers": "next", "quads": "optional"}),
]


@pytest.mark.parametrize(("variant", "players", "rules"), MEMORIES, ids=str)
def test_known_cards_are_truly_held(variant, players, rules):
    """K2: a card that a seat is known to hold is in its hand, or in the group it has just laid."""
    known = 0
    for tables, _ in random_match(variant, players, 10, max_plays=200, **rules):
        table = tables.state[0]
        held = table["hand"].copy()
        if table["group_size"]:
            held[table["claimant"]] += table["group"]
        assert (table["known"] <= held[None]).all()
        known += int(table["known"].sum())
        own = [table["known"][seat, seat].sum() for seat in range(players)]
        assert not any(own)
    assert known > 0


def test_known_in_the_observation_is_held_now(game):
    """K2: what an observation calls certain is in that hand at this moment."""
    players = game[1]
    for tables, seat, row in watched(game, 10, 3, max_plays=100):
        table, ranks, known = tables.state[0], len(tables.deck), MEMORY.view(row)["known"]
        for offset in range(1, players):
            hand = turned(table["hand"][(seat + offset) % players], table, ranks)
            assert (known[offset - 1][:ranks] <= hand[:ranks]).all()


def test_turned_up_cards_are_known_to_all():
    """K2: everybody knows the cards turned up and who took them; a seat knows its own of the pile.

    Followed through a random match by an independent account of who took what.
    """
    learned = 0
    for tables, action in random_match("english", 4, 3):
        if action != act.CHALLENGE:
            continue
        table = tables.state[0]
        after = tables.state.copy()
        apply(after[0], tables.options, action)
        lie = table["group"][table["claim"]] != table["group_size"]
        taker = int(table["claimant"] if lie else table["turn"])
        for observer in range(4):
            if observer != taker and after[0]["phase"] != OVER:
                least = table["group"] + table["pile"][observer]
                assert (after[0]["known"][observer, taker] >= least).all()
                learned += 1
    assert learned > 100


def test_own_pile(game):
    """K2: a seat remembers its own cards of the pile, those of its last group too."""
    for tables, seat, row in watched(game, 4, 5):
        table, ranks = tables.state[0], len(tables.deck)
        own = table["pile"][seat].copy()
        if table["claimant"] == seat:
            own += table["group"]
        seen = MEMORY.view(row)["own_pile"][:ranks]
        assert seen.tolist() == turned(own, table, ranks)[:ranks].tolist()


def test_claims_of_the_pile_are_counted(game):
    """K2: the pile by claimed rank is followed by an independent account."""
    variant, players = game
    claimed: Counter[int] = Counter()
    for tables, action in random_match(variant, players, 4, max_plays=60):
        table = tables.state[0]
        if table["plays"] == 0:
            claimed.clear()
        assert {r: int(n) for r, n in enumerate(table["claimed"]) if n} == dict(claimed)
        assert table["claimed"].sum() == table["pile_size"]
        if action == act.LAY:
            claimed[int(table["rank"])] += int(table["picked_size"])
        elif action == act.CHALLENGE:
            claimed.clear()


@pytest.mark.parametrize(("variant", "players"), [("english", 4), ("russian", 4)])
def test_tallies(variant, players):
    """K2: claims, lies found, true plays, chances and challenges by seat and size of claim."""
    expected: Counter[tuple[int, int, str]] = Counter()
    for tables, action in random_match(variant, players, 4, max_plays=80):
        table = tables.state[0]
        found = {
            (int(seat), int(size), TALLIES[what]): int(table["tally"][seat, size, what])
            for seat, size, what in np.argwhere(table["tally"])
        }
        assert found == dict(expected)
        seat, claimant = int(table["turn"]), int(table["claimant"])
        size = min(int(table["group_size"]), 3) - 1
        if table["group_size"] and action in (act.ACCEPT, act.LAY, act.CHALLENGE):
            expected[seat, size, "asked"] += 1
        if action == act.CHALLENGE:
            lie = table["group"][table["claim"]] != table["group_size"]
            expected[seat, size, "challenges"] += 1
            expected[claimant, size, "caught" if lie else "proven"] += 1
            if lie:
                expected[seat, size, "won"] += 1
        elif action == act.LAY:
            expected[seat, min(int(table["picked_size"]), 3) - 1, "claims"] += 1
    assert sum(expected.values()) > 50
