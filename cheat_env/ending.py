"""How seats go out, how a deal ends and what it pays: part of the rules, as `cheat_env.engine`."""

from __future__ import annotations

from cheat_env import state, values
from cheat_env.compiled import compiled
from cheat_env.options import Options
from cheat_env.state import Table


@compiled
def deal_ends(options: Options, num_out: int) -> bool:
    """Say whether a deal ends with so many seats out (A15, C13, G14)."""
    if options.end == values.FIRST_OUT:
        return num_out > 0
    left = int(options.players) - num_out
    return left <= (2 if options.end == values.TWO_LEFT else 1)


@compiled
def go_out(table: Table, options: Options, seat: int) -> None:
    """Let a seat go out; the deal may end with it (A15, C13, C14)."""
    table.num_out += 1
    table.out[seat] = table.num_out
    table.known[:, seat] = 0
    if deal_ends(options, int(table.num_out)):
        table.phase = state.OVER
        _settle(table, options)


@compiled
def _settle(table: Table, options: Options) -> None:
    """Name the losers, count the score and pay (A15, B7, C13, G14)."""
    players = int(options.players)
    if options.scoring == values.WINNER:
        for seat in range(players):
            won = table.out[seat] > 0
            table.reward[seat] = 1.0 if won else -1.0 / (players - 1)
            table.score[seat] += 1 if won else 0
    elif options.scoring == values.CARDS_LEFT:
        _pay_cards(table, options)
    else:
        _pay_losses(table, options)


@compiled
def _pay_losses(table: Table, options: Options) -> None:
    """Let the fullest hands lose (B7), or the seats left, which share one loss (C13, G14)."""
    players = int(options.players)
    full = options.scoring == values.MOST_CARDS
    fullest, losers = 0, 0
    for seat in range(players):
        fullest = max(fullest, int(table.hand_size[seat]))
    for seat in range(players):
        loses = table.out[seat] == 0 and (not full or table.hand_size[seat] == fullest)
        table.loser[seat] = loses
        losers += 1 if loses else 0
    loss = 1.0 if full else 1.0 / losers
    for seat in range(players):
        loses = table.loser[seat] == 1
        table.reward[seat] = -loss if loses else loss * losers / (players - losers)
        table.score[seat] += 1 if loses else 0


@compiled
def _pay_cards(table: Table, options: Options) -> None:
    """Let each seat pay the first out for the cards it holds, as a share of those dealt (G14)."""
    held, first = 0, 0
    for seat in range(int(options.players)):
        cards = int(table.hand_size[seat])
        held += cards
        table.score[seat] += cards
        table.reward[seat] = -cards / int(options.dealt)
        if table.out[seat] == 1:
            first = seat
    table.reward[first] = held / int(options.dealt)
