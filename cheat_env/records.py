"""Game records: a game or a position as text, played again move by move.

The format is YAML: `variant`, `players`, `rules`, a `seed` (with `deal`, the match's number, 0
where left out) or a position in `start`, then `moves` in turns' words ("0 plays 7 K as 7",
"1 challenges") with `expect` mappings among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import dealing, engine
from cheat_env.cards import JOKER, SLOTS, CardError, Deck, format_cards, parse_cards, parse_rank
from cheat_env.checks import RulesError
from cheat_env.ending import deal_ends
from cheat_env.files import write_text
from cheat_env.options import Options
from cheat_env.rules import Rules
from cheat_env.state import (
    ANNOUNCE,
    NO_RANK,
    OVER,
    State,
    allocate,
)

KEYS = ("title", "clauses", "variant", "players", "rules", "seed", "deal", "start", "moves")
START_KEYS = ("hands", "pile", "turn", "rank")
VERBS = {
    "accepts": act.ACCEPT,
    "challenges": act.CHALLENGE,
    "keeps": act.KEEP,
    "passes": act.PASS,
    "believes": act.BELIEVE,
}
_MOVE = re.compile(r"(\d+) (\w+)(?: (.+))?")


class RecordError(ValueError):
    """A malformed record; the message says where and what."""


@dataclass(frozen=True)
class Fault:
    """A move that was not legal, or an expectation that did not hold."""

    number: int
    text: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"move {self.number} ({self.text}): expected {self.expected}, found {self.found}"


class Replay:
    """A record being played: the table, and what happened to it.

    Raises `RecordError` where the record is malformed; a move that the rules refuse is a `Fault`.
    """

    def __init__(self, document: Any) -> None:
        if not isinstance(document, Mapping):
            raise RecordError("a record is a mapping")
        _refuse_unknown("record", document, KEYS)
        rules = document.get("rules", {})
        if not isinstance(rules, Mapping):
            raise RecordError(f"rules {rules!r}: give a mapping of options")
        try:
            self.rules = Rules.load(document.get("variant", "english")).with_options(rules)
            self.num_players: int = document.get("players", self.rules.default_players)
            self.options: Options = self.rules.options(self.num_players)
        except RulesError as error:
            raise RecordError(str(error)) from None
        self.deck: Deck = self.rules.deck_for(self.num_players)
        self.state: State = allocate(1)
        self.table = self.state[0]
        if ("seed" in document) == ("start" in document):
            raise RecordError("give either a seed or a start")
        if "seed" in document:
            self._deal(document)
        else:
            self._place(document["start"])
        self.moves = _list("moves", document.get("moves", []))

    def _deal(self, document: Mapping[str, Any]) -> None:
        self.table["seed"] = _number("seed", document["seed"], 2**64 - 1)
        self.table["match"] = _number("deal", document.get("deal", 0), 2**32 - 1)
        dealing.start_match(self.table, self.options)

    def _place(self, start: Any) -> None:
        """Put the table into a position: old groups lie closed, nobody has been asked yet."""
        if not isinstance(start, Mapping):
            raise RecordError(f"start {start!r}: give a mapping")
        _refuse_unknown("start", start, START_KEYS)
        hands = _list("start: hands", start.get("hands"))
        if len(hands) != self.num_players:
            raise RecordError(f"start: hands {hands!r}: give one text for each of the players")
        table = self.table
        table["claim"] = NO_RANK
        held = np.zeros((self.num_players, SLOTS), np.int64)
        laid = np.zeros_like(held)
        for seat, cards in enumerate(hands):
            held[seat] = self._cards(f"hands of seat {seat}", cards)
        for group in _list("start: pile", start.get("pile", [])):
            if not isinstance(group, Mapping) or set(group) != {"seat", "cards"}:
                raise RecordError(f"start: pile {group!r}: give a seat and cards")
            seat = _number("pile seat", group["seat"], self.num_players - 1)
            laid[seat] += self._cards("pile", group["cards"])
            table["claimant"] = seat
        self._put_aside((held + laid).sum(axis=0))
        table["hand"][: self.num_players] = held
        table["pile"][: self.num_players] = laid
        table["hand_size"] = table["hand"].sum(axis=1)
        table["pile_size"] = table["pile"].sum()
        self._place_out()
        turn = _number("start: turn", start.get("turn"), self.num_players - 1)
        if table["out"][turn]:
            raise RecordError(f"start: turn {turn}: that seat has no cards")
        rank = start.get("rank")
        table["rank"] = NO_RANK if rank is None else self._rank("start: rank", rank)
        engine.begin_turn(table, self.options, turn)

    def _put_aside(self, used: NDArray[np.int64]) -> None:
        """Put the cards that the position does not name aside; refuse more than the deck has."""
        left = -used
        left[: len(self.deck)] += self.options["copies"]
        left[JOKER] += self.options["jokers"]
        if (left[:JOKER] < 0).any():
            rank = self.deck[int(np.argmin(left))]
            raise RecordError(f"start: more cards of rank {rank} than the deck has")
        if left[JOKER] < 0:
            raise RecordError(f"start: more jokers than the {self.options['jokers']} of the deck")
        self.table["aside"] = left

    def _place_out(self) -> None:
        """Let the seats without cards be out; refuse a deal that has already ended so."""
        table = self.table
        empty = np.flatnonzero(table["hand_size"][: self.num_players] == 0)
        table["out"][empty] = np.arange(1, len(empty) + 1)
        table["num_out"] = len(empty)
        if deal_ends(self.options, len(empty)):
            raise RecordError(f"start: hands: the deal is over when seats {empty.tolist()} are out")

    def _cards(self, where: str, text: Any) -> NDArray[np.int64]:
        try:
            return parse_cards(str(text or ""), self.deck)
        except CardError as error:
            raise RecordError(f"{where}: {error}") from None

    def _rank(self, where: str, text: Any) -> int:
        try:
            return parse_rank(str(text), self.deck)
        except CardError as error:
            raise RecordError(f"{where}: {error}") from None

    def play(self) -> Iterator[tuple[str, list[Fault]]]:
        """Play the moves; yields each item's text and its faults. Stops at an illegal move."""
        for number, item in enumerate(self.moves, 1):
            try:
                if isinstance(item, Mapping):
                    yield "expect", list(self._unmet(number, item))
                    continue
                refused = self.move(str(item))
            except RecordError as error:
                raise RecordError(f"move {number}: {error}") from None
            yield str(item), [Fault(number, str(item), "a legal move", refused)] if refused else []
            if refused:
                return

    def _unmet(self, number: int, item: Mapping[str, Any]) -> Iterator[Fault]:
        """Yield the expectations that do not hold."""
        if set(item) != {"expect"} or not isinstance(item["expect"], Mapping):
            raise RecordError(f"{dict(item)!r}: give a move or an expect mapping")
        _refuse_unknown("expect", item["expect"], tuple(self._checks()))
        for key, value in item["expect"].items():
            found = self._differs(key, value)
            if found is not None:
                yield Fault(number, f"expect {key}", repr(value), found)

    def move(self, text: str) -> str | None:
        """Play one move in words; returns None, or why it is not legal, with nothing changed."""
        return self._attempt(text, keep=True)

    def _attempt(self, text: str, keep: bool) -> str | None:
        before = self.state.copy()
        refused = self._try(text)
        if refused is not None or not keep:
            self.state[:] = before
        return refused

    def _try(self, text: str) -> str | None:
        seat, actions = self._read(text)
        table, mask = self.table, np.zeros(act.NUM_ACTIONS, np.int8)
        if table["phase"] == OVER and not dealing.match_over(table, self.options):
            dealing.next_deal(table, self.options)
        if table["phase"] == OVER:
            return "the game is over"
        if table["turn"] != seat:
            return f"seat {table['turn']} is asked"
        if actions and act.ANNOUNCE_RANK <= actions[0] < act.DISCARD:
            announced = actions[0] - act.ANNOUNCE_RANK
            if table["phase"] != ANNOUNCE:
                if table["rank"] != announced:
                    in_force = table["rank"] != NO_RANK
                    return (
                        f"the rank is {self.deck[table['rank']]}" if in_force else "no play is due"
                    )
                actions = actions[1:]
        elif table["phase"] == ANNOUNCE and actions[-1] == act.LAY:
            return "the rank is free: say `as RANK`"
        for action in self._ordered(actions):
            engine.legal_actions(table, self.options, mask)
            if not mask[action]:
                return f"{act.words(action, self.deck, engine.base_rank(table))} is illegal"
            engine.apply(table, self.options, action)
        return None

    def _ordered(self, actions: list[int]) -> Iterator[int]:
        """Yield actions given by the deck's ranks as relative ones, picks in their one order."""
        table, ranks = self.table, len(self.deck)
        picks = [action for action in actions if action < act.LAY]
        for action in actions:
            if act.ANNOUNCE_RANK <= action < act.KEEP:
                first = act.ANNOUNCE_RANK if action < act.DISCARD else act.DISCARD
                yield first + (action - first - engine.base_rank(table)) % ranks
            elif action == act.LAY:
                base = engine.base_rank(table)
                naturals = sorted((p - base) % ranks for p in picks if p < act.PICK_JOKER)
                yield from naturals
                yield from (p for p in picks if p == act.PICK_JOKER)
                yield act.LAY
            elif action >= act.LAY:
                yield action

    def _read(self, text: str) -> tuple[int, list[int]]:
        """Return the seat and the actions of a move, with ranks by their place in the deck."""
        match = _MOVE.fullmatch(text.strip())
        if match is None:
            raise RecordError(f"move {text!r}: say SEAT plays CARDS [as RANK], accepts, ...")
        where = f"move {text!r}"
        seat, verb, rest = int(match[1]), match[2], match[3] or ""
        if verb == "plays":
            cards, _, rank = rest.partition(" as ")
            counts = self._cards(where, cards)
            if not counts.any():
                raise RecordError(f"{where}: name the cards")
            picks = [slot for slot, count in enumerate(counts) for _ in range(count)]
            announced = [act.ANNOUNCE_RANK + self._rank(where, rank)] if rank else []
            return seat, [*announced, *picks, act.LAY]
        if verb == "discards":
            return seat, [act.DISCARD + self._rank(where, rest)]
        if verb not in VERBS or rest:
            verbs = ", ".join(["plays CARDS", "discards RANK", *VERBS])
            raise RecordError(f"{where}: say SEAT and one of {verbs}")
        return seat, [VERBS[verb]]

    def _checks(self) -> dict[str, Any]:
        """Return what `expect` may ask for, as found at the table."""
        table, players = self.table, self.num_players
        over, rank = table["phase"] == OVER, int(table["rank"])
        out = np.argsort(table["out"][:players])[players - int(table["num_out"]) :]
        first_out = self.rules.end == "first_out" and len(out) > 0
        return {
            "hands": [format_cards(table["hand"][seat], self.deck) for seat in range(players)],
            "pile": int(table["pile_size"]),
            "turn": None if over else int(table["turn"]),
            "rank": None if rank == NO_RANK or over else self.deck[rank],
            "legal": None,
            "illegal": None,
            "out": out.tolist(),
            "over": bool(over),
            "truncated": bool(table["truncated"]),
            "winner": int(out[0]) if first_out else None,
            "losers": np.flatnonzero(table["loser"]).tolist(),
            "rewards": table["reward"][:players].tolist(),
            "scores": table["score"][:players].tolist(),
        }

    def _differs(self, key: str, value: Any) -> str | None:
        """Return what was found where it is not what is expected, else None."""
        if key in ("legal", "illegal"):
            moves = [str(move) for move in _list(f"expect {key}", value)]
            refusals = {move: self._attempt(move, keep=False) for move in moves}
            wrong = [move for move, no in refusals.items() if (no is None) != (key == "legal")]
            return "; ".join(f"{move}: {refusals[move] or 'legal'}" for move in wrong) or None
        found = self._checks()[key]
        if key == "hands":
            hands = _list("expect hands", value)
            value = [format_cards(self._cards("expect hands", hand), self.deck) for hand in hands]
        if key == "rank" and value is not None:
            value = str(value)
        if key == "rewards" and value is not None:
            same = _close(found, _list("expect rewards", value))
        else:
            same = found == value and isinstance(found, bool) == isinstance(value, bool)
        return None if same else repr(found)


