"""What may be done at a table: part of the rules (see `cheat_env.engine`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import state, values
from cheat_env.cards import JOKER
from cheat_env.compiled import compiled
from cheat_env.options import Options
from cheat_env.state import NO_RANK, Table


@compiled
def base_rank(table: Table) -> int:
    """Return where relative ranks start: the rank in force, else the deck's first rank."""
    return max(int(table.rank), 0)


@compiled
def around(place: int, size: int) -> int:
    """Return a place of -size .. size-1 counted round a cycle, without a division."""
    return place + size if place < 0 else place


@compiled
def legal_actions(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Write 1 for every action that the seat to act may take, 0 elsewhere; int8 (46,)."""
    mask[:] = 0
    phase = int(table.phase)
    if phase == state.PLAY:
        _legal_picks(table, options, mask)
    elif phase == state.ANNOUNCE:
        _legal_announcements(table, options, mask)
    elif phase == state.WINDOW:
        mask[act.ACCEPT] = 1
    elif phase == state.QUADS:
        _legal_quads(table, options, mask)
    if phase == state.WINDOW or (phase <= state.PLAY and _turn_begins(table, options)):
        _legal_answers(table, options, mask)


@compiled
def _legal_picks(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow ranks from the last one picked upwards, then jokers, and laying (A7, A17, C5, G5).

    A pick that leaves too few cards above it to reach the fewest of a play is no path to one.
    """
    ranks, base = int(options.num_ranks), base_rank(table)
    hand, picked = table.hand[int(table.turn)], table.picked
    size = int(table.picked_size)
    fewest = min(int(options.fewest), int(table.hand_size[int(table.turn)]))
    if size >= fewest:
        mask[act.LAY] = 1
    if size >= int(options.most):
        return
    reachable = size
    if options.jokers > 0:
        reachable += int(hand[JOKER]) - int(picked[JOKER])
        if hand[JOKER] > picked[JOKER] and reachable >= fewest:
            mask[act.PICK_JOKER] = 1
        if picked[JOKER] > 0:
            return
    for r in range(ranks - 1, -1, -1):
        rank = around(base + r - ranks, ranks)
        reachable += int(hand[rank]) - int(picked[rank])
        if hand[rank] > picked[rank] and reachable >= fewest:
            mask[act.PICK + r] = 1
        if picked[rank] > 0:
            return


@compiled
def _legal_announcements(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow any rank of the deck (B3, C5), or the neighbours of the last claim (G2), not dead."""
    ranks, base, claim = int(options.num_ranks), base_rank(table), int(table.claim)
    bound = options.rank == values.ADJACENT or options.rank == values.SAME_OR_ADJACENT
    for r in range(ranks):
        rank = (base + r) % ranks
        step = (rank - claim) % ranks
        near = step == 1 or step == ranks - 1
        same = step == 0 and options.rank == values.SAME_OR_ADJACENT
        dead = options.dead_ranks == values.DEAD_BANNED and table.quads[rank] == 1  # G12
        if (claim == NO_RANK or not bound or near or same) and not dead:
            mask[act.ANNOUNCE_RANK + r] = 1


@compiled
def _legal_quads(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow every complete set of the hand, or none of them (C10)."""
    ranks, base = int(options.num_ranks), base_rank(table)
    for r in range(ranks):
        if table.hand[int(table.turn), (base + r) % ranks] == options.copies:
            mask[act.DISCARD + r] = 1
    mask[act.KEEP] = 1


@compiled
def _turn_begins(table: Table, options: Options) -> bool:
    """Say whether the seat, asked for its play, has neither announced nor picked."""
    announced = table.phase == state.PLAY and options.rank >= values.ADJACENT
    return bool(table.picked_size == 0 and not announced)


@compiled
def _legal_answers(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow to challenge or believe a group that lies open (A9, C6, G10), and to pass (G6, G7)."""
    if options.challengers == values.ANYONE:
        mask[act.CHALLENGE] = table.phase == state.WINDOW
        passes = table.phase != state.WINDOW
    else:
        mask[act.CHALLENGE] = table.group_size > 0
        mask[act.BELIEVE] = table.group_size > 0 and options.believe == values.REVEAL
        passes = True
    if passes and options.passing != values.NO_PASS and table.pile_size > 0:
        mask[act.PASS] = 1
