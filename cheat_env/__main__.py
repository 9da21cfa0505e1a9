"""`python -m cheat_env`: replay records, explain rules, print layouts, measure speed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cheat_env import actions, bench, explain, observations, records
from cheat_env.checks import RulesError
from cheat_env.render import ansi, event
from cheat_env.rules import Rules, variants

FAULTS, BAD_INPUT = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns 0, 1 where a record has faults, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except (RulesError, records.RecordError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m cheat_env", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("replay", help="play records and check what they expect")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE")
    command.add_argument("--show", action="store_true", help="draw every step")
    command.set_defaults(run=_replay)
    command = commands.add_parser("rules", help="list the games, or explain one in words")
    command.add_argument("variant", nargs="?", help=f"one of {', '.join(variants())}")
    command.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="show in what two games differ"
    )
    command.set_defaults(run=_rules)
    command = commands.add_parser("layouts", help="print actions and observations as Markdown")
    command.set_defaults(run=_layouts)
    command = commands.add_parser("bench", help="measure decisions per second")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.add_argument(
        "--scaling", action="store_true", help="how it grows with tables, seats and threads instead"
    )
    command.set_defaults(run=lambda options: bench.main(options.json, options.scaling))
    return parser


def _replay(options: argparse.Namespace) -> int:
    failed = malformed = False
    for path in options.files:
        try:
            faults = _replay_file(path, options.show)
        except records.RecordError as error:
            print(f"{path}: {error}", file=sys.stderr)
            malformed = True
            continue
        for fault in faults:
            print(f"{path}: {fault}")
        failed = failed or bool(faults)
    return BAD_INPUT if malformed else FAULTS if failed else 0


def _replay_file(path: Path, show: bool) -> list[records.Fault]:
    replay = records.load(path)
    faults: list[records.Fault] = []
    before = replay.state.copy()
    if show:
        print(f"== {path}\n{ansi(replay.table, replay.options, replay.deck)}\n")
    for text, found in replay.play():
        faults += found
        if show and text != "expect":
            happened = event(before, replay.state, replay.deck)
            print(f"-- {text}" + (f"\n{happened}" if happened else ""))
            print(f"{ansi(replay.table, replay.options, replay.deck)}\n")
        before = replay.state.copy()
    return faults


def _rules(options: argparse.Namespace) -> None:
    if options.compare is not None:
        print(explain.compare(*map(Rules.load, options.compare)))
    elif options.variant is None:
        for name in variants():
            print(f"{name:16} {Rules.load(name).title}")
    else:
        print(explain.explain(Rules.load(options.variant)))


def _layouts(options: argparse.Namespace) -> None:
    print(f"### Actions\n\n{actions.markdown()}\n")
    print(f"### Observations\n\n{observations.MEMORY.markdown()}\n")
    print(f"`table` is the first {observations.TABLE.size} numbers, `memory` all of them.")


if __name__ == "__main__":
    sys.exit(main())
