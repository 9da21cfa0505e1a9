"""What `replay --show` says of a move: what was turned up, moved or burnt."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import random_match
from positions import position

from cheat_env import actions as act
from cheat_env import engine
from cheat_env.records import Replay
from cheat_env.render import event


def told(document: dict[str, Any], *moves: str) -> str | None:
    """Return the event of the last of some moves from a position."""
    replay = Replay(document)
    for move in moves[:-1]:
        assert replay.move(move) is None
    before = replay.state.copy()
    assert replay.move(moves[-1]) is None
    return event(before, replay.state, replay.deck)


def challenge(cards: str) -> str | None:
    """Return the event of the challenge of a play of two cards as fives."""
    start = position(["5 5 9", "4 9 J", "2 5 6"], 0, "5", [(1, "Q 2"), (2, "3 A")])
    return told(start, f"0 plays {cards}", "1 accepts", "2 challenges")


def test_event_of_a_lie() -> None:
    """S11: the event tells claimant, claim, count, challenger, lie, the pile and who takes it."""
    assert challenge("5 9") == (
        "seat 0 claimed 2 x 5: lie, challenged by seat 2 [5 9]; seat 0 takes 6 cards"
    )


def test_event_of_a_true_play() -> None:
    """S11: a true play names the challenger as the taker."""
    assert challenge("5 5") == (
        "seat 0 claimed 2 x 5: true, challenged by seat 2 [5 5]; seat 2 takes 6 cards"
    )


@pytest.mark.parametrize(("variant", "players"), [("english", 4), ("russian", 4)])
def test_events_agree_with_the_cards(variant: str, players: int) -> None:
    """S11: over a random match there is an event exactly at challenges, and it tells the truth."""
    challenges = 0
    for tables, action in random_match(variant, players, 3):
        before, after = tables.state.copy(), tables.state.copy()
        engine.apply(after[0], tables.options, action)
        text = event(before, after, tables.deck)
        assert (text is not None) == (action == act.CHALLENGE)
        if text is None:
            continue
        challenges += 1
        table, challenger = before[0], int(tables.seat[0])
        lie = table["group"][table["claim"]] != table["group_size"]
        taker = int(table["claimant"]) if lie else challenger
        rank = tables.deck[table["claim"]]
        assert text.startswith(
            f"seat {table['claimant']} claimed {table['group_size']} x {rank}: "
            f"{'lie' if lie else 'true'}, challenged by seat {challenger} ["
        )
        assert text.endswith(f"]; seat {taker} takes {table['pile_size']} cards")
        gained = after[0]["hand_size"][taker] - before[0]["hand_size"][taker]
        assert gained == table["pile_size"]
    assert challenges > 10


# --- The other games ------------------------------------------------------------------------------

VERYU = position(["10 10 4", "6 9", "J 3 7", "Q 2"], 0, "10", [(2, "K")], "veryu")
PASSES = position(["Q 3", "8 5", "6 9 K"], 0, "Q", [(2, "K A")], "bluff_honest")
SPENT = {"base": "english", "jokers": 2, "joker_spent": "removed"}


def test_events_of_a_belief() -> None:
    """G10: a belief tells who believed, what was seen, and where the pile went."""
    assert told(VERYU, "0 plays 10", "1 believes") == (
        "seat 0 claimed 1 x 10: true, believed by seat 1 [10]; the pile leaves the game"
    )
    assert told(VERYU, "0 plays 10 4", "1 believes") == (
        "seat 0 claimed 2 x 10: lie, believed by seat 1 [4 10]; seat 1 takes 3 cards"
    )


def test_event_of_a_burnt_pile() -> None:
    """G8: a pile that burns is told by its size alone."""
    moves = ("0 plays Q", "1 passes", "2 passes")
    assert told(PASSES, *moves[:2]) is None
    assert told(PASSES, *moves) == "3 cards leave the game unseen"


def test_events_of_a_last_play_that_is_turned_up() -> None:
    """G11: a last play that the rules turn up names no challenger."""
    assert told(PASSES, "0 plays Q 3") == (
        "seat 0 claimed 2 x Q: lie, turned up [3 Q]; seat 0 takes 4 cards"
    )
    start = position(["Q Q", "8 5", "6 9 K"], 0, "Q", [(2, "K A")], "bluff_honest")
    assert told(start, "0 plays Q Q") == "seat 0 claimed 2 x Q: true, turned up [Q Q]"


def test_event_of_a_spent_joker() -> None:
    """G4: the challenger takes what is left when the jokers of a true group are gone."""
    start = position(["7 Jo 4", "5 9", "K"], 0, "7", [(2, "Jo 3")], SPENT)
    assert told(start, "0 plays 7 Jo", "1 challenges") == (
        "seat 0 claimed 2 x 7: true, challenged by seat 1 [7 Jo]; seat 1 takes 3 cards"
    )
    lie = told(start, "0 plays 4 Jo", "1 challenges")
    assert lie.endswith("lie, challenged by seat 1 [4 Jo]; seat 0 takes 4 cards")


def test_no_event_without_one() -> None:
    """Plays and passes that turn nothing up and move no card of the pile have no event."""
    for moves in (["0 plays Q"], ["0 plays Q", "1 plays 8"], ["0 passes"]):
        assert told(PASSES, *moves) is None
