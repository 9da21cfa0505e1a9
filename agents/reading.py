"""The position behind an observation: options and table, as the engine plays on them.

The observer, who is to act, becomes seat 0 and its base rank the deck's first: relative ranks are
ranks of the deck. What everybody saw and what it holds or knows itself is as it was; what it does
not see is left out, and dealt by `agents.worlds`. No observation tells the following; it is chosen:

- names of ranks other than the one shown, and where the opening rank lies below a long pile;
- what the others know: of third seats as much as the observer, of the observer's hand nothing;
- turns and passes so far, who dealt, and who leads once the observer has discarded: the next seat.

Of the seat that laid the open group the observation shows what it surely holds still; where that is
nothing, nothing counts as known of it. Scores and safe turns beyond 127 are 127.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cheat_env import observations as obs
from cheat_env import state, values
from cheat_env.cards import NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import FLAGS, MAX_SEATS, OPTIONS_DTYPE, SHOWN, Options
from cheat_env.state import NO_RANK, NO_SEAT, Table, records

#: An observation, int8 (MEMORY.size,).
Row: TypeAlias = NDArray[np.int8]

AT_OPENING = obs.MEMORY.start["opening"]


def read_game(o: Row, most_turns: int) -> NDArray[np.void]:
    """Return the options that an observation shows, an array (1,); playing on needs no others.

    A deal is cut after `most_turns`.
    """
    game = records(np.zeros(1, OPTIONS_DTYPE))
    options = game[0]
    options["shown"] = o[obs.AT_FLAGS : obs.AT_FLAGS + obs.NUM_FLAGS]
    fields = obs.MEMORY.view(o)
    for flag in FLAGS:
        if flag.name in OPTIONS_DTYPE.names:
            options[flag.name] = fields[flag.name][0]
    for name, value in zip(SHOWN, fields["rules"], strict=True):
        options[name] = value
    options["cards"] = options["num_ranks"] * options["copies"] + options["jokers"]
    options["dealt"] = options["cards"] - fields["aside"][0]
    options["rank"] = np.argmax(fields["progression"])
    options["challengers"] = values.NEXT if fields["next_challenges"][0] else values.ANYONE
    options["quads"] = fields["quad_rule"][0]
    options["max_plays"] = most_turns
    return game


@compiled
def read_table(o: Row, options: Options, table: Table) -> None:
    """Write what an observation tells of a table, and what of the options it tells by rank."""
    _read_cards(o, table)
    _read_claims(o, table)
    _read_turn(o, table)
    _read_seats(o, table)
    _read_ranks(o, options, table)
    players = int(options.players)
    for seat in range(1, players):
        opened = int(table.group_size) if seat == table.claimant else 0
        for slot in range(SLOTS):
            left = int(o[obs.AT_KNOWN + (seat - 1) * SLOTS + slot])
            for observer in range(players):
                if left > 0 and observer != seat:
                    table.known[observer, seat, slot] = left + opened


@compiled
def _read_cards(o: Row, table: Table) -> None:
    """Write the cards that are seen."""
    table.hand[:] = 0
    table.pile[:] = 0
    table.burnt[:] = 0
    table.group[:] = 0
    table.turned_up[:] = 0
    table.aside[:] = 0
    table.known[:] = 0
    table.picked_size = 0
    for slot in range(SLOTS):
        table.hand[0, slot] = o[obs.AT_OWN_HAND + slot]
        table.pile[0, slot] = o[obs.AT_OWN_PILE + slot]
        table.burnt[0, slot] = o[obs.AT_OWN_BURNT + slot]
        table.picked[slot] = o[obs.AT_PICKED + slot]
        table.picked_size += table.picked[slot]
        table.gone[slot] = o[obs.AT_GONE + slot]
    for rank in range(NUM_RANKS):
        table.quads[rank] = o[obs.AT_QUADS + rank]
        table.claimed[rank] = o[obs.AT_CLAIMED + rank]
    table.pile_size = o[obs.AT_PILE_SIZE]
    table.group_size = o[obs.AT_GROUP_SIZE]
    table.burnt_size = o[obs.AT_BURNT_SIZE]


@compiled
def _read_claims(o: Row, table: Table) -> None:
    """Write the last claims; the newest is the last of the deal."""
    for i in range(state.RECENT):
        place, claim = obs.AT_RECENT + i * obs.CLAIM_WIDTH, table.recent[i]
        claim[:] = 0
        if o[place] > 0:
            claim[state.CLAIM_SEAT] = int(o[place]) - 1
            claim[state.CLAIM_RANK] = o[place + 1]
            claim[state.CLAIM_COUNT] = o[place + 2]
            claim[state.CLAIM_TURNER] = NO_SEAT
            claim[state.CLAIM_TAKER] = NO_SEAT
            for outcome in range(state.PENDING, state.LIE + 1):
                if o[place + 3 + outcome - state.PENDING] == 1:
                    claim[state.CLAIM_OUTCOME] = outcome
    table.claimant = table.recent[0, state.CLAIM_SEAT]


@compiled
def _read_seats(o: Row, table: Table) -> None:
    """Write what everybody sees of each seat."""
    table.num_out = 0
    for seat in range(MAX_SEATS):
        table.hand_size[seat] = o[obs.AT_HAND_SIZES + seat]
        table.out[seat] = o[obs.AT_OUT + seat]
        table.num_out = max(int(table.num_out), int(table.out[seat]))
        table.passed[seat] = o[obs.AT_PASSED + seat]
        table.score[seat] = o[obs.AT_SCORES + seat]
        table.loser[seat] = 0
        place = obs.AT_TALLIES + seat * obs.TALLIES_A_SEAT
        for size in range(state.CLAIM_SIZES):
            for what in range(len(state.TALLIES)):
                table.tally[seat, size, what] = o[place]
                place += 1


@compiled
def _read_turn(o: Row, table: Table) -> None:
    """Write what the seat is asked for, and start to count turns."""
    table.turn = 0
    table.lead = 1
    table.turns = 0
    table.plays = 0
    table.passes = 0
    table.truncated = False
    table.reward[:] = 0
    table.safe_turns = o[obs.AT_SAFE_TURNS]
    for phase in range(state.OVER):
        if o[obs.AT_PHASE + phase] == 1:
            table.phase = phase


@compiled
def _read_ranks(o: Row, options: Options, table: Table) -> None:
    """Write the ranks in force, claimed and opening: a pile begins at the opening rank."""
    table.rank = 0 if o[obs.AT_IN_FORCE] == 1 else NO_RANK
    shown = NO_RANK
    for name in range(NUM_RANKS):
        if o[obs.AT_RANK + name] == 1:
            shown = name
    claimed = table.recent[0, state.CLAIM_OUTCOME] != state.NO_CLAIM and shown != NO_RANK
    table.claim = table.recent[0, state.CLAIM_RANK] if claimed else NO_RANK
    named = max(int(table.claim), 0) if table.rank == NO_RANK else 0
    for rank in range(NUM_RANKS):
        options.names[rank] = (max(shown, 0) + rank - named) % NUM_RANKS
    options.opening = int(o[AT_OPENING]) - 1
    if o[AT_OPENING] > 0 and table.rank != NO_RANK:
        options.opening, left = 0, int(table.pile_size)
        for i in range(state.RECENT):
            if left > 0 and table.recent[i, state.CLAIM_OUTCOME] != state.NO_CLAIM:
                options.opening = table.recent[i, state.CLAIM_RANK]
                left -= int(table.recent[i, state.CLAIM_COUNT])
