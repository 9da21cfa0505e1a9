"""Deals and matches: who deals, who gets which cards, who leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env.chance import below, philox
from cheat_env.compiled import compiled
from cheat_env.engine import begin_turn
from cheat_env.rules import WINNER, Options
from cheat_env.state import NO_RANK, Table

#: The counter of a match's first dealer, beside those of its deals (see `chance`).
LOT = np.uint64(0xFFFFFFFF)


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
    table.turned_up[:] = 0
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
