"""What is to be seen of a table: nothing hidden, nothing private, and every step of a record."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from positions import position
from random_positions import Position, family_positions, positions
from test_hidden_cards import leaks

from cheat_env import dealing
from cheat_env.cards import format_cards
from cheat_env.records import RecordError, Replay
from cheat_env.scenes import scene, scenes

#: The claimant of a lie takes up the fourth eight; the others go on without knowing.
QUAD = position(["9 10", "8 8 8 J Q", "K A"], 1, None, [(2, "8")], "russian")
MOVES = ["1 plays J as 9", "2 challenges", "1 keeps", "2 plays K as K"]


def shown(here: Position, seat: int) -> Any:
    """Return the scene that a seat sees."""
    return scene(here.table, here.options, here.deck, seat)


def test_hidden_cards_change_no_scene() -> None:
    """K1: exchanging cards that a seat can't see changes nothing of its scene."""
    found, tried = leaks(shown, (*positions()[::4], *family_positions()[::4]), 2)
    assert found == Counter()
    assert tried.total() > 200


def test_open_hands_show_all() -> None:
    """Without a seat every hand, the group and the pile lie open: all that the deal holds."""
    for here in positions()[::7]:
        table = here.table
        seen = scene(table, here.options, here.deck)
        cards = [card for place in seen.places for card in str(place.cards).split()]
        for row in seen.rows:
            claimed = row.text.endswith(f"claimed by seat {table['claimant']}")
            if claimed or row.text.startswith("pile:"):
                cards += row.cards.split()
        assert len(cards) == int(table["hand_size"].sum()) + int(table["pile_size"])


def test_a_quad_that_is_kept_makes_no_scene_for_the_others() -> None:
    """C10, K1: whether the taker was asked for a quad, the other seats can't tell."""
    seen = list(scenes(Replay(QUAD | {"moves": MOVES}), 0))
    open_hands = list(scenes(Replay(QUAD | {"moves": MOVES})))
    assert len(open_hands) == len(seen) + 1
    assert [words for one in seen for words in one.words] == [
        "seat 1 lays 1 as 9",
        "seat 2 challenges",
        "seat 1 claimed 1 x 9: lie, challenged by seat 2 [J]; seat 1 takes 2 cards",
        "seat 2 lays 1 as K",
    ]
    assert "quads" not in " ".join(one.text for one in seen)


def test_the_mover_sees_its_own_cards() -> None:
    """A move is told in the record's words to who made it, and to everybody with open hands."""
    for seat in (None, 1):
        assert list(scenes(Replay(QUAD | {"moves": MOVES[:1]}), seat))[1].words == (
            f"seat {MOVES[0]}",
        )


def test_the_next_deal_is_a_scene() -> None:
    """In a match of several deals the new cards are seen before the first move."""
    record = position(["7", "K 3", "9"], 0, "7", variant="english", deals=2)
    record["moves"] = ["0 plays 7", "1 accepts", "2 accepts"]
    replay = Replay(record)
    first = list(scenes(replay))
    assert first[-1].asked == "the deal is over"
    dealing.next_deal(replay.table, replay.options)
    seat = int(replay.table["turn"])
    card = format_cards(replay.table["hand"][seat], replay.deck).split()[0]
    record["moves"] += [f"{seat} plays {card}"]
    for view in (None, *range(3)):
        *before, dealt, played = scenes(Replay(record), view)
        assert len(before) == len(first)
        assert (dealt.words, dealt.moves) == (("the cards are dealt anew",), 3)
        assert (sum(place.size for place in dealt.places), played.moves) == (52, 4)


@pytest.mark.parametrize(
    ("moves", "seat", "message"),
    [
        (["2 challenges"], None, r"move 1 \(2 challenges\): expected a legal move"),
        (["1 laughs"], None, "move 1: move '1 laughs': say"),
        ([], 3, "seat 3: must be from 0 to 2"),
        ([], -1, "seat -1: must be from 0 to 2"),
    ],
)
def test_what_cannot_be_shown_is_refused(moves: list[str], seat: int | None, message: str) -> None:
    """A move or a seat that there is not is named."""
    with pytest.raises(RecordError, match=message):
        list(scenes(Replay(QUAD | {"moves": moves}), seat))
