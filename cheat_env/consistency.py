"""What options exclude each other, and which deals can't be made: one clear line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from cheat_env import checks
from cheat_env.by_players import value_for
from cheat_env.cards import CardError, parse_deck
from cheat_env.checks import RulesError
from cheat_env.options import FREE_RANK, MAX_CARDS, expected_quads

#: `cheat_env.rules.Rules`, a room that stands above this one.
Rules: TypeAlias = Any
#: The scorings that go with each end.
SCORINGS = {
    "first_out": ("winner", "most_cards", "cards_left"),
    "last_in": ("last",),
    "two_left": ("last",),
}
#: A deal is made anew while a hand holds a quad: so many quads a deal, on average, are too many.
MOST_EXPECTED_QUADS = 5


def refuse_contradictions(rules: Rules) -> None:
    """Raise `RulesError` for the first two options that can't go together."""
    for found, reason in _contradictions(rules):
        if found:
            raise RulesError(reason)


def _contradictions(rules: Rules) -> Iterator[tuple[bool, str]]:
    """Yield whether options exclude each other, and the line that says so."""
    ends = "; ".join(f"{end} goes with {' or '.join(all_)}" for end, all_ in SCORINGS.items())
    yield (
        rules.scoring not in SCORINGS[rules.end],
        f"end {rules.end} and scoring {rules.scoring} exclude each other: {ends}",
    )
    yield (
        rules.end == "two_left" and rules.players[0] < 3,
        f"players {list(rules.players)} and end two_left exclude each other: give three or more",
    )
    yield (
        rules.rank == "fixed" and rules.rank_after_challenge == "continue",
        "rank fixed and rank_after_challenge continue exclude each other: a fixed rank holds"
        " until the pile is taken; choose free, same or restart",
    )
    yield (
        rules.rank_after_challenge == "restart" and rules.opening == FREE_RANK,
        "opening free and rank_after_challenge restart exclude each other: name the opening rank",
    )
    yield (
        rules.all_pass == "burn_pile" and rules.passing == "none",
        "all_pass burn_pile and pass none exclude each other: choose pass allowed or out_of_round",
    )
    yield (
        rules.all_pass == "nothing" and rules.passing == "out_of_round",
        "all_pass nothing and pass out_of_round exclude each other: nobody would have a turn left;"
        " choose all_pass burn_pile",
    )
    yield (
        rules.believe == "reveal" and rules.challengers != "next",
        f"believe reveal and challengers {rules.challengers} exclude each other: choose next",
    )
    yield (
        rules.last_play == "honest_only" and rules.end != "first_out",
        f"last_play honest_only and end {rules.end} exclude each other: play would go on over cards"
        " that everybody has seen; choose first_out",
    )
    yield (
        rules.joker_spent == "removed" and rules.jokers == 0,
        "joker_spent removed and jokers 0 exclude each other: give jokers",
    )
    yield (
        rules.until is not None
        and (rules.deals > 1 or rules.scoring not in ("last", "most_cards")),
        "until losses goes with deals 1 and a scoring that names losers (last or most_cards):"
        f" found deals {rules.deals}, scoring {rules.scoring}",
    )
    yield from _contradictions_of_dead_ranks(rules)


def _contradictions_of_dead_ranks(rules: Rules) -> Iterator[tuple[bool, str]]:
    """Yield the same for banned ranks: there must always be one that may be announced."""
    banned = rules.dead_ranks == "banned"
    yield (
        banned and rules.quads == "none",
        "dead_ranks banned and quads none exclude each other: no rank ever dies",
    )
    yield (
        banned and (rules.rank not in ("fixed", "free") or rules.opening != FREE_RANK),
        f"dead_ranks banned goes with opening free and rank fixed or free: found opening"
        f" {rules.opening}, rank {rules.rank}",
    )
    yield (
        banned and rules.rank_after_challenge in ("same", "restart"),
        f"dead_ranks banned and rank_after_challenge {rules.rank_after_challenge} exclude each"
        " other: that rank may have died",
    )
    yield (
        banned and rules.jokers > 0,
        "dead_ranks banned and jokers exclude each other: a seat with jokers alone could find no"
        " rank to announce",
    )


def check_deal(rules: Rules, num_players: int) -> None:
    """Refuse a deck that can't be dealt to so many, or a rank that it does not hold."""
    checks.whole("decks", value_for(rules.decks, "decks", num_players), 1, MAX_CARDS)
    text = value_for(rules.deck, "deck", num_players)
    try:
        deck = parse_deck(str(text))
    except CardError as error:
        raise RulesError(str(error)) from None
    if rules.opening not in (FREE_RANK, *deck):
        raise RulesError(
            f"opening {rules.opening!r}: must be free or a rank of the deck ({' '.join(deck)})"
        )
    cards, dealt = rules.cards_for(num_players), rules.dealt_for(num_players)
    if cards > MAX_CARDS:
        raise RulesError(f"{cards} cards for {num_players} players: at most {MAX_CARDS}")
    if not num_players <= dealt <= cards - rules.removed_cards:
        raise RulesError(
            f"{cards} cards less {rules.removed_cards} removed can't be dealt to"
            f" {num_players} players (deal {rules.deal})"
        )
    if rules.quads != "none" and rules.copies_for(num_players) == 1:
        raise RulesError(f"quads {rules.quads} and copies 1 exclude each other: give two or more")
    if rules.quads == "mandatory_redeal":
        expected = expected_quads(rules, num_players)
        if expected > MOST_EXPECTED_QUADS:
            raise RulesError(
                f"quads mandatory_redeal: a deal to {num_players} players holds {expected:.1f}"
                f" complete sets on average, at most {MOST_EXPECTED_QUADS} can be dealt away"
            )
