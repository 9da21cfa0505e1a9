"""Ranks, decks and cards as text.

Suits do not matter in this family, so a card is a rank. Two numberings are used: a rank's place
among the thirteen names (`RANKS`), and its place in the deck's own cycle, from 0. Everything but
names uses the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
NUM_RANKS = len(RANKS)
#: The slot of jokers in every array of cards, after those of the ranks.
JOKER = NUM_RANKS
JOKER_NAME = "Jo"
#: Slots in an array of cards: thirteen ranks and the joker.
SLOTS = NUM_RANKS + 1
Deck = tuple[str, ...]


class CardError(ValueError):
    """A text that names no deck, rank or card."""


def parse_deck(text: str) -> Deck:
    """Return the ranks of a deck in the order of its cycle.

    `text` is a stretch of the cycle A 2 ... K A ("6-A" goes from six up to ace), or the ranks
    themselves ("A 2 3 4 5 6 7 J Q K"). Raises `CardError`.
    """
    first, dash, last = text.strip().partition("-")
    if not dash:
        ranks = tuple(text.split())
    elif first in RANKS and last in RANKS:
        start = RANKS.index(first)
        span = (RANKS.index(last) - start) % NUM_RANKS + 1
        ranks = tuple(RANKS[(start + i) % NUM_RANKS] for i in range(span))
    else:
        ranks = ()
    wrong = [rank for rank in ranks if rank not in RANKS]
    if wrong or not ranks or len(set(ranks)) != len(ranks):
        raise CardError(
            f"deck {text!r}: give a stretch like 6-A, or different ranks of {' '.join(RANKS)}"
        )
    return ranks


def parse_rank(text: str, deck: Deck) -> int:
    """Return the place of a rank in the deck; raises `CardError`."""
    if text not in deck:
        raise CardError(f"rank {text!r} is not in the deck ({' '.join(deck)})")
    return deck.index(text)


def parse_cards(text: str, deck: Deck) -> NDArray[np.int64]:
    """Return the cards of "7 K K" as counts, int64 (14,); raises `CardError`."""
    counts = np.zeros(SLOTS, np.int64)
    for word in text.split():
        counts[JOKER if word == JOKER_NAME else parse_rank(word, deck)] += 1
    return counts


def format_cards(counts: NDArray[np.integer[Any]], deck: Deck) -> str:
    """Return counts (14,) as text, in the order of the deck, jokers last."""
    names = [*deck, *[""] * (JOKER - len(deck)), JOKER_NAME]
    return " ".join(name for name, count in zip(names, counts, strict=True) for _ in range(count))
