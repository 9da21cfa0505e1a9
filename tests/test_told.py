"""What seats see of a match in words: own cards and picks, and what is said, laid and shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from conftest import random_match
from positions import place, position, say

from cheat_env import Rules, Tables, told
from cheat_env.cards import parse_cards
from cheat_env.dealing import clear, gather, give, open_deal
from cheat_env.observations import MEMORY, encode
from cheat_env.state import State, allocate


def hear(start: dict[str, Any], *moves: str) -> list[list[str]]:
    """Return what each seat sees of the actions of some moves from a position, in turn."""
    game = place(start)
    tables: Tables = game.tables
    heard: list[list[str]] = [[] for _ in range(tables.num_players)]
    play = game.step

    def note(action: int) -> None:
        before = tables.state.copy()
        play(action)
        for seat, words in enumerate(shown(before, action, tables)):
            heard[seat] += [words] if words else []

    game.step = note
    say(game, *moves)
    return heard


def shown(before: State, action: int, tables: Tables) -> list[str]:
    """Return what each seat sees of an action at one table."""
    return told.of_action(before[0], action, tables.state[0], tables.num_players, tables.deck)


def test_picks_are_the_seats_own() -> None:
    """K1: others hear of a play when it is laid, and how many cards it has."""
    own, other, _ = hear(position(["5 5 9", "Q K", "2 3"], 0, "5"), "0 plays 5 9")
    assert own == ["0: pick 5", "0: pick 9", "0: lay 2 as 5, own 5"]
    assert other == ["0: lay 2 as 5"]


def test_a_challenge_shows_the_group_to_all() -> None:
    """A11, A12: all see the cards turned up; who takes the pile sees its new hand."""
    start = position(["5 9", "Q K", "2 3"], 0, "5", [(1, "7")])
    _, challenger, third = hear(start, "0 plays 9", "1 accepts", "2 challenges")
    assert challenger == ["0: lay 1 as 5", "1: accept", "2: challenge, turned up 9"]
    assert third == challenger
    own = hear(start, "0 plays 9", "1 challenges")[0]
    assert own[-1] == "1: challenge, turned up 9, own 5 7 9"


def test_a_free_rank_is_heard_when_it_is_named() -> None:
    """C5: the leader's announcement comes before its picks."""
    start = position(["9 9 K", "10 J", "Q A"], 0, None, variant="russian")
    own, other, _ = hear(start, "0 plays 9 as K")
    assert own == ["0: announce K", "0: pick 9", "0: lay 1 as K, own 9 K"]
    assert other == ["0: announce K", "0: lay 1 as K"]


def test_quads_are_seen_when_they_are_shown() -> None:
    """K1, C10: that a seat keeps a quad nobody hears; a quad that is discarded all see."""
    start = position(["9 9 9 7 K", "10 J", "Q A"], 0, "8", [(1, "9")], "russian")
    own, other, _ = hear(start, "0 plays 7", "1 challenges", "0 keeps")
    assert own[-2:] == ["1: challenge, turned up 7, own 7 9 9 9 9 K", "0: keep"]
    assert other[-1] == "1: challenge, turned up 7"
    own, other, _ = hear(start, "0 plays 7", "1 challenges", "0 discards 9")
    assert own[-1] == "0: discard 9, quad of 9, own 7 K"
    assert other[-1] == "0: discard 9, quad of 9"


def test_quads_that_must_go_are_seen() -> None:
    """G12: what is discarded by rule is shown with what led to it."""
    start = position(["9 9 9 7 K", "10 J", "Q A"], 0, "8", [(1, "9")], "berishi")
    own, other, _ = hear(start, "0 plays 7", "1 challenges")
    assert own[-1] == "1: challenge, turned up 7, quad of 9, own 7 K"
    assert other[-1] == "1: challenge, turned up 7, quad of 9"


def test_a_deal_is_told() -> None:
    """The dealer, the sizes of hands, quads shown at once, and the seat's own cards."""
    rules = Rules.load("berishi")
    options, deck = rules.options(2), rules.deck_for(2)
    table = allocate(1)[0]
    clear(table)
    gather(table, options)
    table["dealer"] = 1
    for seat, cards in enumerate(["6 7", "8 9"]):
        for slot, count in enumerate(parse_cards(cards, deck).tolist()):
            give(table, seat, slot, count)
    open_deal(table, options)
    start = "deal 1, dealer 1, hands 2 2, own"
    assert told.of_deal(table, 2, deck) == [f"{start} 6 7", f"{start} 8 9"]


def looks(tables: Tables) -> list[bytes]:
    """Return what each seat sees by the longer observation."""
    seen = np.zeros((tables.num_players, MEMORY.size), np.int8)
    for seat, row in enumerate(seen):
        encode(tables.state[0], tables.options, seat, row)
    return [row.tobytes() for row in seen]


def test_who_hears_nothing_sees_nothing_new() -> None:
    """Where an action has no words for a seat, its observation is the same after it."""
    silent = 0
    for variant in ("english", "russian", "marquoir", "mogeln", "veryu"):
        last: tuple[State, int, list[bytes]] | None = None
        for tables, action in random_match(variant, 3, 5, max_plays=30):
            if last is not None and tables.state[0]["deal"] == last[0][0]["deal"]:
                before, played, seen = last
                for words, old, new in zip(
                    shown(before, played, tables), seen, looks(tables), strict=True
                ):
                    assert words or old == new
                    silent += not words
            last = tables.state.copy(), action, looks(tables)
    assert silent > 100
