"""The rules of the game, compiled, for one table at a time.

Four entry points: `start_match` and `next_deal` deal, `legal_actions` says what may be done and
`apply` does it. All branch on the options of `Rules`, never on the name of a game. Names in
brackets are clauses of the rule book (A: English, B: Marquoir, C: Russian, G: the family).

`apply` trusts its caller: the action must be one that `legal_actions` allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env.cards import JOKER, SLOTS
from cheat_env.chance import below, philox
from cheat_env.compiled import compiled
from cheat_env.rules import (
    ADJACENT,
    AFTER_FREE,
    ANYONE,
    CHALLENGER,
    CHALLENGER_LEFT,
    CLAIMANT_LEFT,
    DOWN,
    FIRST_OUT,
    FIXED,
    LAST,
    MANDATORY,
    MOST_CARDS,
    NEXT,
    NO_QUADS,
    PICKER,
    SAME,
    SAME_OR_ADJACENT,
    UP,
    WINNER,
    Options,
)
from cheat_env.state import (
    ACCEPTED,
    ANNOUNCE,
    ASKED,
    CAUGHT,
    CHALLENGES,
    CLAIM_CHALLENGER,
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    CLAIM_SEAT,
    CLAIM_SIZES,
    CLAIMS,
    LIE,
    NO_RANK,
    OVER,
    PENDING,
    PLAY,
    PROVEN,
    QUADS,
    RECENT,
    TRUE,
    WINDOW,
    WON,
    Table,
)

#: The counter of a match's first dealer, beside those of its deals (see `chance`).
LOT = np.uint64(0xFFFFFFFF)
#: Tallies stop here.
MOST_TALLIED = 127


# --- Deals and matches ----------------------------------------------------------------------------


@compiled
def start_match(table: Table, options: Options) -> None:
    """Deal the first deal of match `table.match`: no scores, the dealer drawn by lot (A3, B9)."""
    table.score[:] = 0
    table.deal = 0
    words = philox(table.seed, np.uint64(0), LOT, np.uint64(table.match), np.uint64(table.number))
    table.dealer = below(words[0], int(options.players))
    _start_deal(table, options)


@compiled
def match_over(table: Table, options: Options) -> bool:
    """Say whether the match ends with the deal that is over; a truncated deal ends it too."""
    return bool(table.truncated) or int(table.deal) + 1 >= int(options.deals)


@compiled
def next_deal(table: Table, options: Options) -> None:
    """Deal what follows a deal that is over: the next of its match, or the first of the next."""
    if match_over(table, options):
        table.match += 1
        start_match(table, options)
    else:
        table.deal += 1
        table.dealer = (int(table.dealer) + 1) % int(options.players)  # A16, B9, C3
        _start_deal(table, options)


@compiled
def _start_deal(table: Table, options: Options) -> None:
    """Deal the cards and give the lead to the dealer's left (A5, C4)."""
    _clear(table)
    _deal_cards(table, options)
    table.rank = options.opening
    begin_turn(table, options, (int(table.dealer) + 1) % int(options.players))


@compiled
def _clear(table: Table) -> None:
    table.hand[:] = 0
    table.pile[:] = 0
    table.group[:] = 0
    table.picked[:] = 0
    table.aside[:] = 0
    table.quads[:] = 0
    table.hand_size[:] = 0
    table.pile_size = 0
    table.group_size = 0
    table.picked_size = 0
    table.claim = NO_RANK
    table.claimant = 0
    table.lead = 0
    table.out[:] = 0
    table.num_out = 0
    table.plays = 0
    table.truncated = False
    table.loser[:] = False
    table.known[:] = 0
    table.claimed[:] = 0
    table.tally[:] = 0
    table.recent[:] = 0


