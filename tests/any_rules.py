"""Rules drawn over every option of the family, such that they can be played together."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from cheat_env import Rules, RulesError, values
from cheat_env.cards import parse_deck
from cheat_env.consistency import SCORINGS

DECKS = ("A-K", "6-A", "7-A", "A 2 3 4 5 6 7 J Q K", "A-4", "Q 3 9")
#: Options of which any value goes with any other option.
FREE_CHOICES = ("starter", "challengers", "lie_leader", "truth_leader")


@st.composite
def games(draw: st.DrawFn) -> tuple[Rules, int]:
    """Draw rules that can be played, and a number of players."""
    players = draw(st.integers(2, 8))
    options: dict[str, Any] = {"players": [players, players]}
    options |= {name: draw(st.sampled_from(values.VALUES[name])) for name in FREE_CHOICES}
    options |= {"safe_turns": draw(st.sampled_from([0, 0, 0, 1, 2]))}
    options |= {"max_plays": draw(st.sampled_from([100, 40, 5, 1]))}
    _draw_ranks(draw, options)
    _draw_cards(draw, options, players)
    _draw_answers(draw, options)
    _draw_end(draw, options, players)
    try:
        return Rules.load("english", **options), players
    except RulesError as error:  # nothing else may be refused
        assume("complete sets on average" not in str(error))
        raise


def _draw_ranks(draw: st.DrawFn, options: dict[str, Any]) -> None:
    """Draw how claims follow each other; a rank that may die is one that nobody is bound to."""
    banned = draw(st.sampled_from([False, False, False, True]))
    ranks = ("fixed", "free") if banned else values.PROGRESSIONS
    rank = draw(st.sampled_from(ranks))
    opening = "free" if banned else draw(st.sampled_from(["free", "first"]))
    after = [name for name in values.AFTER_CHALLENGE if (name, rank) != ("continue", "fixed")]
    if banned:
        after = [name for name in after if name in ("continue", "free")]
    elif opening == "free":
        after.remove("restart")
    options |= {"rank": rank, "opening": opening, "dead_ranks": "banned" if banned else "allowed"}
    options["rank_after_challenge"] = draw(st.sampled_from(after))


def _draw_cards(draw: st.DrawFn, options: dict[str, Any], players: int) -> None:
    """Draw the pack, the deal and what leaves the game."""
    deck = draw(st.sampled_from(DECKS))
    if options["opening"] == "first":
        options["opening"] = deck[0]
    banned = options["dead_ranks"] == "banned"
    quads = draw(st.sampled_from(values.QUAD_RULES[banned:]))
    decks = draw(st.sampled_from([1, 1, 2]))
    fewest_copies = 1 if quads == "none" or decks == 2 else 2
    jokers = 0 if banned else draw(st.sampled_from([0, 0, 1, 3]))
    fewest = draw(st.integers(1, 3))
    options |= {
        "deck": deck,
        "copies": draw(st.sampled_from([4, 4, 4, 3, 2, fewest_copies])),
        "decks": decks,
        "jokers": jokers,
        "joker_spent": draw(st.sampled_from(values.JOKERS_SPENT)) if jokers else "pile",
        "removed_cards": draw(st.integers(0, 2)),
        "deal": draw(st.sampled_from(["all", "all", "equal", "each"])),
        "quads": quads,
        "cards_per_play": [fewest, fewest + draw(st.integers(0, 4))],
    }
    whole = (len(parse_deck(deck)) * options["copies"] + jokers) * decks
    if whole - options["removed_cards"] < players:
        options |= {"deck": "A-K", "copies": 4}
        whole = (52 + jokers) * decks
    if options["deal"] == "each":
        most = (whole - options["removed_cards"]) // players
        options["deal"] = draw(st.integers(1, min(most, 9)))


def _draw_answers(draw: st.DrawFn, options: dict[str, Any]) -> None:
    """Draw what a seat may do instead of laying cards."""
    passing = draw(st.sampled_from(values.PASSES))
    burns = {"none": ["nothing"], "allowed": values.ALL_PASS, "out_of_round": ["burn_pile"]}
    options |= {"pass": passing, "all_pass": draw(st.sampled_from(burns[passing]))}
    asks = options["challengers"] == "next"
    options["believe"] = draw(st.sampled_from(values.BELIEFS)) if asks else "none"


def _draw_end(draw: st.DrawFn, options: dict[str, Any], players: int) -> None:
    """Draw how a deal and a match end."""
    end = draw(st.sampled_from(values.ENDS if players > 2 else values.ENDS[:2]))
    scoring = draw(st.sampled_from(SCORINGS[end]))
    lasts = [name for name in values.LAST_PLAYS if name != "honest_only" or end == "first_out"]
    options |= {"end": end, "scoring": scoring, "last_play": draw(st.sampled_from(lasts))}
    losses = draw(st.integers(0, 2)) if scoring in ("last", "most_cards") else 0
    options["until"] = {"losses": losses} if losses else None
    options["deals"] = 1 if losses else draw(st.integers(1, 3))