def _refuse_unknown(where: str, found: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in found:
        if key not in allowed:
            raise RecordError(f"{where}: key {key!r} is unknown; allowed: {', '.join(allowed)}")


def _number(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise RecordError(f"{name} {value!r}: give a whole number from 0 to {most}")
    return value


def _list(where: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise RecordError(f"{where} {value!r}: give a list")
    return value


def _close(found: Sequence[float], expected: Sequence[Any]) -> bool:
    for value in expected:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RecordError(f"expect rewards: {value!r}: give numbers")
    return len(found) == len(expected) and np.allclose(found, expected, rtol=0, atol=1e-6)


def load(path: Path) -> Replay:
    """Return the record of a file, ready to play; raises `RecordError`."""
    try:
        return Replay(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"can't be read: {error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RecordError(f"is not YAML: {' '.join(str(error).split())}") from None


def from_actions(
    variant: str, players: int, seed: int, actions: Sequence[int], deal: int = 0, **rules: Any
) -> dict[str, Any]:
    """Return the record of a game played from a seed, as a document of plain values."""
    document: dict[str, Any] = {"variant": variant, "players": players}
    document |= ({"rules": rules} if rules else {}) | {"seed": seed, "deal": deal}
    replay = Replay(document)
    return document | {"moves": list(_in_turns(replay, actions))}


def _in_turns(replay: Replay, actions: Sequence[int]) -> Iterator[str]:
    """Yield the moves that single actions make up; picks that were never laid are left out."""
    table, options, deck = replay.table, replay.options, replay.deck
    announced = ""
    for action in actions:
        if table["phase"] == OVER:
            dealing.next_deal(table, options)
        seat, base = int(table["turn"]), engine.base_rank(table)
        if act.ANNOUNCE_RANK <= action < act.DISCARD:
            announced = f" as {deck[(base + action - act.ANNOUNCE_RANK) % len(deck)]}"
        elif act.DISCARD <= action < act.KEEP:
            yield f"{seat} discards {deck[(base + action - act.DISCARD) % len(deck)]}"
        elif action == act.LAY:
            yield f"{seat} plays {format_cards(table['picked'], deck)}{announced}"
            announced = ""
        elif action > act.LAY:
            verb = next(word for word, index in VERBS.items() if index == action)
            yield f"{seat} {verb}"
        engine.apply(table, options, action)


def dump(document: Mapping[str, Any]) -> str:
    """Return a record as YAML."""
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def save(path: Path, document: Mapping[str, Any]) -> None:
    """Write a record to a file, whole or not at all."""
    write_text(path, dump(document))