@compiled
def _deal_cards(table: Table, options: Options) -> None:
    """Deal one at a time from the dealer's left (A3, C3); what is not dealt stays aside (C3)."""
    table.aside[: int(options.num_ranks)] = options.copies
    cards = int(options.num_ranks) * int(options.copies)
    words = (LOT, LOT, LOT, LOT)
    for dealt in range(cards - int(options.removed_cards)):
        if dealt % 4 == 0:
            words = philox(
                table.seed,
                np.uint64(dealt // 4),
                np.uint64(table.deal),
                np.uint64(table.match),
                np.uint64(table.number),
            )
        seat = (int(table.dealer) + 1 + dealt) % int(options.players)
        rank = _draw(table.aside, below(words[dealt % 4], cards - dealt))
        table.hand[seat, rank] += 1
        table.hand_size[seat] += 1


@compiled
def _draw(cards: NDArray[np.int8], place: int) -> int:
    """Take the card at a place, counted through the ranks, and return its rank."""
    rank = 0
    while place >= cards[rank]:
        place -= int(cards[rank])
        rank += 1
    cards[rank] -= 1
    return rank


# --- What may be done -----------------------------------------------------------------------------


@compiled
def base_rank(table: Table) -> int:
    """Return where relative ranks start: the rank in force, else the deck's first rank."""
    return max(int(table.rank), 0)


@compiled
def legal_actions(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Write 1 for every action that the seat to act may take, 0 elsewhere; int8 (46,)."""
    mask[:] = 0
    phase = int(table.phase)
    if phase == PLAY:
        _legal_picks(table, options, mask)
    elif phase == ANNOUNCE:
        _legal_announcements(table, options, mask)
    elif phase == WINDOW:
        mask[act.ACCEPT] = 1
        mask[act.CHALLENGE] = 1
    elif phase == QUADS:
        _legal_quads(table, options, mask)
    if phase <= PLAY and _may_challenge_on_turn(table, options):
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
        rank = (base + r) % ranks
        reachable += int(hand[rank]) - int(picked[rank])
        if hand[rank] > picked[rank] and reachable >= fewest:
            mask[act.PICK + r] = 1
        if picked[rank] > 0:
            return


@compiled
def _legal_announcements(table: Table, options: Options, mask: NDArray[np.int8]) -> None:
    """Allow any rank of the deck (B3, C5), or the neighbours of the last claim (G2)."""
    ranks, base, claim = int(options.num_ranks), base_rank(table), int(table.claim)
    bound = options.rank == ADJACENT or options.rank == SAME_OR_ADJACENT
    for r in range(ranks):
        step = ((base + r) % ranks - claim) % ranks
        near = step == 1 or step == ranks - 1
        same = step == 0 and options.rank == SAME_OR_ADJACENT
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
    announced = table.phase == PLAY and options.rank >= ADJACENT
    open_group = options.challengers == NEXT and table.group_size > 0
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
        table.phase = PLAY
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
        _tally(table, seat, int(table.group_size), ASKED)
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
    _remember_claim(table)
    following = _next_active(table, options, seat)
    if options.challengers == ANYONE:
        table.turn = following
        table.phase = WINDOW
    else:
        _advance_rank(table, options)
        begin_turn(table, options, following)


@compiled
def _accept(table: Table, options: Options) -> None:
    """Let the group stand; the next opponent is asked, or the group is closed (A9, A10, A14)."""
    seat, claimant = int(table.turn), int(table.claimant)
    _tally(table, seat, int(table.group_size), ASKED)
    following = _next_active(table, options, seat)
    if options.challengers == ANYONE and following != claimant:
        table.turn = following
        return
    _close_group(table, options)
    if table.phase != OVER:
        _advance_rank(table, options)
        begin_turn(table, options, _next_active(table, options, claimant))


@compiled
def _challenge(table: Table, options: Options) -> None:
    """Turn up the last group: a liar or else the challenger takes the pile (A11-A15, C7-C9)."""
    challenger, claimant = int(table.turn), int(table.claimant)
    true_cards = int(table.group[int(table.claim)]) + int(table.group[JOKER])
    lie = true_cards != int(table.group_size)
    taker = claimant if lie else challenger
    _remember_challenge(table, challenger, lie)
    _take_pile(table, options, taker, lie)
    table.lead = _named_leader(options, challenger, claimant, taker, lie)
    _rank_after_challenge(table, options)
    if table.hand_size[claimant] == 0:  # a true last group: its author goes out first (C15, G13)
        _go_out(table, options, claimant)
    if table.phase != OVER:
        table.turn = taker
        _settle_quads(table, options)


@compiled
def _named_leader(options: Options, challenger: int, claimant: int, taker: int, lie: bool) -> int:
    """Return the seat named to lead after a challenge (A13, C8, C9, G9); it may be out."""
    rule = int(options.lie_leader) if lie else int(options.truth_leader)
    if rule == CLAIMANT_LEFT:
        leader = claimant + 1
    elif rule == CHALLENGER:
        leader = challenger
    elif rule == CHALLENGER_LEFT:
        leader = challenger + 1
    elif rule == PICKER:
        leader = taker
    else:
        leader = claimant
    return leader % int(options.players)


@compiled
def _rank_after_challenge(table: Table, options: Options) -> None:
    """Set the leader's rank (A6, C8, G3)."""
    if options.rank_after_challenge == SAME:
        table.rank = table.claim
    elif options.rank_after_challenge == AFTER_FREE:
        table.rank = NO_RANK
        table.claim = NO_RANK
    else:
        _advance_rank(table, options)


@compiled
def _advance_rank(table: Table, options: Options) -> None:
    """Set the rank that follows the last claim (A6, B3, C6, G2)."""
    ranks, claim = int(options.num_ranks), int(table.claim)
    if options.rank == UP:
        table.rank = (claim + 1) % ranks
    elif options.rank == DOWN:
        table.rank = (claim + ranks - 1) % ranks
    elif options.rank == FIXED:
        table.rank = claim
    else:
        table.rank = NO_RANK


@compiled
def _settle_quads(table: Table, options: Options) -> None:
    """Offer the seat that took the pile its quads, or discard them for it, then go on (C10, G12)."""
    seat = int(table.turn)
    if options.quads != NO_QUADS:
        for rank in range(int(options.num_ranks)):
            if table.hand[seat, rank] == options.copies:
                if options.quads != MANDATORY:
                    table.phase = QUADS
                    return
                _discard(table, rank)
    if table.hand_size[seat] == 0:  # C12
        _go_out(table, options, seat)
    if table.phase != OVER:
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
    if emptied and (options.end == FIRST_OUT or active == 2):
        table.rank = table.claim
        table.phase = WINDOW
    elif table.plays >= options.max_plays:
        table.truncated = True
        table.phase = OVER
    else:
        table.phase = ANNOUNCE if table.rank == NO_RANK else PLAY


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
    table.recent[0, CLAIM_OUTCOME] = ACCEPTED
    for observer in range(int(options.players)):
        for rank in range(SLOTS):  # any of its cards may have gone (K2)
            left = int(table.known[observer, claimant, rank]) - int(table.group_size)
            table.known[observer, claimant, rank] = max(left, 0)
    for rank in range(SLOTS):
        table.pile[claimant, rank] += table.group[rank]
        table.group[rank] = 0
    table.group_size = 0
    if table.hand_size[claimant] == 0:
        _go_out(table, options, claimant)


@compiled
def _take_pile(table: Table, options: Options, taker: int, lie: bool) -> None:
    """Give the pile and the turned-up group to a seat (A12, C8, C9)."""
    _know_turned_up(table, options, taker, lie)
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


@compiled
def _know_turned_up(table: Table, options: Options, taker: int, lie: bool) -> None:
    """Note what each seat now knows of the hands: the turned-up cards, and its own of the pile (K2).

    A liar held at least the cards turned up, and at least what was known of it before.
    """
    claimant = int(table.claimant)
    for observer in range(int(options.players)):
        known = table.known[observer]
        for rank in range(SLOTS):
            turned_up = int(table.group[rank])
            if lie:
                known[claimant, rank] = max(int(known[claimant, rank]), turned_up)
            else:
                known[claimant, rank] = max(int(known[claimant, rank]) - turned_up, 0)
                known[taker, rank] += turned_up
            known[taker, rank] += table.pile[observer, rank]
            known[observer, rank] = 0  # its own hand it sees


@compiled
def _remember_claim(table: Table) -> None:
    """Note the claim for everybody."""
    table.claimed[int(table.claim)] += table.group_size
    _tally(table, int(table.claimant), int(table.group_size), CLAIMS)
    for i in range(RECENT - 1, 0, -1):
        table.recent[i] = table.recent[i - 1]
    table.recent[0, CLAIM_SEAT] = table.claimant
    table.recent[0, CLAIM_RANK] = table.claim
    table.recent[0, CLAIM_COUNT] = table.group_size
    table.recent[0, CLAIM_OUTCOME] = PENDING
    table.recent[0, CLAIM_CHALLENGER] = 0


@compiled
def _remember_challenge(table: Table, challenger: int, lie: bool) -> None:
    """Note the challenge and what it showed for everybody."""
    size = int(table.group_size)
    _tally(table, int(table.claimant), size, CAUGHT if lie else PROVEN)
    _tally(table, challenger, size, ASKED)
    _tally(table, challenger, size, CHALLENGES)
    if lie:
        _tally(table, challenger, size, WON)
    table.recent[0, CLAIM_OUTCOME] = LIE if lie else TRUE
    table.recent[0, CLAIM_CHALLENGER] = challenger


@compiled
def _tally(table: Table, seat: int, size: int, what: int) -> None:
    counter = table.tally[seat, min(size, CLAIM_SIZES) - 1]
    counter[what] = min(int(counter[what]) + 1, MOST_TALLIED)


# --- The end --------------------------------------------------------------------------------------


@compiled
def _go_out(table: Table, options: Options, seat: int) -> None:
    """Let a seat go out; the deal may end with it (A15, C13, C14)."""
    table.num_out += 1
    table.out[seat] = table.num_out
    table.known[:, seat] = 0
    if options.end == FIRST_OUT or int(options.players) - int(table.num_out) == 1:
        table.phase = OVER
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
        last = options.scoring == LAST and table.out[seat] == 0
        full = options.scoring == MOST_CARDS and table.hand_size[seat] == fullest
        table.loser[seat] = last or full
        losers += 1 if last or full else 0
    for seat in range(players):
        if options.scoring == WINNER:
            counts = table.out[seat] > 0
            table.reward[seat] = 1.0 if counts else -1.0 / (players - 1)
        else:
            counts = table.loser[seat]
            table.reward[seat] = -1.0 if counts else losers / (players - losers)
        table.score[seat] += 1 if counts else 0
