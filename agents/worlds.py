"""Hidden worlds: the cards that an observer does not see, dealt anew.

Every deal keeps to sizes and to cards that a seat surely holds. The last claims of the pile, and
the open one, are true or lies as often as the observer reckons (see `agents.counting`); what has no
place by that is dealt at random. Who laid cards below the last claims, or burnt ones, no
observation tells: the other seats are taken to have laid them in turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.counting import Ints, chance_of_lie
from agents.reckoning import SAVING, share_of_lies
from cheat_env import state, values
from cheat_env.cards import JOKER, NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import MAX_CARDS, MAX_SEATS, Options
from cheat_env.state import RECENT, Table

#: Where unseen cards of a seat lie.
HAND, PILE, BURNT = range(3)
#: Deals that are tried until no hand holds a set that its seat would have discarded.
ATTEMPTS = 16


class Unseen(NamedTuple):
    """What is to be dealt for one observation, and room for a deal.

    Attributes:
        free: int64 (14,), cards that may be anywhere.
        size: int64 (3, 8), unseen cards of each seat in hand (with the open group), pile and burnt.
        in_pile: bool (8,), which of the last claims lie closed in the pile, by another seat.
        doubt: float64 (8,), how likely each of the last claims is a lie.
        left, room: what of `free` and `size` is still to be dealt.
        deck: int64 (127,), the cards still to be dealt, in order.
    """

    free: NDArray[np.int64]
    size: NDArray[np.int64]
    in_pile: NDArray[np.bool_]
    doubt: NDArray[np.float64]
    left: NDArray[np.int64]
    room: NDArray[np.int64]
    deck: NDArray[np.int64]


def new_unseen() -> Unseen:
    """Return room for what is to be dealt."""
    return Unseen(
        free=np.zeros(SLOTS, np.int64),
        size=np.zeros((3, MAX_SEATS), np.int64),
        in_pile=np.zeros(RECENT, np.bool_),
        doubt=np.zeros(RECENT),
        left=np.zeros(SLOTS, np.int64),
        room=np.zeros((3, MAX_SEATS), np.int64),
        deck=np.zeros(MAX_CARDS, np.int64),
    )


@compiled
def draw(word: NDArray[np.uint64]) -> float:
    """Return a random number in 0 .. 1 and move the generator (1,) on (splitmix64)."""
    word[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = word[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) / 2.0**53


# --- What is unseen -------------------------------------------------------------------------------


@compiled
def find_unseen(o: Ints, options: Options, table: Table, unseen: Unseen) -> None:
    """Write what is to be dealt at a table that `agents.reading` has written."""
    players, copies = int(options.players), int(options.copies)
    unseen.free[:] = 0
    unseen.free[: int(options.num_ranks)] = copies
    unseen.free[JOKER] = options.jokers
    for slot in range(SLOTS):
        if slot < NUM_RANKS:
            unseen.free[slot] -= copies * int(table.quads[slot])
        unseen.free[slot] -= int(table.hand[0, slot]) + int(table.pile[0, slot])
        unseen.free[slot] -= int(table.burnt[0, slot]) + int(table.gone[slot])
        for seat in range(1, players):
            unseen.free[slot] -= int(table.known[0, seat, slot])
    unseen.size[:] = 0
    for seat in range(1, players):
        unseen.size[HAND, seat] = int(table.hand_size[seat]) - np.sum(table.known[0, seat])
    unseen.size[HAND, int(table.claimant)] += int(table.group_size)
    _find_claims(o, table, unseen)
    in_pile = int(table.pile_size) - int(table.group_size) - np.sum(table.pile[0])
    _share_out(unseen.size[PILE], in_pile, players)
    _share_out(unseen.size[BURNT], int(table.burnt_size) - np.sum(table.burnt[0]), players)


@compiled
def _share_out(by_seat: NDArray[np.int64], cards: int, players: int) -> None:
    """Say of so many cards that the others laid them in turn, but for those told already."""
    seat = 1
    for _ in range(cards - np.sum(by_seat)):
        by_seat[seat] += 1
        seat = seat % (players - 1) + 1


@compiled
def _find_claims(o: Ints, table: Table, unseen: Unseen) -> None:
    """Write which of the last claims lie in the pile, and how likely each of them is a lie."""
    left = int(table.pile_size)
    for i in range(RECENT):
        claim = table.recent[i]
        seat, rank = int(claim[state.CLAIM_SEAT]), int(claim[state.CLAIM_RANK])
        count, outcome = int(claim[state.CLAIM_COUNT]), int(claim[state.CLAIM_OUTCOME])
        there = left > 0 and seat > 0
        unseen.in_pile[i] = there and outcome == state.ACCEPTED
        if unseen.in_pile[i]:
            unseen.size[PILE, seat] += count
        if there:
            lies = share_of_lies(o, seat, count)
            unseen.doubt[i] = chance_of_lie(o, count, rank, seat, lies, SAVING, True)
        left -= count


# --- A world --------------------------------------------------------------------------------------


@compiled
def deal_world(
    options: Options, table: Table, unseen: Unseen, luck: float, word: NDArray[np.uint64]
) -> None:
    """Deal the unseen cards of one world; the open group is true where `luck` (0 .. 1) is high.

    Seats that discard sets at once hold none, if any of a few attempts comes to that.
    """
    discards = options.quads == values.ALSO_ON_DEAL or options.quads == values.REDEAL
    for _ in range(ATTEMPTS):
        _deal(options, table, unseen, luck, word)
        if not (discards and _holds_set(options, table)):
            break
    for _ in range(int(table.group_size) - np.sum(table.group)):
        _lay_wrong_card(table, draw(word))


@compiled
def _deal(
    options: Options, table: Table, unseen: Unseen, luck: float, word: NDArray[np.uint64]
) -> None:
    """Deal the unseen cards; those of a group that is a lie are still in the hand of its author."""
    unseen.left[:] = unseen.free
    unseen.room[:] = unseen.size
    table.group[:] = 0
    table.aside[:] = 0
    for seat in range(1, int(options.players)):
        table.hand[seat] = table.known[0, seat]
        table.pile[seat] = 0
        table.burnt[seat] = 0
    if table.group_size > 0 and luck >= unseen.doubt[0]:
        _lay_true_group(table, unseen)
    for i in range(RECENT):
        if unseen.in_pile[i] and draw(word) >= unseen.doubt[i]:
            claim = table.recent[i]
            _lay_true_claim(table, unseen, int(claim[0]), int(claim[1]), int(claim[2]))
    cards = _shuffle(unseen, word)
    for seat in range(1, int(options.players)):
        cards = _take(unseen, table.hand[seat], unseen.room[HAND, seat], cards)
        cards = _take(unseen, table.pile[seat], unseen.room[PILE, seat], cards)
        cards = _take(unseen, table.burnt[seat], unseen.room[BURNT, seat], cards)
    _take(unseen, table.aside, cards, cards)


@compiled
def _lay_true_claim(table: Table, unseen: Unseen, seat: int, rank: int, count: int) -> None:
    """Put the cards of a claim into the pile, where so many may be there."""
    if count <= unseen.left[rank]:
        table.pile[seat, rank] += count
        unseen.left[rank] -= count
        unseen.room[PILE, seat] -= count


@compiled
def _lay_true_group(table: Table, unseen: Unseen) -> None:
    """Lay the claimed cards, and jokers for want of them; nothing where there are too few."""
    seat, size, claim = int(table.claimant), int(table.group_size), int(table.claim)
    hand = table.hand[seat]
    room = int(unseen.room[HAND, seat])
    known = min(size, int(hand[claim]))
    new = min(size - known, int(unseen.left[claim]), room)
    jokers = size - known - new
    known_jokers = min(jokers, int(hand[JOKER]))
    new_jokers = jokers - known_jokers
    if new_jokers > min(unseen.left[JOKER], room - new):
        return
    hand[claim] -= known
    hand[JOKER] -= known_jokers
    unseen.left[claim] -= new
    unseen.left[JOKER] -= new_jokers
    unseen.room[HAND, seat] -= new + new_jokers
    table.group[claim] += known + new
    table.group[JOKER] += jokers


@compiled
def _shuffle(unseen: Unseen, word: NDArray[np.uint64]) -> int:
    """Shuffle the cards that have no place yet and return how many there are."""
    cards = 0
    for slot in range(SLOTS):
        for _ in range(unseen.left[slot]):
            other = int(draw(word) * (cards + 1))
            unseen.deck[cards] = unseen.deck[other]
            unseen.deck[other] = slot
            cards += 1
    return cards


@compiled
def _take(unseen: Unseen, place: NDArray[np.int8], count: int, cards: int) -> int:
    """Put the last of so many shuffled cards into a place and return how many are left."""
    for _ in range(count):
        cards -= 1
        place[unseen.deck[cards]] += 1
    return cards


@compiled
def _lay_wrong_card(table: Table, luck: float) -> None:
    """Move a wrong card, or a true one where there is none, from its author's hand to the group."""
    hand, claim = table.hand[int(table.claimant)], int(table.claim)
    wrong = np.sum(hand) - int(hand[claim]) - int(hand[JOKER])
    slot = claim if hand[claim] > 0 else JOKER
    if wrong > 0:
        place, slot = int(luck * wrong), 0
        while slot == claim or place >= hand[slot]:
            place -= 0 if slot == claim else int(hand[slot])
            slot += 1
    hand[slot] -= 1
    table.group[slot] += 1


@compiled
def _holds_set(options: Options, table: Table) -> bool:
    """Say whether another seat holds, or held before the open group, a complete set of a rank."""
    for seat in range(1, int(options.players)):
        for rank in range(int(options.num_ranks)):
            held = int(table.hand[seat, rank])
            if seat == table.claimant:
                held += int(table.group[rank])
            if held == options.copies:
                return True
    return False
