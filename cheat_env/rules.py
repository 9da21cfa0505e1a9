"""The rules as data: one frozen, validated record of options, and the published games as files.

`Rules` is what a game is; `Rules.options(num_players)` is the same for one number of players, as a
record of numbers for compiled code.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from cheat_env import checks
from cheat_env.by_players import as_mapping, by_players, value_for
from cheat_env.cards import Deck, parse_deck
from cheat_env.checks import RulesError
from cheat_env.consistency import check_deal, refuse_contradictions
from cheat_env.options import MAX_CARDS, MAX_SEATS, Options, as_record
from cheat_env.values import ALIASES, VALUES

#: Options whose name in files is a word that Python keeps for itself.
SPELLINGS = {"pass": "passing"}
#: Values of `deal` beside a number of cards.
ALL, EQUAL = "all", "equal"


class Until(NamedTuple):
    """A match goes on until some seat has lost so many deals."""

    losses: int


class RulesWarning(UserWarning):
    """Rules that can be played, but have a property that surprises."""


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Rules:
    """A game of the family: every option, its meaning and the published games that use it.

    Raises `RulesError` where the options can't be played together.
    """

    players: tuple[int, int] = _option((3, 6), "fewest and most players")
    deck: Any = _option(
        "A-K", "the ranks, a stretch of the cycle A 2 ... K A or a list; may depend on the players"
    )
    copies: int = _option(4, "cards of each rank in one deck")
    decks: Any = _option(1, "decks mixed; may depend on the players")
    jokers: int = _option(
        0, "jokers in one deck; a joker in a group that is turned up counts as the claimed rank"
    )
    joker_spent: str = _option(
        "pile",
        "where the jokers of a true group go that was challenged: to the challenger with the pile,"
        " or out of the game (removed)",
    )
    removed_cards: int = _option(0, "cards laid aside unseen before the deal")
    deal: Any = _option(
        ALL, "cards dealt: all, equal hands, or so many each; the rest lies aside unseen"
    )
    starter: str = _option("dealer_left", "who leads a deal; the dealer's left gets cards first")
    cards_per_play: tuple[int, int] = _option((1, 4), "fewest and most cards of a play")
    opening: str = _option("A", "the rank that a deal opens with, or free")
    rank: str = _option(
        "up",
        "what the next claim must name: the next rank up or down, the leader's until the pile is"
        " gone (fixed), a neighbour of the last claim (adjacent), that or the same, or any (free)",
    )
    passing: str = _option(
        "none",
        "whether a seat may pass where a pile lies: no, yes, or with no further turn until the pile"
        " is gone (out_of_round); spelled `pass` in files",
    )
    all_pass: str = _option(
        "nothing",
        "what happens when all others have passed since the last claim: its claimant has the turn,"
        " or the pile leaves the game unseen and the claimant leads freely (burn_pile)",
    )
    challengers: str = _option(
        "anyone", "who may challenge: anyone, asked clockwise, or only the next seat, on its turn"
    )
    safe_turns: int = _option(
        0, "rounds of turns at the start of a deal in which no group can be challenged"
    )
    believe: str = _option(
        "none",
        "whether the seat to act may turn the last group up by believing it (reveal): if true the"
        " pile leaves the game, else the believer takes it",
    )
    lie_leader: str = _option(
        "claimant_left",
        "who leads after a lie was found (the next active seat where that seat is out)",
    )
    truth_leader: str = _option("claimant_left", "who leads after a true play was challenged")
    rank_after_challenge: str = _option(
        "continue",
        "the leader's rank after a challenge: as if there had been none (continue), of its choice"
        " (free), the challenged one again (same), or the opening rank (restart)",
    )
    quads: str = _option(
        "none",
        "whether the seat that took the pile may (optional) or must (mandatory) discard complete"
        " sets of a rank; also all seats once the cards are dealt, or no deal holds any (redeal)",
    )
    dead_ranks: str = _option(
        "allowed", "whether a rank may be announced whose complete set has left the game"
    )
    last_play: str = _option(
        "contestable",
        "a group that empties a hand can be challenged like any other, or by nobody (immune), or is"
        " turned up at once (honest_only)",
    )
    end: str = _option(
        "first_out", "the deal ends when the first seat is out, or when one or two seats are left"
    )
    scoring: str = _option(
        "winner",
        "who wins or loses a deal: the first out wins (winner); the fullest hands lose"
        " (most_cards); the seats left with cards lose (last); all pay their cards (cards_left)",
    )
    deals: int = _option(1, "deals in a match")
    until: Any = _option(None, "{losses: k}: deals go on until some seat has lost k of them")
    max_plays: int = _option(1000, "plays and passes after which a deal is truncated")

    name: str = field(default="", metadata={"about": True})
    title: str = field(default="", metadata={"about": True})
    summary: str = field(default="", metadata={"about": True})
    sources: tuple[str, ...] = field(default=(), metadata={"about": True})

    def __post_init__(self) -> None:
        """Bring the values into their standard form and refuse what can't be played."""
        standard: dict[str, Any] = {
            "players": checks.pair("players", self.players, 2, MAX_SEATS),
            "cards_per_play": checks.pair("cards_per_play", self.cards_per_play, 1, MAX_CARDS),
            "deck": by_players("deck", self.deck),
            "decks": by_players("decks", self.decks),
            "opening": str(self.opening),
            "copies": checks.whole("copies", self.copies, 1, MAX_CARDS),
            "jokers": checks.whole("jokers", self.jokers, 0, MAX_CARDS),
            "removed_cards": checks.whole("removed_cards", self.removed_cards, 0, MAX_CARDS),
            "deal": _dealt_each(self.deal),
            "safe_turns": checks.whole("safe_turns", self.safe_turns, 0, 10**6),
            "deals": checks.whole("deals", self.deals, 1, 10**6),
            "until": _until(self.until),
            "max_plays": checks.whole("max_plays", self.max_plays, 1, 10**9),
            "sources": checks.texts("sources", self.sources),
        }
        for name, values in VALUES.items():
            aliases = ALIASES.get(name, {})
            standard[name] = checks.one_of(spelled(name), getattr(self, name), values, aliases)
        for name, value in standard.items():
            object.__setattr__(self, name, value)
        checks.texts("name, title, summary", [self.name, self.title, self.summary])
        refuse_contradictions(self)
        for num_players in range(self.players[0], self.players[1] + 1):
            check_deal(self, num_players)

    @property
    def default_players(self) -> int:
        """The number of players where none is given: four, or the nearest that the game allows."""
        return min(max(4, self.players[0]), self.players[1])

    def deck_for(self, num_players: int) -> Deck:
        """Return the ranks in play, in the order of the cycle."""
        return parse_deck(str(value_for(self.deck, "deck", num_players)))

    def decks_for(self, num_players: int) -> int:
        """Return how many decks are mixed."""
        return int(value_for(self.decks, "decks", num_players))

    def copies_for(self, num_players: int) -> int:
        """Return how many cards of each rank there are in all."""
        return self.copies * self.decks_for(num_players)

    def cards_for(self, num_players: int) -> int:
        """Return how many cards there are in all, jokers included."""
        ranks, decks = len(self.deck_for(num_players)), self.decks_for(num_players)
        return (ranks * self.copies + self.jokers) * decks

    def dealt_for(self, num_players: int) -> int:
        """Return how many cards are dealt."""
        dealt = self.cards_for(num_players) - self.removed_cards
        if self.deal == ALL:
            return dealt
        return (dealt // num_players if self.deal == EQUAL else int(self.deal)) * num_players

    def options(self, num_players: int) -> Options:
        """Return the rules for a number of players as a record of numbers for compiled code.

        Raises `RulesError` where the game is not for so many; warns (`RulesWarning`) where the
        rising or falling rank of house rules never asks every seat for every rank.
        """
        low, high = self.players
        checks.whole("num_players", num_players, low, high)
        ranks = len(self.deck_for(num_players))
        shared = math.gcd(ranks, num_players)
        if self.rank in ("up", "down") and shared > 1 and not _published(self):
            warnings.warn(
                f"{ranks} ranks and {num_players} players share a factor: without challenges a"
                f" seat is only ever asked for {ranks // shared} of the ranks",
                RulesWarning,
                stacklevel=2,
            )
        return as_record(self, num_players)

    def as_options(self) -> dict[str, Any]:
        """Return every option in the form that YAML files use."""
        given = {option.name: getattr(self, option.name) for option in OPTION_FIELDS}
        for name in ("deck", "decks"):
            given[name] = as_mapping(given[name])
        for name in ("players", "cards_per_play"):
            given[name] = list(given[name])
        given["until"] = None if self.until is None else self.until._asdict()
        return {spelled(name): value for name, value in given.items()}

    def with_options(self, options: Mapping[Any, Any]) -> Rules:
        """Return the rules with some options changed; raises `RulesError`."""
        own = {option.name: getattr(self, option.name) for option in fields(self)}
        return Rules(**(own | _known(options)))

    @staticmethod
    def load(variant: str | Mapping[str, Any] | Rules, **options: Any) -> Rules:
        """Return a published game by name, or house rules from a mapping with `base` and options.

        Raises `RulesError`.
        """
        if isinstance(variant, Rules):
            return variant.with_options(options)
        if isinstance(variant, str):
            return _load_file(variant).with_options(options)
        if not isinstance(variant, Mapping) or "base" not in variant:
            raise RulesError(
                f"variant {variant!r}: give a name ({', '.join(variants())})"
                " or a mapping of options with `base: NAME`"
            )
        house = {key: value for key, value in variant.items() if key != "base"}
        base = Rules.load(variant["base"])
        return base.with_options({"name": f"{base.name} (house rules)"} | house | options)


#: The options of `Rules`, without what only describes a game.
OPTION_FIELDS = tuple(option for option in fields(Rules) if "about" not in option.metadata)


def variants() -> list[str]:
    """Return the names of the published games that ship with the package."""
    found = (path.name for path in (files("cheat_env") / "variants").iterdir())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def _load_file(name: str) -> Rules:
    if name not in variants():
        raise RulesError(f"variant {name!r}: unknown; the games are {', '.join(variants())}")
    text = (files("cheat_env") / "variants" / f"{name}.yaml").read_text("utf-8")
    options = yaml.safe_load(text) | {"name": name}
    return Rules.load(options) if "base" in options else Rules(**_known(options))


def _published(rules: Rules) -> bool:
    """Say whether these are the rules of a published game, but for its length."""
    if rules.name not in variants():
        return False
    published = _load_file(rules.name)
    length = {name: getattr(published, name) for name in ("deals", "until", "max_plays")}
    return replace(rules, **length) == published


def spelled(name: str) -> str:
    """Return an option's name as files spell it."""
    return next((spelling for spelling, own in SPELLINGS.items() if own == name), name)


def _known(options: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the options by the names of `Rules`, after refusing names that are none."""
    names = [option.name for option in fields(Rules)]
    shown = [spelled(name) for name in names]
    for name in options:
        if name not in (*names, *shown):
            close = get_close_matches(str(name), shown, 1)
            hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join(shown)}"
            raise RulesError(f"rule option {name!r}: unknown; {hint}")
    known = {SPELLINGS.get(name, name): value for name, value in options.items()}
    if len(known) < len(options):
        raise RulesError(f"rule options {', '.join(SPELLINGS)}: given twice, under both spellings")
    return known


def _dealt_each(value: Any) -> Any:
    """Return the option `deal` after refusing what is none."""
    if value in (ALL, EQUAL):
        return value
    if isinstance(value, str):
        raise RulesError(f"deal {value!r}: must be {ALL}, {EQUAL} or a whole number of cards each")
    return checks.whole("deal", value, 1, MAX_CARDS)


def _until(value: Any) -> Until | None:
    """Return the option `until` in its standard form."""
    if value is None or isinstance(value, Until):
        return value
    if not isinstance(value, Mapping) or set(value) != {"losses"}:
        raise RulesError(f"until {value!r}: give {{losses: 2}} or nothing")
    return Until(checks.whole("until: losses", value["losses"], 1, 10**6))
