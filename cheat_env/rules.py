"""The rules as data: one frozen, validated record of options, and the published games as files.

`Rules` is what a game is; `Rules.options(num_players)` is the same for one number of players, as a
record of numbers for compiled code.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import yaml

from cheat_env import checks
from cheat_env.cards import NUM_RANKS, RANKS, CardError, Deck, parse_deck
from cheat_env.checks import RulesError

MAX_SEATS = 8
#: Counts of cards are int8.
MAX_CARDS = 127
FREE_RANK = "free"

# The values of the options, as compiled code knows them: the place in the tuple of names.
UP, DOWN, FIXED, ADJACENT, SAME_OR_ADJACENT, FREE = range(6)
PROGRESSIONS = ("up", "down", "fixed", "adjacent", "same_or_adjacent", "free")
ANYONE, NEXT = range(2)
CHALLENGERS = ("anyone", "next")
CLAIMANT_LEFT, CHALLENGER, CHALLENGER_LEFT, PICKER, CLAIMANT = range(5)
LEADERS = ("claimant_left", "challenger", "challenger_left", "picker", "claimant")
CONTINUE, AFTER_FREE, SAME = range(3)
AFTER_CHALLENGE = ("continue", "free", "same")
NO_QUADS, OPTIONAL, MANDATORY = range(3)
QUAD_RULES = ("none", "optional", "mandatory")
FIRST_OUT, LAST_IN = range(2)
ENDS = ("first_out", "last_in")
WINNER, MOST_CARDS, LAST = range(3)
SCORINGS = ("winner", "most_cards", "last")

#: Other spellings of a value, found in the sources.
ALIASES = {"challengers": {"any": "anyone"}}


class ForPlayers(NamedTuple):
    """The value of an option for `low` to `high` players."""

    low: int
    high: int
    value: Any


ByPlayers: TypeAlias = tuple[ForPlayers, ...]


class RulesWarning(UserWarning):
    """Rules that can be played, but have a property that surprises."""


def _option(default: Any, meaning: str, used_by: str, values: tuple[str, ...] = ()) -> Any:
    return field(
        default=default, metadata={"meaning": meaning, "used_by": used_by, "values": values}
    )


@dataclass(frozen=True)
class Rules:
    """A game of the family: every option, its meaning and the published games that use it.

    Raises `RulesError` where the options can't be played together.
    """

    players: tuple[int, int] = _option((3, 6), "fewest and most players", "all")
    deck: Any = _option(
        "A-K",
        "the ranks, a stretch of the cycle A 2 ... K A or a list; may depend on the players",
        "english, marquoir: A-K; russian: 6-A for 2-3 players, 2-A for 4-6",
    )
    copies: int = _option(4, "cards of each rank in one deck", "all: 4")
    decks: Any = _option(
        1, "decks mixed; may depend on the players", "english, russian: 1; marquoir: 2 for 7-8"
    )
    cards_per_play: tuple[int, int] = _option(
        (1, 4), "fewest and most cards of a play", "english, marquoir: 1-4; russian: 1-3"
    )
    opening: str = _option(
        "A", "the rank that a deal opens with, or free", "english: A; marquoir, russian: free"
    )
    rank: str = _option(
        "up",
        "what the next claim must name: the next rank up or down, the leader's until the pile is"
        " taken (fixed), a neighbour of the last claim (adjacent), that or the same, or any (free)",
        "english, marquoir: up; russian: fixed",
        PROGRESSIONS,
    )
    challengers: str = _option(
        "anyone",
        "who may challenge: anyone, asked clockwise, or only the next seat, on its turn",
        "english, marquoir: anyone; russian: next",
        CHALLENGERS,
    )
    lie_leader: str = _option(
        "claimant_left",
        "who leads after a lie was found (the next active seat where that seat is out)",
        "english, marquoir: claimant_left; russian: challenger",
        LEADERS,
    )
    truth_leader: str = _option(
        "claimant_left",
        "who leads after a true play was challenged",
        "english, marquoir: claimant_left; russian: challenger_left",
        LEADERS,
    )
    rank_after_challenge: str = _option(
        "continue",
        "the leader's rank after a challenge: as if there had been none (continue), of its choice"
        " (free), or the challenged one again (same)",
        "english, marquoir: continue; russian: free",
        AFTER_CHALLENGE,
    )
    quads: str = _option(
        "none",
        "whether the seat that took the pile may (optional) or must (mandatory) discard complete"
        " sets of a rank",
        "english, marquoir: none; russian: optional",
        QUAD_RULES,
    )
    removed_cards: int = _option(
        0, "cards laid aside unseen before the deal", "english, marquoir: 0; russian: 1"
    )
    end: str = _option(
        "first_out",
        "the deal ends when the first seat is out, or when one seat is left",
        "english, marquoir: first_out; russian: last_in",
        ENDS,
    )
    scoring: str = _option(
        "winner",
        "who wins or loses a deal: the first out wins (winner); the fullest hands lose"
        " (most_cards); the last seat with cards loses (last)",
        "english: winner; marquoir: most_cards; russian: last",
        SCORINGS,
    )
    deals: int = _option(1, "deals in a match", "english, russian: 1; marquoir: 5")
    max_plays: int = _option(1000, "plays after which a deal is truncated", "all: 1000")

    name: str = field(default="", metadata={"about": True})
    title: str = field(default="", metadata={"about": True})
    summary: str = field(default="", metadata={"about": True})
    sources: tuple[str, ...] = field(default=(), metadata={"about": True})

    def __post_init__(self) -> None:
        """Bring the values into their standard form and refuse what can't be played."""
        standard: dict[str, Any] = {
            "players": checks.pair("players", self.players, 2, MAX_SEATS),
            "cards_per_play": checks.pair("cards_per_play", self.cards_per_play, 1, MAX_CARDS),
            "deck": _by_players("deck", self.deck),
            "decks": _by_players("decks", self.decks),
            "opening": str(self.opening),
            "copies": checks.whole("copies", self.copies, 1, MAX_CARDS),
            "removed_cards": checks.whole("removed_cards", self.removed_cards, 0, MAX_CARDS),
            "deals": checks.whole("deals", self.deals, 1, 10**6),
            "max_plays": checks.whole("max_plays", self.max_plays, 1, 10**9),
            "sources": checks.texts("sources", self.sources),
        }
        for option in OPTION_FIELDS:
            if option.metadata["values"]:
                value = getattr(self, option.name)
                standard[option.name] = checks.one_of(
                    option.name, value, option.metadata["values"], ALIASES.get(option.name, {})
                )
        for name, value in standard.items():
            object.__setattr__(self, name, value)
        checks.texts("name, title, summary", [self.name, self.title, self.summary])
        _refuse_contradictions(self)
        for num_players in range(self.players[0], self.players[1] + 1):
            _check_deal(self, num_players)

    @property
    def default_players(self) -> int:
        """The number of players where none is given: four, or the nearest that the game allows."""
        return min(max(4, self.players[0]), self.players[1])

    def deck_for(self, num_players: int) -> Deck:
        """Return the ranks in play, in the order of the cycle."""
        return parse_deck(str(_value_for(self.deck, "deck", num_players)))

    def decks_for(self, num_players: int) -> int:
        """Return how many decks are mixed."""
        return int(_value_for(self.decks, "decks", num_players))

    def copies_for(self, num_players: int) -> int:
        """Return how many cards of each rank there are in all."""
        return self.copies * self.decks_for(num_players)

    def options(self, num_players: int) -> Options:
        """Return the rules for a number of players as a record of numbers for compiled code.

        Raises `RulesError` where the game is not for so many; warns (`RulesWarning`) where a
        rising or falling rank never asks every seat for every rank.
        """
        low, high = self.players
        checks.whole("num_players", num_players, low, high)
        deck = self.deck_for(num_players)
        if self.rank in ("up", "down") and math.gcd(len(deck), num_players) > 1:
            warnings.warn(
                f"{len(deck)} ranks and {num_players} players share a factor: without challenges a"
                f" seat is only ever asked for {len(deck) // math.gcd(len(deck), num_players)}"
                " of the ranks",
                RulesWarning,
                stacklevel=2,
            )
        row = np.zeros((), OPTIONS_DTYPE)
        row["players"] = num_players
        row["num_ranks"] = len(deck)
        row["names"][: len(deck)] = [RANKS.index(rank) for rank in deck]
        row["copies"] = self.copies_for(num_players)
        row["fewest"], row["most"] = self.cards_per_play
        row["opening"] = -1 if self.opening == FREE_RANK else deck.index(self.opening)
        for option in OPTION_FIELDS:
            if option.metadata["values"]:
                row[option.name] = option.metadata["values"].index(getattr(self, option.name))
            elif option.name in ("removed_cards", "deals", "max_plays"):
                row[option.name] = getattr(self, option.name)
        return row.view(np.recarray)[()]

    def as_options(self) -> dict[str, Any]:
        """Return every option in the form that YAML files use."""
        given = {option.name: getattr(self, option.name) for option in OPTION_FIELDS}
        for name in ("deck", "decks"):
            given[name] = _as_mapping(given[name])
        for name in ("players", "cards_per_play"):
            given[name] = list(given[name])
        return given

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

