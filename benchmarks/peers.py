"""Decisions per second of this project and of other card games, in one run on one machine.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/peers.py --markdown

Every contestant plays uniformly random legal moves on one thread. Its time covers all that a
decision takes: writing what the seat to act observes and the mask of its legal actions, choosing
one from that mask (in the same way for all of a group), playing it, and dealing anew where a game
ended. Figures can be compared within a group only. Peers that aren't installed are skipped.
"""

from __future__ import annotations

import os

# Libraries read these when they are imported. NPROC is the size of the pool that XLA computes
# with: its flags alone leave a thread per core at work.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
os.environ |= {"NUMBA_NUM_THREADS": "1", "NPROC": "1", "JAX_PLATFORMS": "cpu"}
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import contextlib
import gc
import json
import platform
import random
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from cheat_env import Tables, env, raw_env
from cheat_env.bench import PLAYERS, TABLES, choose_random

PGX_TABLES = 4096
BLOCK = 100  # decisions of a single table between two looks at the clock
#: The groups: what they are, and the contestant that their ratios are to.
GROUPS = {
    "single table": ("one game, asked and answered from Python", "cheat_env/raw_env/english"),
    "batched": ("many tables, one call from Python a step", "cheat_env/tables/english"),
}
METHOD = "random legal play on one thread; observation, mask, choosing and new deals timed for all"
COLUMNS = ("contestant", "tables", "observation", "actions", "decisions/s", "range", "ratio")

Array = NDArray[Any]
#: Yields what the seat to act observes and its mask, and is sent its action.
Single = Generator[tuple[Array, Array], int, None]
#: Yields observations and masks of all tables after every step, having chosen by itself.
Batched = Generator[tuple[Array, Array], None, None]


def _aec(make: Callable[[str], Any], name: str) -> Single:
    """Play a PettingZoo environment, this project's or another."""
    game = make(name)
    game.reset(seed=0)
    while True:
        shown, _, terminated, truncated, _ = game.last()
        if terminated or truncated:
            game.reset()
            shown = game.observe(game.agent_selection)
        game.step((yield shown["observation"], shown["action_mask"]))


def _classic(kind: str, name: str) -> Any:
    """Return an environment that PettingZoo ships, `raw_env` or wrapped (`env`)."""
    return getattr(import_module(f"pettingzoo.classic.{name}"), kind)()


def _rlcard(name: str) -> Single:
    """Play a game of RLCard, whose legal actions come as numbers and are written as a mask."""
    game = import_module("rlcard").make(name, {"seed": 0})
    state = game.reset()[0]
    while True:
        mask = np.zeros(game.num_actions, np.int8)
        mask[list(state["legal_actions"])] = 1
        state = game.step((yield state["obs"], mask))[0]
        if game.is_over():
            state = game.reset()[0]


def _open_spiel(name: str) -> Single:
    """Play a game of OpenSpiel, its tensor written by an observer, the fastest way there is."""
    spiel, observation = import_module("pyspiel"), import_module("open_spiel.python.observation")
    game = spiel.load_game(name)
    recall = game.get_type().provides_information_state_tensor
    observer = observation.make_observation(game, spiel.IIGObservationType(perfect_recall=recall))
    state, rng, actions = game.new_initial_state(), random.Random(1), game.num_distinct_actions()
    while True:
        while state.is_chance_node():  # in these games all its outcomes are equally likely
            state.apply_action(rng.choice(state.legal_actions()))
        observer.set_from(state, state.current_player())
        mask = np.zeros(actions, np.int8)
        mask[state.legal_actions()] = 1
        state.apply_action((yield observer.tensor, mask))
        if state.is_terminal():
            state = game.new_initial_state()


def _tables(variant: str) -> Batched:
    """Play this project's tables, driven from Python."""
    tables = Tables(variant, PLAYERS, TABLES)
    word, actions = np.uint64(1), np.zeros(TABLES, np.int64)
    while True:
        yield tables.observation, tables.action_mask
        word = np.uint64(choose_random(tables.action_mask, word, actions))
        tables.step(actions)


