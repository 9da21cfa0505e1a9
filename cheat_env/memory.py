"""What a seat could remember of its own view (K2): known cards, tallies and the last claims.

Nothing here changes the game; the engine calls it before it moves cards.
"""

from __future__ import annotations

from cheat_env.cards import SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import Options
from cheat_env.state import (
    ACCEPTED,
    ASKED,
    CAUGHT,
    CHALLENGES,
    CLAIM_COLUMNS,
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    CLAIM_SEAT,
    CLAIM_SIZES,
    CLAIM_TAKER,
    CLAIM_TURNER,
    CLAIMS,
    LIE,
    NO_SEAT,
    PENDING,
    PROVEN,
    RECENT,
    TRUE,
    WON,
    Table,
)

#: Tallies stop here.
MOST_TALLIED = 127


@compiled
def note_claim(table: Table) -> None:
    """Note the claim for everybody."""
    table.claimed[int(table.claim)] += table.group_size
    tally(table, int(table.claimant), int(table.group_size), CLAIMS)
    for i in range(RECENT - 1, 0, -1):
        for column in range(CLAIM_COLUMNS):
            table.recent[i, column] = table.recent[i - 1, column]
    table.recent[0, CLAIM_SEAT] = table.claimant
    table.recent[0, CLAIM_RANK] = table.claim
    table.recent[0, CLAIM_COUNT] = table.group_size
    table.recent[0, CLAIM_OUTCOME] = PENDING
    table.recent[0, CLAIM_TURNER] = NO_SEAT
    table.recent[0, CLAIM_TAKER] = NO_SEAT


@compiled
def note_trust(table: Table, options: Options) -> None:
    """Note that the group stands: any of the cards known of its claimant may have gone with it."""
    claimant = int(table.claimant)
    table.recent[0, CLAIM_OUTCOME] = ACCEPTED
    for observer in range(int(options.players)):
        for slot in range(SLOTS):
            left = int(table.known[observer, claimant, slot]) - int(table.group_size)
            table.known[observer, claimant, slot] = max(left, 0)


@compiled
def note_turned_up(table: Table, seat: int, lie: bool) -> None:
    """Note for everybody what the group was that `seat` had turned up."""
    tally(table, int(table.claimant), int(table.group_size), CAUGHT if lie else PROVEN)
    table.recent[0, CLAIM_OUTCOME] = LIE if lie else TRUE
    table.recent[0, CLAIM_TURNER] = seat


@compiled
def note_challenge(table: Table, challenger: int, lie: bool) -> None:
    """Note for everybody that a seat used its chance to challenge, and whether it was right."""
    size = int(table.group_size)
    tally(table, challenger, size, ASKED)
    tally(table, challenger, size, CHALLENGES)
    if lie:
        tally(table, challenger, size, WON)


@compiled
def note_shown(table: Table, options: Options) -> None:
    """Note that the cards turned up left their author's hand: fewer of them are known in it."""
    claimant = int(table.claimant)
    for observer in range(int(options.players)):
        known = table.known[observer]
        for slot in range(SLOTS):
            left = int(known[claimant, slot]) - int(table.turned_up[slot])
            known[claimant, slot] = max(left, 0)


@compiled
def note_pickup(table: Table, options: Options, taker: int) -> None:
    """Note what each seat knows of the taker's hand now: the group turned up, its own of the pile.

    A liar that takes its group back held at least those cards, and at least what was known before.
    """
    table.recent[0, CLAIM_TAKER] = taker
    own = taker == int(table.claimant)
    for observer in range(int(options.players)):
        known = table.known[observer]
        for slot in range(SLOTS):
            group = int(table.group[slot])
            if own:
                known[taker, slot] = max(int(known[taker, slot]), group)
            else:
                known[taker, slot] += group
            known[taker, slot] += table.pile[observer, slot]
            known[observer, slot] = 0  # its own hand it sees


@compiled
def tally(table: Table, seat: int, size: int, what: int) -> None:
    """Count one more of `what` for a seat and a size of claim."""
    counter = table.tally[seat, min(size, CLAIM_SIZES) - 1]
    counter[what] = min(int(counter[what]) + 1, MOST_TALLIED)