#: One record: the options of a game for a number of players, as numbers.
OPTIONS_DTYPE = np.dtype(
    [
        ("players", np.int8),
        ("num_ranks", np.int8),
        ("names", np.int8, (NUM_RANKS,)),
        ("copies", np.int8),
        ("fewest", np.int8),
        ("most", np.int8),
        ("opening", np.int8),
        *[(option.name, np.int8) for option in OPTION_FIELDS if option.metadata["values"]],
        ("removed_cards", np.int8),
        ("deals", np.int32),
        ("max_plays", np.int32),
    ],
    align=True,
)
Options: TypeAlias = Any


def variants() -> list[str]:
    """Return the names of the published games that ship with the package."""
    found = (path.name for path in (files("cheat_env") / "variants").iterdir())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def _load_file(name: str) -> Rules:
    if name not in variants():
        raise RulesError(f"variant {name!r}: unknown; the games are {', '.join(variants())}")
    text = (files("cheat_env") / "variants" / f"{name}.yaml").read_text("utf-8")
    return Rules(**(_known(yaml.safe_load(text)) | {"name": name}))


def _known(options: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the options, after refusing names that are none."""
    names = [option.name for option in fields(Rules)]
    for name in options:
        if name not in names:
            close = get_close_matches(str(name), names, 1)
            hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join(names)}"
            raise RulesError(f"rule option {name!r}: unknown; {hint}")
    return dict(options)


def _by_players(name: str, value: Any) -> ByPlayers:
    """Return a value for everybody, or a mapping like {"3-6": 1, "7-8": 2}, as ranges.

    A list, of the ranks of a deck, is the same as its items in one text.
    """
    if isinstance(value, tuple) and value and isinstance(value[0], ForPlayers):
        return value
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if not isinstance(value, Mapping):
        return (ForPlayers(2, MAX_SEATS, value),)
    ranges = []
    for key, item in value.items():
        first, _, last = str(key).partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise RulesError(f"{name} {key!r}: the keys are numbers of players, like 3-6 or 2")
        ((_, _, plain),) = _by_players(name, item) if isinstance(item, list) else ((0, 0, item),)
        ranges.append(ForPlayers(int(first), int(last or first), plain))
    return tuple(ranges)


def _as_mapping(ranges: ByPlayers) -> Any:
    if len(ranges) == 1:
        return ranges[0][2]
    return {f"{low}-{high}": value for low, high, value in ranges}


def _value_for(ranges: ByPlayers, name: str, num_players: int) -> Any:
    for low, high, value in ranges:
        if low <= num_players <= high:
            return value
    raise RulesError(f"{name}: no value for {num_players} players")


def _refuse_contradictions(rules: Rules) -> None:
    if (rules.end == "last_in") != (rules.scoring == "last"):
        raise RulesError(
            f"end {rules.end} and scoring {rules.scoring} exclude each other:"
            " last_in goes with last, first_out with winner or most_cards"
        )
    if rules.rank == "fixed" and rules.rank_after_challenge == "continue":
        raise RulesError(
            "rank fixed and rank_after_challenge continue exclude each other: a fixed rank holds"
            " until the pile is taken; choose free or same"
        )


def _check_deal(rules: Rules, num_players: int) -> None:
    """Refuse a deck that can't be dealt to so many, or a rank that it does not hold."""
    checks.whole("decks", _value_for(rules.decks, "decks", num_players), 1, MAX_CARDS)
    text = _value_for(rules.deck, "deck", num_players)
    try:
        deck = parse_deck(str(text))
    except CardError as error:
        raise RulesError(str(error)) from None
    if rules.opening not in (FREE_RANK, *deck):
        raise RulesError(
            f"opening {rules.opening!r}: must be free or a rank of the deck ({' '.join(deck)})"
        )
    cards = len(deck) * rules.copies_for(num_players)
    if cards > MAX_CARDS:
        raise RulesError(f"{cards} cards for {num_players} players: at most {MAX_CARDS}")
    if cards - rules.removed_cards < num_players:
        raise RulesError(
            f"{cards} cards less {rules.removed_cards} removed can't be dealt to"
            f" {num_players} players"
        )
