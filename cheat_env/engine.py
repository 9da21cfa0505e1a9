"""The rules of the game, compiled, for one table at a time.

`legal_actions` says what may be done and `apply` does it; `cheat_env.dealing` deals the cards. All
branch on the options of `Rules`, never on the name of a game. Names in brackets are clauses of the
rule book (A: English, B: Marquoir, C: Russian, G: the family, K: what a seat may know).

`apply` trusts its caller: the action must be one that `legal_actions` allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import memory, rules, state
from cheat_env.cards import JOKER, SLOTS
from cheat_env.compiled import compiled
from cheat_env.rules import Options
from cheat_env.state import NO_RANK, Table

# --- What may be done -----------------------------------------------------------------------------


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
        mask[act.CHALLENGE] = 1
    elif phase == state.QUADS:
        _legal_quads(table, options, mask)
    if phase <= state.PLAY and _may_challenge_on_turn(table, options):
        mask[act.CHALLENGE] = 1


@compiled
def _legal_picks(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow ranks from the last one picked upwards, and laying (A7, A17, C5, G5).

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
    for r in range(ranks - 1, -1, -1):
        rank = around(base + r - ranks, ranks)
        reachable += int(hand[rank]) - int(picked[rank])
        if hand[rank] > picked[rank] and reachable >= fewest:
            mask[act.PICK + r] = 1
        if picked[rank] > 0:
            return


@compiled
def _legal_announcements(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow any rank of the deck (B3, C5), or the neighbours of the last claim (G2)."""
    ranks, base, claim = int(options.num_ranks), base_rank(table), int(table.claim)
    bound = options.rank == rules.ADJACENT or options.rank == rules.SAME_OR_ADJACENT
    for r in range(ranks):
        step = ((base + r) % ranks - claim) % ranks
        near = step == 1 or step == ranks - 1
        same = step == 0 and options.rank == rules.SAME_OR_ADJACENT
        if claim == NO_RANK or not bound or near or same:
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
def _may_challenge_on_turn(table: Table, options: Options) -> bool:
    """Say whether the seat may challenge instead of playing (C6): nothing picked or announced."""
    announced = table.phase == state.PLAY and options.rank >= rules.ADJACENT
    open_group = options.challengers == rules.NEXT and table.group_size > 0
    return bool(open_group and table.picked_size == 0 and not announced)


# --- What is done ---------------------------------------------------------------------------------


@compiled
def apply(table: Table, options: Options, action: int) -> None:
    """Play one legal action; `table.reward` then holds what it paid, by seat."""
    table.reward[:] = 0
    ranks = int(options.num_ranks)
    if action < act.PICK_JOKER:
        table.picked[(base_rank(table) + action - act.PICK) % ranks] += 1
        table.picked_size += 1
    elif action == act.LAY:
        _lay(table, options)
    elif action == act.ACCEPT:
        _accept(table, options)
    elif action == act.CHALLENGE:
        _challenge(table, options)
    elif action < act.DISCARD:
        table.rank = (base_rank(table) + action - act.ANNOUNCE_RANK) % ranks
        table.phase = state.PLAY
    elif action < act.KEEP:
        _discard(table, (base_rank(table) + action - act.DISCARD) % ranks)
        _settle_quads(table, options)
    elif action == act.KEEP:
        _lead(table, options)


@compiled
def _lay(table: Table, options: Options) -> None:
    """Lay the picked cards as the last group; an older one is closed for good (C6)."""
    seat, size = int(table.turn), int(table.picked_size)
    if table.group_size > 0:
        memory.tally(table, seat, int(table.group_size), state.ASKED)
        _close_group(table, options)
    for rank in range(SLOTS):
        table.hand[seat, rank] -= table.picked[rank]
        table.group[rank] = table.picked[rank]
        table.picked[rank] = 0
    table.hand_size[seat] -= size
    table.pile_size += size
    table.group_size = size
    table.picked_size = 0
    table.claim = table.rank
    table.claimant = seat
    table.plays += 1
    memory.note_claim(table)
    following = _next_active(table, options, seat)
    if options.challengers == rules.ANYONE:
        table.turn = following
        table.phase = state.WINDOW
    else:
        _advance_rank(table, options)
        begin_turn(table, options, following)


