"""Reading an evaluation: its cells, checked and grouped by game, for the report.

A cell is one line-up at one game. What is missing or of the wrong kind is refused by its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMATS = ("one-vs-rest", "mixed", "round-robin")
COUNTS = (
    *("games", "won", "lost", "place", "claims", "free", "lies_free", "forced", "lies_forced"),
    *("asked", "challenges", "right", "caught"),
)
#: Rows and columns of the two tables of behaviour.
BY_HAND, LIES_BY_SIZE, BY_SIZE = (14, 2), (4, 2), (4, 3)
LARGEST = 1e300


class EvaluationError(ValueError):
    """What was given is no evaluation; says where it is not, in one line."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval; None where too little finished to tell."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Record:
    """What one agent did in all its seats of a cell."""

    counts: dict[str, float]
    share: Estimate
    lost: Estimate
    reward: Estimate
    place: Estimate
    truncated: float
    lies_by_hand: list[list[float]]
    lies_by_size: list[list[float]]
    challenges_by_size: list[list[float]]


@dataclass(frozen=True)
class Finding:
    """One line-up, played over some deals with rotations of its seats."""

    lineup: tuple[str, ...]
    deals: int
    finished: int
    truncated: int
    plays: float | None
    decisions: float | None
    agents: dict[str, Record]

    @property
    def names(self) -> list[str]:
        """The agents of the line-up, each once, by seat."""
        return list(dict.fromkeys(self.lineup))

    def others(self, name: str) -> str:
        """Return whom an agent met in one of its seats, as `3 x honest`."""
        rest = list(self.lineup)
        rest.remove(name)
        counts = {other: rest.count(other) for other in dict.fromkeys(rest)}
        single = len(counts) == 1
        return ", ".join(
            f"{count} x {other}" if count > 1 or single else other
            for other, count in counts.items()
        )


@dataclass(frozen=True)
class Game:
    """The cells of one variant with one number of seats."""

    variant: str
    players: int
    scoring: str
    rules: dict[str, Any]
    cells: tuple[Finding, ...]
    mixed: bool

    @property
    def title(self) -> str:
        """The variant, its seats, and what house rules change."""
        changed = "".join(f", {key}: {json.dumps(self.rules[key])}" for key in sorted(self.rules))
        return f"{self.variant}, {self.players} seats{changed}"

    @property
    def last_loses(self) -> bool:
        """Whether a share is that of the deals not lost."""
        return self.scoring == "last"

    @property
    def equal(self) -> float:
        """The share of each seat among equals."""
        return (self.players - self._losers if self.last_loses else 1) / self.players

    @property
    def _losers(self) -> int:
        """How many lose a deal of which nobody is said to win: in some games the last two."""
        for cell in self.cells:
            shares = [cell.agents[name].share.mean for name in cell.lineup]
            won = [share for share in shares if share is not None]
            if len(won) == self.players:
                return min(max(1, round(self.players - sum(won))), self.players - 1)
        return 1

    @property
    def names(self) -> list[str]:
        """Every agent of the game, in the order of the file."""
        return list(dict.fromkeys(name for cell in self.cells for name in cell.lineup))

    @property
    def views(self) -> list[tuple[str, str, Finding]]:
        """Each agent told of, with whom it met: of copies, what they did is not told."""
        return [
            (name, cell.others(name), cell)
            for cell in self.cells
            for name in (cell.names if self.mixed else cell.names[:1])
        ]


@dataclass(frozen=True)
class Evaluation:
    """A whole evaluation."""

    format: str
    seed: int
    policy: str
    versions: dict[str, str]
    games: tuple[Game, ...]