def _pgx(name: str) -> Batched:
    """Play a game of Pgx with its own automatic reset, one compiled call a step."""
    jax, pgx = import_module("jax"), import_module("pgx")
    game = pgx.make(name)
    # Pgx's own reset, which deals at every table in every step: most of sparrow_mahjong's time.
    step = jax.vmap(import_module("pgx.experimental").auto_reset(game.step, game.init))

    def choose_and_step(state: Any, key: Any) -> Any:
        following, choosing, playing = jax.random.split(key, 3)
        legal = state.legal_action_mask
        place = jax.numpy.floor(jax.random.uniform(choosing, (PGX_TABLES,)) * legal.sum(1))
        actions = (legal.cumsum(1) > place[:, None]).argmax(1)
        return step(state, actions, jax.random.split(playing, PGX_TABLES)), following

    compiled, key = jax.jit(choose_and_step), jax.random.key(1)
    state = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), PGX_TABLES))
    while True:
        yield state.observation, state.legal_action_mask
        state, key = jax.block_until_ready(compiled(state, key))


def _play(game: Single, mask: Array) -> Iterator[int]:
    """Choose at a single table, yielding the decisions of every block."""
    rng = random.Random(0)
    while True:
        for _ in range(BLOCK):
            legal = mask.nonzero()[0]
            _, mask = game.send(int(legal[int(rng.random() * len(legal))]))
        yield BLOCK


def start(game: Any) -> tuple[Iterator[int], dict[str, int]]:
    """Return what plays a game and yields how many decisions, and the sizes of the game."""
    observation, mask = next(game)
    tables = 1 if mask.ndim == 1 else len(mask)
    shown = {"observation": observation.size // tables, "actions": mask.size // tables}
    played = _play(game, mask) if mask.ndim == 1 else (len(masks) for _, masks in game)
    return played, {"tables": tables, **shown}


VARIANTS, CLASSIC = ("english", "russian"), ("leduc_holdem_v4", "tictactoe_v3")
MAKERS: tuple[tuple[str, Callable[[str], Single | Batched], tuple[str, ...]], ...] = (
    ("cheat_env/raw_env", partial(_aec, partial(raw_env, num_players=PLAYERS)), VARIANTS),
    ("cheat_env/env", partial(_aec, partial(env, num_players=PLAYERS)), VARIANTS),
    ("pettingzoo/raw_env", partial(_aec, partial(_classic, "raw_env")), CLASSIC),
    ("pettingzoo/env", partial(_aec, partial(_classic, "env")), CLASSIC),
    ("rlcard", _rlcard, ("mahjong", "doudizhu", "uno", "leduc-holdem")),
    ("open_spiel", _open_spiel, ("liars_dice", "hearts", "gin_rummy")),
    ("cheat_env/tables", _tables, VARIANTS),
    ("pgx", _pgx, ("leduc_holdem", "sparrow_mahjong")),
)
#: What makes a contestant ready, by its name, which starts with the package that it needs.
CONTESTANTS = {f"{of}/{name}": partial(make, name) for of, make, names in MAKERS for name in names}


def prepare(names: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the contestants that can play and a line for each that can't."""
    ready, skipped = {}, []
    for name in names:
        try:
            metadata.version(name.partition("/")[0])
            played, sizes = start(CONTESTANTS[name]())
            next(played)  # compiles
            ready[name] = played, sizes
        except metadata.PackageNotFoundError as error:
            skipped.append(f"{error.name}: not installed, skipped")
        except Exception as error:  # whatever versions raise that don't fit each other
            said = " ".join(str(error).split())[:150]
            skipped.append(f"{name}: {type(error).__name__}: {said}, skipped")
    return ready, list(dict.fromkeys(skipped))


def rate(played: Iterator[int], seconds: float) -> float:
    """Play for so many seconds; returns decisions per second."""
    decisions, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        decisions += next(played)
    return decisions / spent


def measure(ready: dict[str, Any], seconds: float, repeats: int) -> list[dict[str, Any]]:
    """Return sizes and rates; by rounds, so that a slow minute of the machine hits everybody."""
    gc.collect()
    gc.freeze()  # what the libraries hold is no garbage of the contestants
    rates: dict[str, list[float]] = {name: [] for name in ready}
    for repeat in range(repeats + 1):
        print(f"repeat {repeat} of {repeats}" if repeat else "warm-up", file=sys.stderr)
        for name, (played, _) in ready.items():
            rates[name].append(rate(played, seconds))
    medians = {name: statistics.median(found[1:]) for name, found in rates.items()}
    results = []
    for name, (_, sizes) in ready.items():
        group = "single table" if sizes["tables"] == 1 else "batched"
        baseline = medians.get(GROUPS[group][1])
        ratio = medians[name] / baseline if baseline else None
        found = {"median": medians[name], "repeats": rates[name][1:], "ratio": ratio}
        results.append({"group": group, "contestant": name, **sizes, **found})
    return results


def machine(names: list[str]) -> str:
    """Return a line about the machine and the versions of what was measured."""
    told = Path("/proc/cpuinfo")  # Linux; elsewhere Python may know the name
    models = re.findall(r"model name\s*: (.+)", told.read_text()) if told.exists() else []
    processor = (models or [platform.processor() or platform.machine()])[0]
    packages = dict.fromkeys(["numpy", "numba", *(name.partition("/")[0] for name in names)])
    packages |= {"jax": None} if "pgx" in packages else {}
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in packages)
    where = f"{processor}, {os.cpu_count()} cores, {platform.system()}"
    return f"{where}; Python {platform.python_version()}, {versions}"


def row(result: dict[str, Any]) -> list[str]:
    """Return the cells of a result."""
    repeats = result["repeats"]
    rates = [float(f"{value:.4g}") for value in (result["median"], min(repeats), max(repeats))]
    median, low, high = (f"{value:,.0f}" for value in rates)
    sizes = [f"{result[name]:,}" for name in COLUMNS[1:4]]
    ratio = "-" if result["ratio"] is None else f"{result['ratio']:.3g}"
    return [result["contestant"], *sizes, median, f"{low} - {high}", ratio]


def show(rows: list[list[str]], markdown: bool) -> None:
    """Print a table."""
    if markdown:
        rules = ["---", *["---:"] * (len(COLUMNS) - 1)]
        print("\n".join(f"| {' | '.join(cells)} |" for cells in (COLUMNS, rules, *rows)))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == COLUMNS[0] else "right")
    for cells in rows:
        table.add_row(*cells)
    Console(width=120).print(table)  # any width that the table fits in