@compiled
def _accept(table: Table, options: Options) -> None:
    """Let the group stand; the next opponent is asked, or the group is closed (A9, A10, A14)."""
    seat, claimant = int(table.turn), int(table.claimant)
    memory.tally(table, seat, int(table.group_size), state.ASKED)
    following = _next_active(table, options, seat)
    if options.challengers == rules.ANYONE and following != claimant:
        table.turn = following
        return
    _close_group(table, options)
    if table.phase != state.OVER:
        _advance_rank(table, options)
        begin_turn(table, options, _next_active(table, options, claimant))


@compiled
def _challenge(table: Table, options: Options) -> None:
    """Turn up the last group: a liar or else the challenger takes the pile (A11-A15, C7-C9)."""
    challenger, claimant = int(table.turn), int(table.claimant)
    true_cards = int(table.group[int(table.claim)]) + int(table.group[JOKER])
    lie = true_cards != int(table.group_size)
    taker = claimant if lie else challenger
    memory.note_challenge(table, challenger, lie)
    for slot in range(SLOTS):
        table.turned_up[slot] = table.group[slot]
    _take_pile(table, options, taker, lie)
    table.lead = _named_leader(options, challenger, claimant, taker, lie)
    _rank_after_challenge(table, options)
    if table.hand_size[claimant] == 0:  # a true last group: its author goes out first (C15, G13)
        _go_out(table, options, claimant)
    if table.phase != state.OVER:
        table.turn = taker
        _settle_quads(table, options)


@compiled
def _named_leader(options: Options, challenger: int, claimant: int, taker: int, lie: bool) -> int:
    """Return the seat named to lead after a challenge (A13, C8, C9, G9); it may be out."""
    rule = int(options.lie_leader) if lie else int(options.truth_leader)
    if rule == rules.CLAIMANT_LEFT:
        leader = claimant + 1
    elif rule == rules.CHALLENGER:
        leader = challenger
    elif rule == rules.CHALLENGER_LEFT:
        leader = challenger + 1
    elif rule == rules.PICKER:
        leader = taker
    else:
        leader = claimant
    return leader % int(options.players)


@compiled
def _rank_after_challenge(table: Table, options: Options) -> None:
    """Set the leader's rank (A6, C8, G3)."""
    if options.rank_after_challenge == rules.SAME:
        table.rank = table.claim
    elif options.rank_after_challenge == rules.AFTER_FREE:
        table.rank = NO_RANK
        table.claim = NO_RANK
    else:
        _advance_rank(table, options)


@compiled
def _advance_rank(table: Table, options: Options) -> None:
    """Set the rank that follows the last claim (A6, B3, C6, G2)."""
    ranks, claim = int(options.num_ranks), int(table.claim)
    if options.rank == rules.UP:
        table.rank = (claim + 1) % ranks
    elif options.rank == rules.DOWN:
        table.rank = (claim + ranks - 1) % ranks
    elif options.rank == rules.FIXED:
        table.rank = claim
    else:
        table.rank = NO_RANK


@compiled
def _settle_quads(table: Table, options: Options) -> None:
    """Offer the taker its quads, or discard them for it, then go on (C10, G12)."""
    seat = int(table.turn)
    if options.quads != rules.NO_QUADS:
        for rank in range(int(options.num_ranks)):
            if table.hand[seat, rank] == options.copies:
                if options.quads != rules.MANDATORY:
                    table.phase = state.QUADS
                    return
                _discard(table, rank)
    if table.hand_size[seat] == 0:  # C12
        _go_out(table, options, seat)
    if table.phase != state.OVER:
        _lead(table, options)


