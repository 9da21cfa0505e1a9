"""The state of a table: one record, everything that a position is made of.

A `State` is a NumPy structured array with one record a table, so a table is one stretch of memory:
a compiled function takes a single pointer, a copy is one assignment, and two games are equal when
their bytes are. Cards are counts by rank (the deck's own numbering), suits do not exist.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cheat_env.cards import NUM_RANKS, SLOTS
from cheat_env.compiled import JIT
from cheat_env.options import MAX_SEATS

#: What the seat to act is asked for.
ANNOUNCE, PLAY, WINDOW, QUADS, OVER = range(5)
PHASES = ("announce", "play", "window", "quads", "over")

#: No rank is in force: the seat to act chooses it.
NO_RANK = -1

#: Nobody took the pile.
NO_SEAT = -1

#: What became of a claim.
NO_CLAIM, PENDING, ACCEPTED, TRUE, LIE = range(5)
OUTCOMES = ("none", "pending", "accepted", "true", "lie")

#: Tallies are kept apart by the size of the claim: 1, 2, 3 and more cards.
CLAIM_SIZES = 3
#: What is tallied for a seat: claims made, found a lie, proven true; chances to challenge,
#: challenges made, challenges that found a lie.
CLAIMS, CAUGHT, PROVEN, ASKED, CHALLENGES, WON = range(6)
TALLIES = ("claims", "caught", "proven", "asked", "challenges", "won")

#: How many of the last claims are kept, and the columns of each.
RECENT = 8
CLAIM_SEAT, CLAIM_RANK, CLAIM_COUNT, CLAIM_OUTCOME, CLAIM_TURNER, CLAIM_TAKER = range(6)
CLAIM_COLUMNS = 6


class Field(NamedTuple):
    """One field of a table: its name, NumPy type, shape and meaning."""

    name: str
    type: type[np.generic]
    shape: tuple[int, ...]
    meaning: str


#: The widest fields come first, so that none needs padding.
FIELDS = (
    # The deal and the match it is part of.
    Field("match", np.int64, (), "number of the match at this table, from 0"),
    Field("number", np.int64, (), "the table's own number, part of what its deals are drawn from"),
    Field("seed", np.uint64, (), "the seed that the deals are drawn from"),
    Field("plays", np.int32, (), "plays laid in this deal"),
    Field("turns", np.int32, (), "turns taken in this deal: plays and passes"),
    Field("passes", np.int32, (), "passes since the last claim"),
    Field("safe_turns", np.int32, (), "turns left in which no group can be challenged"),
    Field("deal", np.int32, (), "number of the deal in its match, from 0"),
    Field("score", np.int32, (MAX_SEATS,), "points in the match, by the variant's scoring"),
    Field("reward", np.float32, (MAX_SEATS,), "paid by the last action, by seat"),
    # Cards: these rows, but for two, and the quads shown are the whole deck; picked cards lie in a
    # hand, and what a challenge turned up went on to the pile, to a hand or out of the game.
    Field("hand", np.int8, (MAX_SEATS, SLOTS), "cards in hand, by seat"),
    Field("pile", np.int8, (MAX_SEATS, SLOTS), "cards of the closed groups, by the seat that laid"),
    Field("group", np.int8, (SLOTS,), "the last group, while it can still be challenged"),
    Field("turned_up", np.int8, (SLOTS,), "the group that the last challenge turned up"),
    Field("picked", np.int8, (SLOTS,), "cards picked for the coming play (still in the hand)"),
    Field("aside", np.int8, (SLOTS,), "cards out of the deal, seen by nobody"),
    Field("burnt", np.int8, (MAX_SEATS, SLOTS), "cards of burnt piles, by the seat that laid"),
    Field("gone", np.int8, (SLOTS,), "cards that left the game face up, without the quads"),
    Field("quads", np.int8, (NUM_RANKS,), "1 where the quad of a rank was shown and discarded"),
    # Counts, kept so that nobody has to add up.
    Field("hand_size", np.int8, (MAX_SEATS,), "cards in each hand"),
    Field("pile_size", np.int8, (), "cards on the table, the last group included"),
    Field("burnt_size", np.int8, (), "cards of burnt piles"),
    Field("group_size", np.int8, (), "cards of the group that can be challenged; 0: there is none"),
    Field("picked_size", np.int8, (), "cards picked so far"),
    # Whose turn it is, and for what.
    Field("phase", np.int8, (), "ANNOUNCE, PLAY, WINDOW, QUADS or OVER"),
    Field("turn", np.int8, (), "the seat to act"),
    Field("rank", np.int8, (), "the rank in force, or NO_RANK"),
    Field("claim", np.int8, (), "the rank last claimed, or NO_RANK"),
    Field("claimant", np.int8, (), "the seat that made the last claim"),
    Field("lead", np.int8, (), "the seat named to lead once a challenge is settled"),
    Field("out", np.int8, (MAX_SEATS,), "place in the order of going out, from 1; 0: still in"),
    Field("num_out", np.int8, (), "seats that are out"),
    Field("passed", np.int8, (MAX_SEATS,), "1 for the seats that are out of the round"),
    Field("dealer", np.int8, (), "the seat that dealt"),
    # How the deal ended.
    Field("truncated", np.bool_, (), "the deal was cut at `max_plays`"),
    Field("loser", np.int8, (MAX_SEATS,), "1 for the seats that the variant names as losers"),
    # What a seat could remember (K2), and what everybody saw.
    Field(
        "known",
        np.int8,
        (MAX_SEATS, MAX_SEATS, SLOTS),
        "known[o, p]: cards that o is certain p held before laying the group",
    ),
    Field("claimed", np.int8, (NUM_RANKS,), "cards of the pile by the rank they were claimed as"),
    Field(
        "tally",
        np.int8,
        (MAX_SEATS, CLAIM_SIZES, len(TALLIES)),
        "counts of TALLIES by seat and size of claim, at most 127",
    ),
    Field(
        "recent",
        np.int8,
        (RECENT, CLAIM_COLUMNS),
        "last claims, newest first: seat, rank, count, outcome, who turned it up, who took it",
    ),
)

_FILLED = sum(np.dtype(field.type).itemsize * math.prod(field.shape) for field in FIELDS)
#: No byte is left to chance: what would pad a record to whole words is a field too.
DTYPE = np.dtype(
    [(field.name, field.type, field.shape) for field in FIELDS]
    + [("spare", np.int8, (8 - _FILLED % 8,))],
    align=True,
)

#: Many tables: a structured array (n,) of `DTYPE`.
State: TypeAlias = NDArray[np.void]
#: One table: a record of a `State`; its fields are attributes, described in `FIELDS`.
Table: TypeAlias = Any


def allocate(num_tables: int) -> State:
    """Return `num_tables` empty tables."""
    return records(np.zeros(num_tables, DTYPE))


def records(array: NDArray[np.void]) -> NDArray[np.void]:
    """Return a view whose records have attributes, as compiled code sees them in any array."""
    return array if JIT else array.view(np.recarray)
