"""An evaluation as tables: on the screen and in Markdown.

Each row is an agent against the opponents it met; nothing is pooled over opponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import yaml
from rich.console import Console
from rich.table import Table

from cheat_env.values import LAST, SCORINGS

WIDTH = 110
RESULT_COLUMNS = (
    *("agent", "against", "won", "95%", "lost", "reward", "place", "truncated", "plays", "deals"),
)
CONDUCT_COLUMNS = (
    *("agent", "against", "lies/free", "forced/claims", "caught/lies"),
    *("challenges/asked", "right/challenges"),
)
CONDUCT_TITLE = "how they play, in % (free claims could be true, forced ones are lies)"


class Section(NamedTuple):
    """A heading, columns, and rows of cells."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def sections(document: Mapping[str, Any]) -> Iterator[Section]:
    """Yield two tables for every game and number of players: what came out, and how they play.

    Among copies of another, only the single agent has a row.
    """
    for heading, cells in groupby(document["cells"], _title):
        seated = [
            (cell, name)
            for cell in cells
            for name in (cell["lineup"] if document["format"] == "mixed" else cell["lineup"][:1])
        ]
        yield Section(heading, RESULT_COLUMNS, [_result(*seat) for seat in seated])
        yield Section(CONDUCT_TITLE, CONDUCT_COLUMNS, [_conduct(*seat) for seat in seated])


def _title(cell: Mapping[str, Any]) -> str:
    """Return the heading of a game's results, with what an equal share is."""
    game = cell["variant"]
    if cell["rules"]:
        game += f" {yaml.safe_dump(cell['rules'], default_flow_style=True, width=10**6).strip()}"
    won = "not lost" if cell["scoring"] == SCORINGS[LAST] else "won"
    equal = _percent(cell["equal"])
    return f"{game}, {cell['players']} seats: % of deals {won} (equal share {equal})"


def _result(cell: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the row of RESULT_COLUMNS for an agent of a cell."""
    agent = cell["agents"][name]
    share = agent["share"]
    return (
        name,
        _against(cell, name),
        _percent(share["mean"]),
        f"{_percent(share['low'])} - {_percent(share['high'])}",
        _percent(agent["lost"]["mean"]),
        _number(agent["reward"]["mean"], 2),
        _number(agent["place"]["mean"], 2),
        _percent(agent["truncated"]),
        _number(cell["plays"], 0),
        f"{cell['deals']} x {cell['players']}",
    )


def _conduct(cell: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the row of CONDUCT_COLUMNS for an agent of a cell."""
    count = cell["agents"][name]["counts"]
    return (
        name,
        _against(cell, name),
        _ratio(count["lies_free"], count["free"]),
        _ratio(count["forced"], count["claims"]),
        _ratio(count["caught"], count["lies_free"] + count["forced"]),
        _ratio(count["challenges"], count["asked"]),
        _ratio(count["right"], count["challenges"]),
    )


def _against(cell: Mapping[str, Any], name: str) -> str:
    others = [other for other in cell["lineup"] if other != name]
    if len(set(others)) > 1:
        return "the others"
    return f"{cell['players'] - 1} x {others[0] if others else name}"


def _ratio(part: int, whole: int) -> str:
    return _percent(part / whole if whole else None)


def _percent(value: float | None) -> str:
    return _number(None if value is None else 100 * value, 1)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def wide_console() -> Console:
    """Return a console that has room for the tables also where the output is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def show(parts: Iterable[Section], console: Console) -> None:
    """Print sections as tables."""
    for part in parts:
        table = Table(title=part.title)
        for column in part.columns:
            table.add_column(column, no_wrap=True)
        for row in part.rows:
            table.add_row(*row)
        console.print(table)


def markdown(document: Mapping[str, Any]) -> str:
    """Return an evaluation as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    close = (
        f"Seed {document['seed']}, {document['policy']} policies, {versions}. Every deal is played"
        " with every rotation of the seats; the intervals are over deals.\n"
    )
    return "\n".join([*map(_markdown, sections(document)), close])


def _markdown(part: Section) -> str:
    lines = [part.columns, ("---",) * len(part.columns), *part.rows]
    return f"{part.title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