@compiled
def _discard(table: Table, rank: int) -> None:
    """Show a complete set and take it out of the game (C10)."""
    seat = int(table.turn)
    table.hand_size[seat] -= table.hand[seat, rank]
    table.hand[seat, rank] = 0
    table.quads[rank] = 1
    table.known[:, seat, rank] = 0


@compiled
def _lead(table: Table, options: Options) -> None:
    """Give the lead to the seat named, or to the next one where that is out (G9)."""
    seat = int(table.lead)
    if table.out[seat] > 0:
        seat = _next_active(table, options, seat)
    begin_turn(table, options, seat)


@compiled
def begin_turn(table: Table, options: Options, seat: int) -> None:
    """Ask a seat for its play, or only for its verdict where trusting ends the deal (C14, G11)."""
    table.turn = seat
    active = int(options.players) - int(table.num_out)
    emptied = table.group_size > 0 and table.hand_size[int(table.claimant)] == 0
    if emptied and (options.end == rules.FIRST_OUT or active == 2):
        table.rank = table.claim
        table.phase = state.WINDOW
    elif table.plays >= options.max_plays:
        table.truncated = True
        table.phase = state.OVER
    else:
        table.phase = state.ANNOUNCE if table.rank == NO_RANK else state.PLAY


@compiled
def _next_active(table: Table, options: Options, seat: int) -> int:
    """Return the next seat clockwise that is still in (C13)."""
    players = int(options.players)
    following = (seat + 1) % players
    while table.out[following] > 0:
        following = (following + 1) % players
    return following


# --- Groups, piles and what is remembered of them -------------------------------------------------


@compiled
def _close_group(table: Table, options: Options) -> None:
    """Put the trusted group unseen into the pile; an emptied hand is out (A14, C11)."""
    claimant = int(table.claimant)
    memory.note_trust(table, options)
    for rank in range(SLOTS):
        table.pile[claimant, rank] += table.group[rank]
        table.group[rank] = 0
    table.group_size = 0
    if table.hand_size[claimant] == 0:
        _go_out(table, options, claimant)


@compiled
def _take_pile(table: Table, options: Options, taker: int, lie: bool) -> None:
    """Give the pile and the turned-up group to a seat (A12, C8, C9)."""
    memory.note_pickup(table, options, taker, lie)
    for rank in range(SLOTS):
        table.hand[taker, rank] += table.group[rank]
        table.group[rank] = 0
        for seat in range(int(options.players)):
            table.hand[taker, rank] += table.pile[seat, rank]
            table.pile[seat, rank] = 0
    table.hand_size[taker] += table.pile_size
    table.pile_size = 0
    table.group_size = 0
    table.claimed[:] = 0


# --- The end --------------------------------------------------------------------------------------


@compiled
def _go_out(table: Table, options: Options, seat: int) -> None:
    """Let a seat go out; the deal may end with it (A15, C13, C14)."""
    table.num_out += 1
    table.out[seat] = table.num_out
    table.known[:, seat] = 0
    if options.end == rules.FIRST_OUT or int(options.players) - int(table.num_out) == 1:
        table.phase = state.OVER
        _settle(table, options)


@compiled
def _settle(table: Table, options: Options) -> None:
    """Name the losers, count the score and pay (A15, B7, C13)."""
    players = int(options.players)
    fullest = 0
    for seat in range(players):
        fullest = max(fullest, int(table.hand_size[seat]))
    losers = 0
    for seat in range(players):
        last = options.scoring == rules.LAST and table.out[seat] == 0
        full = options.scoring == rules.MOST_CARDS and table.hand_size[seat] == fullest
        table.loser[seat] = last or full
        losers += 1 if last or full else 0
    for seat in range(players):
        if options.scoring == rules.WINNER:
            counts = table.out[seat] > 0
            table.reward[seat] = 1.0 if counts else -1.0 / (players - 1)
        else:
            counts = table.loser[seat]
            table.reward[seat] = -1.0 if counts else losers / (players - losers)
        table.score[seat] += 1 if counts else 0
