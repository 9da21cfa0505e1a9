"""`python -m train.evaluate`: what agents win against each other, and how they play.

The unit is the deal: each deal is played with every rotation of the seats, and depends on the seed
and its number alone. Where a run was stopped, the same command goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from agents import Agent, AgentError, load
from agents.registry import model_file
from cheat_env import Rules, RulesError
from cheat_env.files import write_text
from train import results, tables
from train.config import FAILED, INTERRUPTED, fail
from train.jobs import CLUSTER_HELP, Job, Kept, LeftoversError, jobs_of, play
from train.matches import CHUNK, Cell, Result, game

ONE_VS_REST, MIXED, ROUND_ROBIN = FORMATS = ("one-vs-rest", "mixed", "round-robin")
#: The largest seed that deals can be drawn from.
MOST_SEED = 2**64 - 1


class RequestError(ValueError):
    """An evaluation that can't be played; the message says why."""


class Evaluation(NamedTuple):
    """The cells of an evaluation, and where each agent of their lineups is loaded from."""

    form: str
    seed: int
    cells: list[Cell]
    sources: dict[str, str]


# --- What is played -------------------------------------------------------------------------------


def lineups(
    form: str, players: int, agents: Sequence[str], against: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the lineups of a format for a number of players; raises `RequestError`.

    In `round-robin` nobody meets copies of itself: by symmetry its share is an equal one.
    """
    for what, names in (("--agents", agents), ("--against", against)):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise RequestError(f"{what}: {twice[0]!r} stands there twice")
    if (form == ONE_VS_REST) != bool(against):
        need = "needs --against" if form == ONE_VS_REST else "has no --against"
        raise RequestError(f"--format {form} {need}")
    if form == MIXED:
        if len(agents) != players:
            raise RequestError(
                f"--format {form}: {len(agents)} agents for {players} players; give as many"
            )
        yield tuple(agents)
        return
    if form == ROUND_ROBIN and len(agents) < 2:
        raise RequestError(f"--format {form}: needs at least two agents")
    for agent in agents:
        for other in against or agents:
            if form == ONE_VS_REST or agent != other:
                yield agent, *[other] * (players - 1)


def plan(
    form: str,
    variants: Sequence[Any],
    players: Sequence[int],
    agents: Sequence[str],
    against: Sequence[str],
    deals: int,
    seed: int,
    rules: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Return an evaluation of agents that are loaded by their names.

    Without `players`, each game is played by its usual number, or by as many as are at one table.
    Raises `RequestError` or `RulesError`.
    """
    if deals < 1:
        raise RequestError(f"--deals {deals}: must be at least 1")
    if not 0 <= seed <= MOST_SEED:
        raise RequestError(f"--seed {seed}: must be from 0 to {MOST_SEED}")
    cells = []
    for variant in variants:
        name, changed, played = game(variant, rules or {})
        usual = len(agents) if form == MIXED else played.default_players
        for number in players or [usual]:
            Rules.load(variant, **(rules or {})).options(number)  # refuses, and warns
            for lineup in lineups(form, number, agents, against):
                cells.append(Cell(name, changed, played, number, lineup, deals, seed))
    if len({cell.key() for cell in cells}) < len(cells):
        raise RequestError("--variant, --players: the same game is asked for twice")
    return Evaluation(form, seed, cells, {name: name for name in (*agents, *against)})


def fingerprint(evaluation: Evaluation) -> str:
    """Return what tells the evaluation from all others: request, models, versions, sources."""
    models = filter(None, map(model_file, evaluation.sources.values()))
    told = {
        "format": evaluation.form,
        "cells": [[cell.key(), cell.rules.as_options(), cell.deals] for cell in evaluation.cells],
        "seed": evaluation.seed,
        "chunk": CHUNK,
        "versions": results.versions(),
        "code": results.code(),
        "models": [hashlib.sha256(path.read_bytes()).hexdigest() for path in models],
    }
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


# --- Playing --------------------------------------------------------------------------------------


def evaluate(
    evaluation: Evaluation,
    agents: Mapping[str, Agent],
    workers: int = 1,
    kept: Kept | None = None,
    console: Console | None = None,
    cluster: str = "",
) -> dict[str, Any]:
    """Play an evaluation and return what evaluation.json holds; `agents` by name.

    Args:
        evaluation: what is played.
        agents: the loaded agents; workers load their own.
        workers: processes that play, beside this one if more than one.
        kept: where finished jobs are found and kept.
        console: where to show the progress.
        cluster: the address of a Ray cluster that plays instead.
    """
    cells = evaluation.cells
    done: dict[Job, Result] = dict(kept.results) if kept else {}
    jobs = jobs_of(cells)
    missing = [job for job in jobs if job not in done]
    playing = play(cells, missing, agents, evaluation.sources, workers, cluster)
    with closing(playing), _progress(console) as progress:
        task = progress.add_task("playing", total=len(jobs), completed=len(done))
        for job, result in playing:
            done[job] = result
            if kept:
                kept.add(job, result)
            progress.advance(task)
    by_cell = [[done[Job(i, chunk)] for chunk in range(c.chunks)] for i, c in enumerate(cells)]
    return results.document(evaluation.form, evaluation.seed, cells, by_cell)


def _progress(console: Console | None) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=console is None or not console.is_terminal,
    )


