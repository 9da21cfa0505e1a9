"""Cards as text, and chance as a pure function."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheat_env import Tables
from cheat_env.cards import (
    JOKER,
    JOKER_NAME,
    RANKS,
    SLOTS,
    CardError,
    format_cards,
    parse_cards,
    parse_deck,
    parse_rank,
)
from cheat_env.chance import below, philox

# --- Cards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("A-K", "A 2 3 4 5 6 7 8 9 10 J Q K"),
        ("2-A", "2 3 4 5 6 7 8 9 10 J Q K A"),
        ("6-A", "6 7 8 9 10 J Q K A"),
        ("Q-2", "Q K A 2"),
        ("7-7", "7"),
        (" A 2  7 J ", "A 2 7 J"),
    ],
)
def test_parse_deck(text, ranks):
    """A deck is a stretch of the cycle or a list, in that order."""
    assert " ".join(parse_deck(text)) == ranks


@pytest.mark.parametrize("text", ["", "-", "A-", "-A", "1-K", "A-K-2", "A,2", "A A", "Jo", "a-k"])
def test_parse_deck_refuses(text):
    """What is no deck is refused with its text."""
    with pytest.raises(CardError, match="deck"):
        parse_deck(text)


@given(st.lists(st.sampled_from(RANKS), min_size=1, unique=True))
def test_deck_round_trip(ranks):
    """A list of different ranks is a deck in its own order."""
    deck = parse_deck(" ".join(ranks))
    assert list(deck) == ranks
    assert [parse_rank(rank, deck) for rank in deck] == list(range(len(deck)))


@given(st.sampled_from(RANKS), st.sampled_from(RANKS))
def test_deck_stretch(first, last):
    """A stretch goes up from its first to its last rank, through K A where it must."""
    deck = parse_deck(f"{first}-{last}")
    places = [RANKS.index(rank) for rank in deck]
    assert (deck[0], deck[-1]) == (first, last)
    assert all((b - a) % 13 == 1 for a, b in pairwise(places))
    assert len(set(deck)) == len(deck)


@given(st.data(), st.lists(st.sampled_from(RANKS), min_size=1, unique=True))
def test_cards_round_trip(data, ranks):
    """Counts come back from their text, for every deck and any order of the cards."""
    deck = tuple(ranks)
    counts = np.zeros(SLOTS, np.int8)
    counts[: len(deck)] = data.draw(
        st.lists(st.integers(0, 8), min_size=len(deck), max_size=len(deck))
    )
    counts[JOKER] = data.draw(st.integers(0, 3))
    words = format_cards(counts, deck).split()
    assert len(words) == counts.sum()
    assert words.count(JOKER_NAME) == counts[JOKER]
    shuffled = " ".join(data.draw(st.permutations(words)))
    assert (parse_cards(shuffled, deck) == counts).all()


@pytest.mark.parametrize("text", ["1", "7,8", "a", "7 8 Z", "11", "joker", "7♣"])
def test_parse_cards_refuses(text):
    """What is no card of the deck is refused."""
    with pytest.raises(CardError, match="rank"):
        parse_cards(text, parse_deck("A-K"))


@given(st.text())
def test_any_text_is_cards_or_refused(text):
    """No text makes the parser fail in another way."""
    try:
        counts = parse_cards(text, parse_deck("6-A"))
    except CardError:
        return
    assert counts.sum() == len(text.split())


# --- Chance ---------------------------------------------------------------------------------------

KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_philox_known_answers(counter, key, answer):
    """Philox4x32-10 gives the answers that Random123 publishes."""
    low, high = words(key)
    numbers = philox(np.uint64(low | high << 32), *map(np.uint64, words(counter)))
    assert [int(number) for number in numbers] == words(answer)


@pytest.mark.parametrize("bound", [1, 2, 7, 104])
def test_below(bound):
    """A word is spread evenly over 0 .. bound-1."""
    found = [below(np.uint64(word), bound) for word in (0, 2**31, 2**32 - 1)]
    assert found == [0, bound // 2, bound - 1]


def test_deal_depends_on_seed_table_and_match_alone():
    """The cards are a function of seed, table's number and match, not of how many tables."""
    many, few = Tables("english", 4, 16, seed=9), Tables("english", 4, 4, seed=9)
    assert (many.state[:4] == few.state).all()
    hands = many.state["hand"].reshape(16, -1)
    assert len(np.unique(hands, axis=0)) == 16
    few.reset(9, deals=1)
    assert not (many.state["hand"][:4] == few.state["hand"]).all(axis=(1, 2)).any()
    few.reset(10)
    assert not (many.state["hand"][:4] == few.state["hand"]).all(axis=(1, 2)).any()
