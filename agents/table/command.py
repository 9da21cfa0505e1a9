"""`python -m agents play`: seats a person at a table, in the terminal or in a browser."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

import yaml

from agents.table.game import Game, TableError
from agents.table.speech import LANGUAGES, Speech

MISSING = "playing needs textual and textual-serve: pip install 'cheat-env[play]'"
PORTS = 65_535
#: The page around the table in a browser: textual-serve's own asks another host for its font.
PAGE = Path(__file__).with_name("page")


def add_command(commands: Any) -> None:
    """Add the command `play` to the subparsers of a command line."""
    command = commands.add_parser("play", help="play against agents, in the terminal or a browser")
    add = command.add_argument
    add("--variant", default="russian", help="a game, or house rules as {base: ...}")
    add("--opponents", nargs="+", default=["counter"], metavar="AGENT", help="one, or one a seat")
    add("--players", type=int, metavar="N", help="seats, where one opponent is named")
    add("--seed", type=int, help="what the cards are drawn from (default: drawn)")
    add("--seat", type=int, metavar="S", help="yours (default: drawn for every match)")
    add("--language", choices=LANGUAGES, default="en")
    add("--records", type=Path, default=Path("games"), metavar="DIR", help="keeps every game there")
    add("--pause", type=float, default=0.7, help="seconds between the others' moves (default 0.7)")
    add("--web", action="store_true", help="serve the table to a browser")
    add(
        "--host",
        default="127.0.0.1",
        help="the address to serve at (default 127.0.0.1: for this machine alone)",
    )
    add("--port", type=int, default=8000, help="the port it is served at (default 8000)")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Play until the person leaves; returns where the games are, in words.

    Raises `AgentError`, `RulesError` and OSError where it can't be played or kept.
    """
    if not 0 <= options.pause <= 60:
        raise TableError(f"--pause {options.pause}: must be from 0 to 60 seconds")
    if not 1 <= options.port <= PORTS:
        raise TableError(f"--port {options.port}: must be from 1 to {PORTS}")
    game = _game(options)
    try:
        from textual_serve.server import Server

        from agents.table.app import TableApp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("textual", "textual_serve"):
            raise TableError(MISSING) from None
        raise
    if options.web:
        where = (options.host, options.port)
        Server(_command(options), *where, title="Cheat", templates_path=PAGE).serve()
        return ""
    app = TableApp(game, Speech(options.language), options.pause)
    stopped = app.run() or app.not_kept
    if stopped:
        raise TableError(stopped)
    return f"games are kept in {options.records}/" if options.records.is_dir() else ""


def _game(options: argparse.Namespace) -> Game:
    """Return the game that the options ask for."""
    try:
        variant = yaml.safe_load(options.variant)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise TableError(f"--variant {options.variant!r}: is no name and no mapping") from None
    game = Game(
        variant, options.opponents, options.players, options.seed, options.seat, options.records
    )
    options.records.mkdir(parents=True, exist_ok=True)
    return game


def _command(options: argparse.Namespace) -> str:
    """Return the command line of one table: each page that is opened is a table of its own."""
    asked = ["--variant", options.variant, "--opponents", *options.opponents]
    asked += ["--language", options.language, "--records", str(options.records)]
    asked += ["--pause", str(options.pause)]
    for name in ("players", "seed", "seat"):
        if getattr(options, name) is not None:
            asked += [f"--{name}", str(getattr(options, name))]
    return shlex.join([sys.executable, "-m", "agents", "play", *asked])