def write(document: Mapping[str, Any], directory: Path) -> None:
    """Write evaluation.json and evaluation.md."""
    write_text(directory / "evaluation.md", tables.markdown(document))
    write_text(directory / "evaluation.json", json.dumps(document, indent=1) + "\n")


# --- The command line -----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    console = tables.wide_console()
    began = time.monotonic()
    kept = None
    try:
        evaluation, agents = _read(options)
        if options.report:
            write_report = _reporter(options.out)
        if options.out:
            kept = Kept(options.out / "partial.jsonl", fingerprint(evaluation))
            if kept.results:
                console.print(f"going on after {len(kept.results)} finished jobs")
        document = evaluate(evaluation, agents, options.workers, kept, console, options.cluster)
    except (RequestError, RulesError, AgentError, LeftoversError, OSError) as error:
        return fail(error)
    except KeyboardInterrupt:
        console.print("stopped" + (": the same command goes on" if kept else ""))
        return INTERRUPTED
    except BrokenProcessPool:
        print("error: a worker process died (out of memory?)", file=sys.stderr)
        return FAILED
    tables.show(tables.sections(document), console)
    if kept:
        write(document, options.out)
        kept.remove()
        console.print(f"written to {options.out}/evaluation.json and evaluation.md")
        if options.report:
            for path in write_report(document, options.out):
                console.print(f"written to {path}")
    console.print(f"{time.monotonic() - began:.1f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m train.evaluate", description=__doc__)
    add = parser.add_argument
    add(
        *("--variant", "--variants"),
        nargs="+",
        required=True,
        help="names of games, or house rules as in '{base: russian, jokers: 2}'",
    )
    add("--players", type=int, nargs="+", default=[], help="seats, one or more numbers of them")
    add("--agents", nargs="+", required=True, help="names, or paths of models")
    add("--against", nargs="+", default=[], help="names, or paths of models")
    add(
        "--format",
        choices=FORMATS,
        default=ONE_VS_REST,
        help="each of --agents among copies of each of --against (one-vs-rest, the default), all"
        " --agents at one table (mixed), or each among copies of each other (round-robin)",
    )
    add("--rules", nargs="+", default=[], metavar="KEY=VALUE", help="rule options to change")
    add("--deals", type=int, default=500, help="deals, each in every rotation (default 500)")
    add("--seed", type=int, default=1, help="what all chance comes from (default 1)")
    add("--workers", type=int, default=_cores(), help="processes (default: one a core)")
    add("--cluster", default="", metavar="ADDRESS", help=CLUSTER_HELP)
    add("--out", type=Path, metavar="DIR", help="where to write JSON and Markdown")
    add("--report", action="store_true", help="write report.html and report.md there too")
    return parser


def _reporter(directory: Path | None) -> Callable[[dict[str, Any], Path], list[Path]]:
    """Return what writes reports; refuses before anything is played where that can't be."""
    if directory is None:
        raise RequestError("--report: give --out too")
    try:
        from train.report import write_report  # its libraries are an extra
    except ModuleNotFoundError as error:
        raise RequestError(f"--report: needs {error.name}; install cheat-env[report]") from None
    return write_report


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(options: argparse.Namespace) -> tuple[Evaluation, dict[str, Agent]]:
    """Return the evaluation that is asked for and its agents; refuses what can't be played."""
    if options.workers < 1:
        raise RequestError(f"--workers {options.workers}: must be at least 1")
    if options.out and options.out.exists() and not options.out.is_dir():
        raise RequestError(f"--out {options.out}: is no directory")
    evaluation = plan(
        options.format,
        [_variant(text) for text in options.variant],
        options.players,
        options.agents,
        options.against,
        options.deals,
        options.seed,
        dict(_rule(text) for text in options.rules),
    )
    return evaluation, {name: load(source) for name, source in evaluation.sources.items()}


def _variant(text: str) -> Any:
    """Return a game's name, or house rules as a mapping."""
    return _yaml("--variant", text) if text.lstrip().startswith("{") else text


def _rule(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise RequestError(f"--rules {text!r}: must be KEY=VALUE")
    return name, _yaml("--rules", value)


def _yaml(option: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RequestError(f"{option} {text!r}: {' '.join(str(error).split())}") from None


if __name__ == "__main__":
    sys.exit(main())
