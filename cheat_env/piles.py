"""How cards leave hands and the table: part of the rules (see `cheat_env.engine`)."""

from __future__ import annotations

from cheat_env import memory
from cheat_env.cards import JOKER, SLOTS
from cheat_env.compiled import compiled
from cheat_env.ending import go_out
from cheat_env.options import Options
from cheat_env.state import Table


@compiled
def close_group(table: Table, options: Options) -> None:
    """Put the trusted group unseen into the pile; an emptied hand is out (A14, C11)."""
    claimant = int(table.claimant)
    memory.note_trust(table, options)
    for rank in range(SLOTS):
        table.pile[claimant, rank] += table.group[rank]
        table.group[rank] = 0
    table.group_size = 0
    if table.hand_size[claimant] == 0:
        go_out(table, options, claimant)


@compiled
def take_pile(table: Table, options: Options, taker: int) -> None:
    """Give the pile and the turned-up group to a seat (A12, C8, C9)."""
    memory.note_pickup(table, options, taker)
    for rank in range(SLOTS):
        table.hand[taker, rank] += table.group[rank]
        table.group[rank] = 0
        for seat in range(int(options.players)):
            table.hand[taker, rank] += table.pile[seat, rank]
            table.pile[seat, rank] = 0
    table.hand_size[taker] += table.pile_size
    _clear_pile(table)


@compiled
def remove_pile(table: Table, options: Options) -> None:
    """Take the pile out of the game unseen, but for a group that is turned up (G8, G10)."""
    table.burnt_size += table.pile_size - table.group_size
    for rank in range(SLOTS):
        table.gone[rank] += table.group[rank]
        table.group[rank] = 0
        for seat in range(int(options.players)):
            table.burnt[seat, rank] += table.pile[seat, rank]
            table.pile[seat, rank] = 0
    _clear_pile(table)


@compiled
def _clear_pile(table: Table) -> None:
    """Leave nothing on the table; who was out of the round is so no longer (G6)."""
    table.passed[:] = 0
    table.pile_size = 0
    table.group_size = 0
    table.claimed[:] = 0


@compiled
def spend_jokers(table: Table) -> None:
    """Take the jokers of a true group out of the game."""
    table.gone[JOKER] += table.group[JOKER]
    table.pile_size -= table.group[JOKER]
    table.group[JOKER] = 0


@compiled
def discard_quads(table: Table, options: Options, seat: int) -> None:
    """Take every complete set out of a hand, shown to all (G12)."""
    for rank in range(int(options.num_ranks)):
        if table.hand[seat, rank] == options.copies:
            discard_quad(table, seat, rank)


@compiled
def discard_quad(table: Table, seat: int, rank: int) -> None:
    """Show a complete set and take it out of the game (C10)."""
    table.hand_size[seat] -= table.hand[seat, rank]
    table.hand[seat, rank] = 0
    table.quads[rank] = 1
    table.known[:, seat, rank] = 0
