"""Decisions in words: what a seat reads, and what its answers mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Lottery, random_match
from positions import hand, place, position, table_of

from cheat_env import Rules, Tables, text, variants
from cheat_env import actions as act
from cheat_env.observations import TABLE
from cheat_env.state import OVER

HANDS = ["7 7 3 K Jo", "4 9 J", "2 5 6"]
#: Games that differ in how ranks follow, who answers, and what else may be done.
GAMES = ("english", "russian", "berishi", "mogeln", "veryu", "cheat_neighbours", "desconfio")


class Asked:
    """A seat that is asked in a position, with the deck of its game."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.env = place(start, observation="memory")
        self.deck = self.env.unwrapped.tables.deck

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the observation and the mask."""
        found = self.env.observe(self.env.agent_selection)
        return found["observation"], found["action_mask"]

    def parse(self, answer: str) -> list[int]:
        """Return the actions of an answer."""
        return text.parse(answer, *self.seen(), self.deck)

    def play(self, *answers: str) -> None:
        """Play answers."""
        for answer in answers:
            for action in self.parse(answer):
                self.env.step(action)

    def prompt(self) -> str:
        """Return what is asked."""
        return text.prompt(*self.seen(), self.deck)


def english(**options: Any) -> Asked:
    """Return seat 0 where it must claim sevens."""
    return Asked(position(["7 7 3 K", *HANDS[1:]], 0, "7", **options))


def russian() -> Asked:
    """Return seat 0 where it leads with any rank."""
    return Asked(position(["7 7 9 K", "10 9 J", "Q A 6"], 0, None, variant="russian"))


@pytest.mark.parametrize(
    "answer", ["play 7 K", "7 K", "k 7", "Plays K, 7.", "`play 7 K as 7`", "lay 7 K as 7"]
)
def test_a_play_is_a_whole_turn(answer: str) -> None:
    """Cards are picked in the one legal order and laid, however the answer spells them."""
    asked = english()
    asked.play(answer)
    assert hand(asked.env, 0) == "3 7"
    assert table_of(asked.env)["claim"] == asked.deck.index("7")


def test_a_free_rank_is_announced_first() -> None:
    """C5: where the seat chooses the rank, `as` names it, and picks count from it."""
    asked = russian()
    assert asked.parse("9 7 as K")[0] == act.ANNOUNCE_RANK + asked.deck.index("K")
    asked.play("9 7 as K")
    assert hand(asked.env, 0) == "7 K"
    other = russian()
    other.play("announce K", "play 9 7")
    assert table_of(other.env).tobytes() == table_of(asked.env).tobytes()


def test_answers_in_one_word() -> None:
    """The words of records, with or without the s of the third person."""
    asked = english()
    asked.play("play 3", "accept", "challenges")
    assert hand(asked.env, 0) == "3 7 7 K"
    quads = Asked(position(["9 9 9 7 K", "10 J", "Q A"], 0, "8", [(1, "9")], "russian"))
    quads.play("play 7", "challenge")
    assert quads.parse("discard 9") == [act.DISCARD + quads.deck.index("9")]
    assert quads.parse("keep") == [act.KEEP]


def test_jokers_are_picked_last() -> None:
    """G5: whatever the order of the answer."""
    asked = Asked(position(HANDS, 0, "7", jokers=2))
    assert asked.parse("joker 7") == [act.PICK, act.PICK_JOKER, act.LAY]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("play 4", "you hold no 4"),
        ("7 7 7", "you hold only 2 7"),
        ("play 7 7 3 K", "4 cards are too many"),
        ("play 7 as 8", "the claim must be 7"),
        ("play 1", "rank '1' is not in the deck"),
        ("play", "is no move"),
        ("challenge", "challenge is not allowed now"),
        ("discard 7", "discard 7 is not allowed now"),
        ("99", "there is no move of that number"),
        ("9" * 5000, "there is no move of that number"),
        ("I would rather\n\nnot say", "'I would rather not say': is no move"),
        ("", "'': is no move"),
    ],
)
def test_a_refusal_says_what_was_said_and_what_is_allowed(answer: str, why: str) -> None:
    """One line, and nothing is played."""
    asked = english(cards_per_play=[1, 3])
    with pytest.raises(text.AnswerError) as caught:
        asked.parse(answer)
    said = str(caught.value)
    assert why in said and said.endswith("allowed: play 1 to 3 cards of yours as 7")
    assert "\n" not in said and len(said) < 250


def test_refusals_of_a_free_rank() -> None:
    """The rank must be named, and where it is not one's own turn to play no cards are laid."""
    asked = russian()
    with pytest.raises(text.AnswerError, match=r"say `as RANK`.*one of 6 7 8"):
        asked.parse("7 7")
    asked.play("7 as Q")
    with pytest.raises(text.AnswerError, match="the claim must be Q"):
        asked.parse("10 as J")
    window = english()
    window.play("play 7")
    with pytest.raises(text.AnswerError, match=r"no play is due; allowed: accept, challenge$"):
        window.parse("play 4")


