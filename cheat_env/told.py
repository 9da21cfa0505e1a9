"""What each seat sees of a match, as it happens, in words.

Put one after another, the words tell all that a seat has seen and done, and nothing else: its own
cards and picks, what everybody says and lays, and the cards that are turned up or shown. Seats and
ranks have their own names here; nothing is relative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env.cards import Deck, format_cards
from cheat_env.legality import base_rank
from cheat_env.state import CLAIM_OUTCOME, LIE, TRUE, Table


def of_deal(table: Table, players: int, deck: Deck) -> list[str]:
    """Return what each seat sees of a deal that has just begun."""
    sizes = " ".join(map(str, table["hand_size"][:players]))
    public = f"deal {table['deal'] + 1}, dealer {table['dealer']}, hands {sizes}"
    public += _quads(table["quads"], deck)
    return [f"{public}, own {format_cards(table['hand'][seat], deck)}" for seat in range(players)]


def of_action(before: Table, action: int, after: Table, players: int, deck: Deck) -> list[str]:
    """Return what each seat sees of an action; no words where it sees nothing."""
    actor = int(before["turn"])
    word = act.words(action, deck, base_rank(before))
    if action == act.LAY:
        word += f" {before['picked_size']} as {deck[before['rank']]}"
    if action in (act.LAY, act.CHALLENGE, act.BELIEVE) and _turned_up(after):
        word += f", turned up {format_cards(after['turned_up'], deck)}"
    word += _quads(after["quads"] - before["quads"], deck)
    private = action < act.LAY or action == act.KEEP  # that a seat holds a quad is not public (K1)
    changed = (after["hand"] != before["hand"]).any(axis=1)
    told = []
    for seat in range(players):
        heard = f"{actor}: {word}" if seat == actor or not private else ""
        own = f", own {format_cards(after['hand'][seat], deck)}" if changed[seat] else ""
        told.append(heard + own)
    return told


def _turned_up(table: Table) -> bool:
    """Say whether the last group was turned up."""
    return table["recent"][0, CLAIM_OUTCOME] in (TRUE, LIE)


def _quads(shown: NDArray[np.int8], deck: Deck) -> str:
    """Return the quads that are shown, as words."""
    return "".join(f", quad of {deck[rank]}" for rank in np.flatnonzero(shown))
