"""What a seat hears of an action, as plain values to be put into the words of a language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cheat_env import actions as act
from cheat_env.cards import Deck, format_cards
from cheat_env.engine import base_rank, is_lie
from cheat_env.state import (
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    CLAIM_SEAT,
    CLAIM_TAKER,
    CLAIM_TURNER,
    LIE,
    NO_SEAT,
    OVER,
    PENDING,
    TRUE,
    WINDOW,
    Table,
)

#: What is said with an action; acceptances in a window are left out: most claims stand.
SAID = {act.CHALLENGE: "challenges", act.PASS: "passes", act.BELIEVE: "believes"}


class Event(NamedTuple):
    """Something that was heard: its key in the words, whose doing it is, and what belongs to it."""

    key: str
    seat: int
    size: int = 0
    rank: str = ""
    cards: str = ""


class Claim(NamedTuple):
    """A claim of a deal with the truth about it, to be looked at when the deal is over."""

    seat: int
    rank: str
    cards: str
    lie: bool


def heard(before: Table, after: Table, action: int, deck: Deck, me: int) -> Iterator[Event]:
    """Yield what the seat `me` hears of an action that led from one table to another."""
    seat = int(before["turn"])
    claim = after["recent"][0]
    if action == act.LAY:
        cards = format_cards(before["picked"], deck) if seat == me else ""
        yield Event("lays", seat, int(claim[CLAIM_COUNT]), deck[claim[CLAIM_RANK]], cards)
    elif action in SAID:
        yield Event(SAID[action], seat)
    elif action == act.ACCEPT and before["phase"] != WINDOW:
        yield Event("accepts", seat)
    elif act.DISCARD <= action < act.KEEP:
        rank = (base_rank(before) + action - act.DISCARD) % len(deck)
        yield Event("discards", seat, rank=deck[rank])
    elif action == act.KEEP and seat == me:  # that a seat holds a quad is its own (K1)
        yield Event("keeps", seat)
    yield from _turned_up(before, after, deck)
    for other in np.flatnonzero(after["out"] != before["out"]).tolist():
        yield Event("goes_out", other, int(after["out"][other]))


def _turned_up(before: Table, after: Table, deck: Deck) -> Iterator[Event]:
    """Yield what a claim turned out to be, and where the pile went."""
    claim = after["recent"][0]
    laid = int(claim[CLAIM_COUNT]) if after["plays"] > before["plays"] else 0
    shown = laid or before["recent"][0][CLAIM_OUTCOME] == PENDING
    burnt = int(after["burnt_size"]) - int(before["burnt_size"])
    if shown and claim[CLAIM_OUTCOME] in (TRUE, LIE):
        key = "was_lie" if claim[CLAIM_OUTCOME] == LIE else "was_true"
        cards = format_cards(after["turned_up"], deck)
        yield Event(key, int(claim[CLAIM_SEAT]), int(claim[CLAIM_COUNT]), cards=cards)
        if claim[CLAIM_TAKER] != NO_SEAT:
            spent = int(after["gone"].sum()) - int(before["gone"].sum())
            taken = int(before["pile_size"]) + laid - spent
            yield Event("takes", int(claim[CLAIM_TAKER]), taken)
        elif after["phase"] != OVER or burnt:
            yield Event("pile_gone", NO_SEAT)
    elif burnt > 0:
        yield Event("pile_gone", NO_SEAT)


def claimed(before: Table, deck: Deck) -> Claim:
    """Return the claim that the picked cards of a table are about to make, with the truth."""
    rank, cards = int(before["rank"]), before["picked"]
    lie = is_lie(cards, int(before["picked_size"]), rank)
    return Claim(int(before["turn"]), deck[rank], format_cards(cards, deck), lie)


def caught_by(before: Table, after: Table) -> int:
    """Return who turned up a lie with the action between two tables, or NO_SEAT."""
    claim = after["recent"][0]
    new = after["plays"] > before["plays"] or before["recent"][0][CLAIM_OUTCOME] == PENDING
    return int(claim[CLAIM_TURNER]) if new and claim[CLAIM_OUTCOME] == LIE else NO_SEAT