def arguments() -> tuple[argparse.Namespace, list[str]]:
    """Return the arguments and the names that they choose."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds of a repeat (1)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats after a warm-up (5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[""], help="parts of names")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to a file")
    args = parser.parse_args()
    if not 0 < args.seconds < float("inf") or args.repeats < 1:
        parser.error("--seconds and --repeats: give numbers above 0")
    for part in args.only:
        if not any(part in name for name in CONTESTANTS):
            parser.error(f"--only {part}: in none of {', '.join(CONTESTANTS)}")
    if args.json and (args.json.is_dir() or not args.json.absolute().parent.is_dir()):
        parser.error(f"--json {args.json}: a folder, or in a folder that isn't there")
    return args, [name for name in CONTESTANTS if any(part in name for part in args.only)]


def main() -> None:
    """Measure and print."""
    args, names = arguments()
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's, of how it's imported
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        ready, skipped = prepare(names)  # RLCard prints
        results = measure(ready, args.seconds, args.repeats)
    about = machine(list(ready))
    print(f"{about}; {METHOD}; medians of {args.repeats} repeats of {args.seconds:g} s")
    for group, (meaning, baseline) in GROUPS.items():
        rows = [row(result) for result in results if result["group"] == group]
        if rows:
            print(f"\n{group}: {meaning}; the ratio is to {baseline}\n")
            show(rows, args.markdown)
    if skipped:
        print("\n" + "\n".join(skipped))
    if args.json:
        found = {"machine": about, "seconds": args.seconds, "results": results, "skipped": skipped}
        args.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
