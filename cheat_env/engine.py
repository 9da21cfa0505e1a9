"""The rules of the game, compiled, for one table at a time.

`legal_actions` says what may be done (`cheat_env.legality`) and `apply` does it; `cheat_env.piles`
moves the cards, `cheat_env.ending` tells how seats go out and what a deal pays, `cheat_env.dealing`
deals. All branch on the options of `Rules`, never on the name of a game. Names in brackets are
clauses of the rule book (A: English, B: Marquoir, C: Russian, G: the family, K: what a seat may
know).

`apply` trusts its caller: the action must be one that `legal_actions` allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import memory, state, values
from cheat_env.cards import JOKER, SLOTS
from cheat_env.compiled import compiled
from cheat_env.ending import deal_ends, go_out
from cheat_env.legality import around, base_rank, legal_actions
from cheat_env.options import Options
from cheat_env.piles import (
    close_group,
    discard_quad,
    discard_quads,
    remove_pile,
    spend_jokers,
    take_pile,
)
from cheat_env.state import NO_RANK, Table

__all__ = ("apply", "around", "base_rank", "begin_turn", "is_lie", "legal_actions")

# --- What is done ---------------------------------------------------------------------------------


@compiled
def apply(table: Table, options: Options, action: int) -> None:
    """Play one legal action; `table.reward` then holds what it paid, by seat."""
    table.reward[:] = 0
    ranks = int(options.num_ranks)
    if action < act.PICK_JOKER:
        table.picked[(base_rank(table) + action - act.PICK) % ranks] += 1
        table.picked_size += 1
    elif action == act.PICK_JOKER:
        table.picked[JOKER] += 1
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
        discard_quad(table, int(table.turn), (base_rank(table) + action - act.DISCARD) % ranks)
        _settle_quads(table, options)
    elif action == act.KEEP:
        _lead(table, options)
    elif action == act.PASS:
        _pass(table, options)
    else:
        _believe(table, options)


@compiled
def _lay(table: Table, options: Options) -> None:
    """Lay the picked cards as the last group; an older one is closed for good (C6)."""
    seat, size = int(table.turn), int(table.picked_size)
    if table.group_size > 0:
        memory.tally(table, seat, int(table.group_size), state.ASKED)
        close_group(table, options)
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
    table.passes = 0
    memory.note_claim(table)
    safe = table.safe_turns > 0
    _count_turn(table)
    if table.hand_size[seat] == 0 and options.last_play == values.HONEST_ONLY:
        _turn_up_last_play(table, options)
    elif safe or (table.hand_size[seat] == 0 and options.last_play == values.IMMUNE):
        _stand(table, options)
    elif options.challengers == values.ANYONE:
        table.turn = _next_active(table, options, seat)
        table.phase = state.WINDOW
    else:
        _advance_rank(table, options)
        _give_turn(table, options, seat)


@compiled
def _count_turn(table: Table) -> None:
    """Count a turn, played or passed."""
    table.turns += 1
    if table.safe_turns > 0:
        table.safe_turns -= 1


@compiled
def _stand(table: Table, options: Options) -> None:
    """Close the last group and go on after its claimant (A9, A14)."""
    close_group(table, options)
    if table.phase != state.OVER:
        _advance_rank(table, options)
        _give_turn(table, options, int(table.claimant))


@compiled
def _accept(table: Table, options: Options) -> None:
    """Let the group stand; the next opponent is asked, or the group is closed (A9, A10, A14)."""
    seat = int(table.turn)
    memory.tally(table, seat, int(table.group_size), state.ASKED)
    following = _next_active(table, options, seat)
    if options.challengers == values.ANYONE and following != table.claimant:
        table.turn = following
    else:
        _stand(table, options)


@compiled
def _pass(table: Table, options: Options) -> None:
    """Lay nothing; a group that lies open stays so for the next seat (G2, G6, G7)."""
    seat = int(table.turn)
    if table.group_size > 0:
        memory.tally(table, seat, int(table.group_size), state.ASKED)
    table.passes += 1
    _count_turn(table)
    if table.phase == state.PLAY:
        table.rank = _after(table, options, int(table.rank), 1)
    if options.passing == values.OUT_OF_ROUND:
        table.passed[seat] = 1
    _give_turn(table, options, seat)


# --- Groups that are turned up --------------------------------------------------------------------


@compiled
def _challenge(table: Table, options: Options) -> None:
    """Turn up the last group: a liar or else the challenger takes the pile (A11-A15, C7-C9)."""
    challenger, claimant = int(table.turn), int(table.claimant)
    lie = _turn_up(table, challenger)
    memory.note_challenge(table, challenger, lie)
    taker = claimant if lie else challenger
    if not lie:
        memory.note_shown(table, options)
        if options.joker_spent == values.REMOVED:
            spend_jokers(table)
    take_pile(table, options, taker)
    table.lead = _named_leader(options, challenger, claimant, taker, lie)
    _rank_after_challenge(table, options)
    if table.hand_size[claimant] == 0:  # a true last group: its author goes out first (C15, G13)
        go_out(table, options, claimant)
    if table.phase != state.OVER:
        _settle_taker(table, options, taker)


@compiled
def is_lie(cards: NDArray[np.int8], size: int, rank: int) -> bool:
    """Say whether a group of so many cards holds others than it is claimed as (A11, G4)."""
    return int(cards[rank]) + int(cards[JOKER]) != size


@compiled
def _turn_up(table: Table, seat: int) -> bool:
    """Show the last group to everybody for a seat; says whether it is a lie (A11, G4)."""
    for slot in range(SLOTS):
        table.turned_up[slot] = table.group[slot]
    lie = is_lie(table.group, int(table.group_size), int(table.claim))
    memory.note_turned_up(table, seat, lie)
    return lie


@compiled
def _turn_up_last_play(table: Table, options: Options) -> None:
    """Turn up the group that emptied a hand: if it is a lie its author takes the pile (G11)."""
    claimant = int(table.claimant)
    if _turn_up(table, claimant):
        take_pile(table, options, claimant)
        table.lead = (claimant + 1) % int(options.players)
        _rank_after_challenge(table, options)
        _settle_taker(table, options, claimant)
    else:
        go_out(table, options, claimant)  # ends the deal: with another end no last play is so


@compiled
def _believe(table: Table, options: Options) -> None:
    """Turn up the last group: the pile leaves the game, or a lie goes to the believer (G10)."""
    believer, claimant = int(table.turn), int(table.claimant)
    memory.tally(table, believer, int(table.group_size), state.ASKED)
    lie = _turn_up(table, believer)
    memory.note_shown(table, options)
    if lie:
        take_pile(table, options, believer)
        table.lead = (believer + 1) % int(options.players)
    else:
        remove_pile(table, options)
        table.lead = believer
    _free_rank(table)
    if table.hand_size[claimant] == 0:
        go_out(table, options, claimant)
    if table.phase != state.OVER:
        if lie:
            _settle_taker(table, options, believer)
        else:
            _lead(table, options)


@compiled
def _named_leader(options: Options, challenger: int, claimant: int, taker: int, lie: bool) -> int:
    """Return the seat named to lead after a challenge (A13, C8, C9, G9); it may be out."""
    rule = int(options.lie_leader) if lie else int(options.truth_leader)
    if rule == values.CLAIMANT_LEFT:
        leader = claimant + 1
    elif rule == values.CHALLENGER:
        leader = challenger
    elif rule == values.CHALLENGER_LEFT:
        leader = challenger + 1
    elif rule == values.PICKER:
        leader = taker
    else:
        leader = claimant
    return leader % int(options.players)


# --- Ranks ----------------------------------------------------------------------------------------


@compiled
def _rank_after_challenge(table: Table, options: Options) -> None:
    """Set the leader's rank (A6, C8, G3)."""
    if options.rank_after_challenge == values.SAME:
        table.rank = table.claim
    elif options.rank_after_challenge == values.AFTER_FREE:
        _free_rank(table)
    elif options.rank_after_challenge == values.RESTART:
        table.rank = options.opening
        table.claim = NO_RANK
    else:
        _advance_rank(table, options)


