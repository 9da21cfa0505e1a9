"""Games to watch, step by step: in the terminal, as one page for a browser, or as a film."""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import yaml
from gymnasium.error import DependencyNotInstalled

from agents.base import ask
from agents.registry import load
from cheat_env import raw_env, records
from cheat_env.files import write_text
from cheat_env.pictures import gif, need_pillow
from cheat_env.records import RecordError, Replay
from cheat_env.scenes import Scene, scenes

TEMPLATE = Path(__file__).with_name("replay.html")
PROMPT = "[Enter, n: next; p: back; q: quit] "
#: Makes a record anew, ready to be played: each view of it plays it once.
Source = Callable[[], Replay]


class WatchError(ValueError):
    """A game that can't be watched; the message says why."""


def played(variant: Any, names: Sequence[str], seed: int, deal: int = 0) -> dict[str, Any]:
    """Return the record of a match between agents, one name a seat.

    Raises `AgentError` for a name that is no agent, and `RulesError` where the game can't be played
    by so many, or a seed or deal is no number of one.
    """
    agents = [load(name) for name in names]
    game = raw_env(variant, len(agents), observation="memory")
    game.reset(seed=seed, options={"deal": deal})
    rng = np.random.default_rng((seed, deal))
    while not (any(game.terminations.values()) or any(game.truncations.values())):
        player = agents[int(game.agent_selection.removeprefix("player_"))]
        seen = game.observe(game.agent_selection)
        game.step(ask(player, seen["observation"][None], seen["action_mask"][None], rng)[0])
    return records.from_actions(variant, len(agents), seed, game.actions_played, deal)


# --- In the terminal ------------------------------------------------------------------------------


def step_through(shown: Sequence[Scene], answers: TextIO, out: TextIO) -> None:
    """Print a scene, read a key and go on, until `q` or the end of the answers."""
    at = 0
    while True:
        lines = [f"== step {at} of {len(shown) - 1}", *(f"-- {line}" for line in shown[at].words)]
        print("\n".join([*lines, shown[at].text]), file=out)
        print(PROMPT, end="", file=out, flush=True)
        answer = answers.readline()
        key = answer.strip().lower()
        if not answer or key == "q":
            return
        if key in ("", "n"):
            at = min(at + 1, len(shown) - 1)
        elif key == "p":
            at = max(at - 1, 0)
        else:
            print(f"{key!r} is no key", file=out)


# --- As a page ------------------------------------------------------------------------------------


def page(source: Source, title: str, names: Sequence[str] = (), seat: int | None = None) -> str:
    """Return one HTML page that replays a record in a browser, without any other resource.

    Args:
        source: makes the record anew.
        title: what is written above it.
        names: who plays, by seat; may be left out.
        seat: whose view; the page then holds nothing that this seat may not see. None: everybody's
            open hands and the view of each seat, to choose from.

    Raises `RecordError` where the record can't be played, or has no such seat.
    """
    seats = [None, *range(source().num_players)] if seat is None else [seat]
    views = [
        {
            "name": "all seats" if view is None else f"seat {view}",
            "seat": view,
            "scenes": _changes([_plain(seen, seat is None) for seen in scenes(source(), view)]),
        }
        for view in seats
    ]
    data = json.dumps({"names": list(names), "views": views}, separators=(",", ":"))
    # Within a page, nothing in the data may end its element.
    parts = {"title": html.escape(title), "data": data.replace("<", "\\u003c")}
    return re.sub(r"\{\{(\w+)\}\}", lambda part: parts[part[1]], TEMPLATE.read_text("utf-8"))


def _plain(seen: Scene, counted: bool) -> dict[str, Any]:
    """Return a scene as the page reads it; each seat has a key of its own.

    Moves are counted to change views. Private ones are too (K1), so one seat's page does not count.
    """
    places = {f"place{place.seat}": place._asdict() for place in seen.places}
    rows = [row._asdict() for row in seen.rows]
    shared = {"headline": seen.headline, "asked": seen.asked}
    shared |= {"moves": seen.moves} if counted else {}
    return shared | {"words": list(seen.words), "rows": rows} | places


def _changes(shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return of each scene what differs from the one before it: most of a long game is the same."""
    before: dict[str, Any] = {}
    found = []
    for seen in shown:
        found.append({key: value for key, value in seen.items() if before.get(key) != value})
        before = seen
    return found


# --- The command ----------------------------------------------------------------------------------


def add_command(commands: Any) -> None:
    """Add the command `watch` to the subparsers of a command line."""
    command = commands.add_parser("watch", help="watch a game step by step, as a page or as a film")
    add = command.add_argument
    add("record", nargs="?", type=Path, metavar="RECORD", help="a game record")
    add("--variant", help="instead of a record: a game, or house rules as {base: ...}")
    add("--agents", nargs="+", metavar="AGENT", help="who plays it, by seat")
    add("--seed", type=int, default=0, help="what the cards are drawn from (default 0)")
    add("--deal", type=int, default=0, metavar="K", help="the match of that seed (default 0)")
    add("--seat", type=int, metavar="S", help="show only what this seat may see")
    add("--html", type=Path, metavar="FILE", help="write a page for a browser")
    add("--gif", type=Path, metavar="FILE", help="write a film")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Show a game as the options say; returns what was written, in words.

    Raises `AgentError`, `RulesError`, `IllegalAction` and OSError where it can't be played or
    written, and `WatchError` for anything else that is wrong with the options or the record.
    """
    try:
        source, title, names = _game(options)
        if options.gif is not None:
            need_pillow()
        if options.html is not None:
            write_text(options.html, page(source, title, names, options.seat))
        if options.gif is not None:
            gif(source(), options.gif, seat=options.seat)
        if options.html is None and options.gif is None:
            step_through(list(scenes(source(), options.seat)), sys.stdin, sys.stdout)
    except (RecordError, DependencyNotInstalled) as error:
        raise WatchError(str(error)) from None
    except KeyboardInterrupt:
        return ""
    written = [str(path) for path in (options.html, options.gif) if path is not None]
    return f"wrote {' and '.join(written)}" if written else ""


def _game(options: argparse.Namespace) -> tuple[Source, str, Sequence[str]]:
    """Return what to watch, its title and the names of the players."""
    path, variant, names = options.record, options.variant, options.agents
    if path is not None:
        if variant is not None or names is not None:
            raise WatchError("a record needs no --variant and no --agents")
        try:
            records.load(path)
        except RecordError as error:
            raise WatchError(f"{path}: {error}") from None
        return lambda: records.load(path), path.name, ()
    if variant is None or names is None:
        raise WatchError("give a RECORD, or --variant and --agents")
    try:
        variant = yaml.safe_load(variant)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise WatchError(f"--variant {variant!r}: is no name and no mapping") from None
    document = played(variant, names, options.seed, options.deal)
    title = str(variant)
    if options.seat is None:  # who knows the seed can deal all hands
        title += f", seed {options.seed}, deal {options.deal}"
    return lambda: Replay(document), title, names