def test_a_turn_goes_on_after_picks() -> None:
    """Where cards were picked already the answer names the whole group."""
    asked = english()
    asked.env.step(0)
    assert asked.parse("7 K") == [act.PICK + 6, act.LAY]
    assert asked.parse("play 7") == [act.LAY]
    with pytest.raises(text.AnswerError, match="you have already picked 7"):
        asked.parse("K")
    assert "Of these you have picked: 7." in asked.prompt()


def test_the_paragraph_tells_what_is_seen() -> None:
    """Hand, pile, last claim, hands, memory and what is asked; no other seat's cards."""
    asked = english()
    asked.play("3 K")
    told = asked.prompt()
    for words in (
        "You hold: 4 9 J.",
        "+1 3, +2 2",
        "Cards in the pile: 2. The last group, 2 x 7, +2 laid.",
        "asked to accept or challenge the last claim; the rank is 7",
        "1. accept\n2. challenge",
    ):
        assert words in told
    short, mask = asked.seen()
    assert "2 x 7, +2 laid" in text.prompt(short[: TABLE.size], mask, asked.deck)


@pytest.mark.parametrize("variant", GAMES)
def test_every_listed_move_is_legal(variant: str) -> None:
    """Numbers and words mean the same, every move can be played, none but plays are left out."""
    lottery, scratch = Lottery(1), Tables(variant, 3, 1, auto_reset=False)
    for number, (tables, _) in enumerate(random_match(variant, 3, 4, max_plays=40)):
        if number > 60:
            break
        seen, mask, deck = tables.observation[0], tables.action_mask[0], tables.deck
        told = text.prompt(seen, mask, deck).splitlines()
        assert all(told) and "none" not in told
        moves = text.moves(seen, mask, deck)
        firsts = set()
        for place_, move in enumerate(moves, 1):
            actions = text.parse(str(place_), seen, mask, deck)
            assert actions == text.parse(move, seen, mask, deck)
            firsts.add(actions[0])
        assert firsts >= set(np.flatnonzero(mask[act.ACCEPT : act.ANNOUNCE_RANK]) + act.ACCEPT)
        assert firsts >= set(np.flatnonzero(mask[act.DISCARD :]) + act.DISCARD)
        scratch.take_over(tables.state)
        move = moves[lottery.choose(np.ones(len(moves)))]
        for action in text.parse(move, seen, mask, deck):
            assert scratch.state["phase"][0] != OVER
            scratch.step(np.array([action]))  # refuses what is illegal


def test_the_deck_is_that_of_the_published_game() -> None:
    """An observation shows its rules; of house rules with thirteen ranks the deck must be told."""
    for name in variants():
        low, high = Rules.load(name).players
        for players in (low, high):
            tables = Tables(name, players)
            assert text.deck_of(tables.observation[0]) == tables.deck
    with pytest.raises(ValueError, match="name the deck"):
        text.deck_of(Tables("english", 3, jokers=1).observation[0])
