"""Deals and matches: who deals, who gets which cards, who leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env.cards import JOKER
from cheat_env.chance import below, philox
from cheat_env.compiled import compiled
from cheat_env.ending import go_out
from cheat_env.engine import begin_turn
from cheat_env.options import Options
from cheat_env.piles import discard_quads
from cheat_env.state import ANNOUNCE, NO_RANK, OVER, Table
from cheat_env.values import ALSO_ON_DEAL, DEALER, REDEAL, WINNER

#: The counter of a match's first dealer, beside those of its deals (see `chance`).
LOT = np.uint64(0xFFFFFFFF)
#: Blocks of draws that one attempt at a deal may use.
BLOCKS = 64


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
    if options.until > 0:
        lost = 0
        for seat in range(int(options.players)):
            lost = max(lost, int(table.score[seat]))
        return bool(table.truncated) or lost >= int(options.until)
    return bool(table.truncated) or int(table.deal) + 1 >= int(options.deals)


def match_winners(table: Table, options: Options) -> NDArray[np.bool_]:
    """Return which seats have won the match, bool (players,); ties share it (B8).

    The score counts wins where the first out wins, else losses. A truncated match has no winner.
    """
    score = table["score"][: int(options["players"])]
    best = score.max() if options["scoring"] == WINNER else score.min()
    won: NDArray[np.bool_] = score == best
    return won if not table["truncated"] else np.zeros_like(won)


@compiled
def next_deal(table: Table, options: Options) -> None:
    """Deal what follows a deal that is over: the next of its match, or the first of the next."""
    if match_over(table, options):
        table.match += 1
        start_match(table, options)
    else:
        pass_the_deal(table, options)
        _start_deal(table, options)


@compiled
def pass_the_deal(table: Table, options: Options) -> None:
    """Let the next seat deal the next deal of the match (A16, B9, C3)."""
    table.deal += 1
    table.dealer = (int(table.dealer) + 1) % int(options.players)


@compiled
def _start_deal(table: Table, options: Options) -> None:
    """Deal the cards and begin."""
    clear(table)
    attempt = 0
    _deal_cards(table, options, attempt)
    while must_redeal(table, options):
        attempt += 1
        _deal_cards(table, options, attempt)
    open_deal(table, options)


@compiled
def must_redeal(table: Table, options: Options) -> bool:
    """Say whether the cards that were dealt must be dealt anew (G12)."""
    return bool(options.quads == REDEAL and _holds_quads(table, options))


@compiled
def open_deal(table: Table, options: Options) -> None:
    """Begin with the cards dealt: the dealer's left leads, or the dealer (A5, C4)."""
    table.rank = options.opening
    table.safe_turns = options.safe_turns
    players = int(options.players)
    starter = int(table.dealer) + (0 if options.starter == DEALER else 1)
    if options.quads == ALSO_ON_DEAL:
        _discard_dealt_quads(table, options, starter)
    while table.out[starter % players] > 0:
        starter += 1
    if table.phase != OVER:
        begin_turn(table, options, starter % players)


@compiled
def _holds_quads(table: Table, options: Options) -> bool:
    """Say whether any hand holds a complete set."""
    for seat in range(int(options.players)):
        for rank in range(int(options.num_ranks)):
            if table.hand[seat, rank] == options.copies:
                return True
    return False


@compiled
def _discard_dealt_quads(table: Table, options: Options, starter: int) -> None:
    """Take the complete sets out of all hands; who has no card left is out (G12)."""
    players = int(options.players)
    for turn in range(2 * players):
        table.turn = (starter + turn) % players
        seat = int(table.turn)
        if turn < players:
            discard_quads(table, options, seat)
        elif table.hand_size[seat] == 0 and table.phase != OVER:
            go_out(table, options, seat)


@compiled
def clear(table: Table) -> None:
    """Take everything off the table that belongs to a deal."""
    table.phase = ANNOUNCE
    table.reward[:] = 0
    table.hand[:] = 0
    table.pile[:] = 0
    table.group[:] = 0
    table.turned_up[:] = 0
    table.picked[:] = 0
    table.aside[:] = 0
    table.burnt[:] = 0
    table.gone[:] = 0
    table.quads[:] = 0
    table.hand_size[:] = 0
    table.pile_size = 0
    table.burnt_size = 0
    table.group_size = 0
    table.picked_size = 0
    table.claim = NO_RANK
    table.claimant = 0
    table.lead = 0
    table.out[:] = 0
    table.num_out = 0
    table.passed[:] = 0
    table.plays = 0
    table.turns = 0
    table.passes = 0
    table.truncated = False
    table.loser[:] = False
    table.known[:] = 0
    table.claimed[:] = 0
    table.tally[:] = 0
    table.recent[:] = 0


@compiled
def _deal_cards(table: Table, options: Options, attempt: int) -> None:
    """Deal the cards by a random order of the deck."""
    gather(table, options)
    cards = int(options.cards)
    words = (LOT, LOT, LOT, LOT)
    for dealt in range(int(options.dealt)):
        if dealt % 4 == 0:
            words = philox(
                table.seed,
                np.uint64(attempt * BLOCKS + dealt // 4),
                np.uint64(table.deal),
                np.uint64(table.match),
                np.uint64(table.number),
            )
        rank = _rank_at(table.aside, below(words[dealt % 4], cards - dealt))
        give(table, receiver(table, options, dealt), rank, 1)


@compiled
def gather(table: Table, options: Options) -> None:
    """Put the whole deck aside; what is not dealt of it stays there (C3)."""
    table.hand[:] = 0
    table.hand_size[:] = 0
    table.aside[: int(options.num_ranks)] = options.copies
    table.aside[JOKER] = options.jokers


@compiled
def receiver(table: Table, options: Options, dealt: int) -> int:
    """Return who gets the next card, one at a time from the dealer's left (A3, C3)."""
    return (int(table.dealer) + 1 + dealt) % int(options.players)


@compiled
def give(table: Table, seat: int, rank: int, count: int) -> None:
    """Deal cards of a rank to a seat."""
    table.aside[rank] -= count
    table.hand[seat, rank] += count
    table.hand_size[seat] += count


@compiled
def _rank_at(cards: NDArray[np.int8], place: int) -> int:
    """Return the rank of the card at a place, counted through the ranks."""
    rank = 0
    while place >= cards[rank]:
        place -= int(cards[rank])
        rank += 1
    return rank