@compiled
def _free_rank(table: Table) -> None:
    """Leave the rank to the leader."""
    table.rank = NO_RANK
    table.claim = NO_RANK


@compiled
def _advance_rank(table: Table, options: Options) -> None:
    """Set the rank that follows the last claim and the passes since (A6, B3, C6, G2)."""
    if options.rank >= values.ADJACENT:
        table.rank = NO_RANK
    else:
        table.rank = _after(table, options, int(table.claim), 1 + int(table.passes))


@compiled
def _after(table: Table, options: Options, rank: int, turns: int) -> int:
    """Return the rank in force so many turns after another (G2)."""
    ranks = int(options.num_ranks)
    if options.rank == values.UP:
        return (rank + turns) % ranks
    if options.rank == values.DOWN:
        return (rank - turns) % ranks
    return rank


# --- Turns ----------------------------------------------------------------------------------------


@compiled
def _give_turn(table: Table, options: Options, seat: int) -> None:
    """Give the turn to the seat that follows; where it comes back to the claimant, all passed."""
    players, claimant = int(options.players), int(table.claimant)
    following = _next_active(table, options, seat)
    if options.passing == values.NO_PASS:
        begin_turn(table, options, following)
        return
    for _ in range(players):  # of whom all may be out of the round, where the claimant went out
        if table.passed[following] > 0:
            following = _next_active(table, options, following)
    further = around(following - claimant, players) > around(seat - claimant, players)
    if table.passed[following] == 0 and further:
        begin_turn(table, options, following)
    else:
        _end_round(table, options)