def read(path: Path) -> dict[str, Any]:
    """Return the JSON of a file, or raise EvaluationError."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise EvaluationError(f"{path}: can't be read as JSON: {error}") from None
    if not isinstance(document, dict):
        raise EvaluationError(f"{path}: no evaluation: not a mapping")
    return document


def parse(document: Mapping[str, Any]) -> Evaluation:
    """Return an evaluation from its JSON, or raise EvaluationError naming what is wrong."""
    style = _take(document, "format", str, "")
    if style not in FORMATS:
        raise EvaluationError(f"no evaluation: format: {style!r} is none of {', '.join(FORMATS)}")
    cells = _take(document, "cells", list, "")
    if not cells:
        raise EvaluationError("no evaluation: cells: there is none")
    games: dict[tuple[Any, ...], list[Finding]] = {}
    for number, cell in enumerate(cells):
        key, parsed = _cell(cell, f"cells[{number}]")
        games.setdefault(key, []).append(parsed)
    versions = _take(document, "versions", dict, "")
    return Evaluation(
        format=style,
        seed=_take(document, "seed", int, ""),
        policy=_take(document, "policy", str, ""),
        versions={_shown(key): _shown(str(value)) for key, value in sorted(versions.items())},
        games=tuple(
            Game(*key[:3], json.loads(key[3]), tuple(found), style == "mixed")
            for key, found in games.items()
        ),
    )


def _cell(value: Any, where: str) -> tuple[tuple[Any, ...], Finding]:
    """Return what game a cell is of, and the cell."""
    players = _take(value, "players", int, where)
    if players < 2:
        raise EvaluationError(f"no evaluation: {where}.players: fewer than 2")
    lineup = _take(value, "lineup", list, where)
    agents = _take(value, "agents", dict, where)
    if len(lineup) != players or not all(isinstance(name, str) for name in lineup):
        raise EvaluationError(f"no evaluation: {where}.lineup: must name one agent a seat")
    rules = _take(value, "rules", dict, where)
    game = (
        _shown(_take(value, "variant", str, where)),
        players,
        _shown(_take(value, "scoring", str, where)),
        json.dumps(rules, sort_keys=True),
    )
    records = {
        _shown(name): _record(_take(agents, name, dict, f"{where}.agents"), f"{where}.{name!r}")
        for name in dict.fromkeys(lineup)
    }
    deals, finished, truncated = (
        _take(value, key, int, where) for key in ("deals", "finished", "truncated")
    )
    return game, Finding(
        lineup=tuple(_shown(name) for name in lineup),
        deals=deals,
        finished=finished,
        truncated=truncated,
        plays=_number(value, "plays", where, optional=True),
        decisions=_number(value, "decisions", where, optional=True),
        agents=records,
    )


def _record(value: Mapping[str, Any], where: str) -> Record:
    """Return one agent's record."""
    counts = _take(value, "counts", dict, where)
    share, lost, reward, place = (
        _estimate(_take(value, key, dict, where), f"{where}.{key}")
        for key in ("share", "lost", "reward", "place")
    )
    return Record(
        counts={key: _number(counts, key, f"{where}.counts") or 0.0 for key in COUNTS},
        share=share,
        lost=lost,
        reward=reward,
        place=place,
        truncated=_number(value, "truncated", where) or 0.0,
        lies_by_hand=_grid(value, "lies_by_hand", BY_HAND, where),
        lies_by_size=_grid(value, "lies_by_size", LIES_BY_SIZE, where),
        challenges_by_size=_grid(value, "challenges_by_size", BY_SIZE, where),
    )


def _estimate(value: Mapping[str, Any], where: str) -> Estimate:
    mean, low, high = (_number(value, key, where, optional=True) for key in ("mean", "low", "high"))
    return Estimate(mean, *((None, None) if None in (mean, low, high) else (low, high)))


def _grid(
    value: Mapping[str, Any], key: str, shape: tuple[int, int], where: str
) -> list[list[float]]:
    """Return a table of numbers of this shape."""
    grid = _take(value, key, list, where)
    if len(grid) != shape[0] or not all(isinstance(r, list) and len(r) == shape[1] for r in grid):
        raise EvaluationError(f"no evaluation: {where}.{key}: must be {shape[0]} x {shape[1]}")
    for number, row in enumerate(grid):
        for item in row:
            _check_number(item, f"{where}.{key}[{number}]")
    return grid


def _take(value: Any, key: str, kind: type, where: str) -> Any:
    """Return what stands under a key, of this kind."""
    place = f"{where}.{key}" if where else key
    if not isinstance(value, Mapping):
        raise EvaluationError(f"no evaluation: {where}: not a mapping")
    if key not in value:
        raise EvaluationError(f"no evaluation: {place}: missing")
    found = value[key]
    # To Python a bool is an int
    if not isinstance(found, kind) or isinstance(found, bool):
        raise EvaluationError(f"no evaluation: {place}: must be of type {kind.__name__}")
    if kind is int and found < 0:
        raise EvaluationError(f"no evaluation: {place}: below 0")
    return found


def _number(value: Mapping[str, Any], key: str, where: str, optional: bool = False) -> float | None:
    """Return the number under a key; None only where it may be."""
    if key not in value:
        raise EvaluationError(f"no evaluation: {where}.{key}: missing")
    if optional and value[key] is None:
        return None
    _check_number(value[key], f"{where}.{key}")
    return float(value[key])


def _check_number(value: Any, where: str) -> None:
    # Neither what is no number nor what is infinite lies below this.
    fits = isinstance(value, int | float) and abs(value) <= LARGEST
    if isinstance(value, bool) or not fits:
        raise EvaluationError(f"no evaluation: {where}: must be a number")


def _shown(text: str) -> str:
    """Return a name as it can be shown: some characters may stand in no page."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