@compiled
def _end_round(table: Table, options: Options) -> None:
    """Burn the pile that nobody played on, or go on with the claimant (G8)."""
    if table.group_size > 0:  # everybody has let it stand
        close_group(table, options)
    if table.phase == state.OVER:
        return
    if options.all_pass == values.BURN_PILE:
        remove_pile(table, options)
        _free_rank(table)
        table.lead = table.claimant
        _lead(table, options)
    else:
        claimant = int(table.claimant)
        out = table.out[claimant] > 0
        begin_turn(table, options, _next_active(table, options, claimant) if out else claimant)


@compiled
def _lead(table: Table, options: Options) -> None:
    """Give the lead to the seat named, or to the next one where that is out (G9)."""
    seat = int(table.lead)
    if table.out[seat] > 0:
        seat = _next_active(table, options, seat)
    table.passes = 0
    begin_turn(table, options, seat)


@compiled
def begin_turn(table: Table, options: Options, seat: int) -> None:
    """Ask a seat for its play, or only for its verdict where trusting ends the deal (C14, G11)."""
    table.turn = seat
    emptied = table.group_size > 0 and table.hand_size[int(table.claimant)] == 0
    if emptied and deal_ends(options, int(table.num_out) + 1):
        table.rank = table.claim
        table.phase = state.WINDOW
    elif table.turns >= options.max_plays:
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


# --- Quads ----------------------------------------------------------------------------------------


@compiled
def _settle_taker(table: Table, options: Options, taker: int) -> None:
    """Ask the seat that took the pile for its quads, or go on (C10, G13)."""
    table.turn = taker
    _settle_quads(table, options)


@compiled
def _settle_quads(table: Table, options: Options) -> None:
    """Offer the taker its quads, or discard them for it, then go on (C10, G12)."""
    seat = int(table.turn)
    if options.quads == values.OPTIONAL:
        for rank in range(int(options.num_ranks)):
            if table.hand[seat, rank] == options.copies:
                table.phase = state.QUADS
                return
    elif options.quads != values.NO_QUADS:
        discard_quads(table, options, seat)
    if table.hand_size[seat] == 0:  # C12
        go_out(table, options, seat)
    if table.phase != state.OVER:
        _lead(table, options)
