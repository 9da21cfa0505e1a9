"""Decisions per second, observation and mask written for every one, on one thread.

Every figure is the median of repeats after a warm-up, of random legal play at four seats where
nothing else is said.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cheat_env.aec import raw_env
from cheat_env.checked import env
from cheat_env.compiled import compiled
from cheat_env.rules import Rules
from cheat_env.state import State
from cheat_env.tables import Arrays, Game, Tables, step_tables

PLAYERS = 4
TABLES = 1024
REPEATS = 5
LOOP_STEPS = 1000
AEC_STEPS = 10_000
CALLS = 20_000
THREADED_TABLES = 4096
#: `--scaling` takes so many decisions a repeat, at these numbers of tables.
SCALING_DECISIONS = 500_000
SCALING_TABLES = tuple(4**power for power in range(9))
RATE = "decisions/s"
#: What a process that starts is timed at; it prints its seconds.
TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
IMPORT = TIMED.format("import cheat_env")
FIRST_STEP = TIMED.format(
    "import cheat_env; t = cheat_env.Tables(); t.step(t.action_mask.argmax(1))"
)
SHIFTS = (np.uint64(13), np.uint64(7), np.uint64(17))
HALF = np.uint64(32)


@compiled
def choose_random(mask: NDArray[np.int8], word: np.uint64, actions: NDArray[np.int64]) -> np.uint64:
    """Write a uniformly random legal action for every table; returns the generator's next word."""
    for t in range(len(mask)):
        word ^= word << SHIFTS[0]
        word ^= word >> SHIFTS[1]
        word ^= word << SHIFTS[2]
        legal = 0
        for a in range(mask.shape[1]):
            legal += mask[t, a]
        left = int(((word >> HALF) * np.uint64(legal)) >> HALF)
        for a in range(mask.shape[1]):
            if mask[t, a]:
                if left == 0:
                    actions[t] = a
                    break
                left -= 1
    return word


@compiled
def random_loop(
    state: State, game: Game, arrays: Arrays, actions: NDArray[np.int64], steps: int
) -> None:
    """Play random legal actions at every table without returning to Python."""
    word = np.uint64(0x9E3779B97F4A7C15)
    for _ in range(steps):
        word = choose_random(arrays.action_mask, word, actions)
        step_tables(state, game, arrays, actions, True, 0, len(actions))


def _loop(tables: Tables) -> float:
    actions = np.zeros(tables.num_tables, np.int64)
    start = time.perf_counter()
    random_loop(tables.state, tables.game, tables.arrays, actions, LOOP_STEPS)
    return LOOP_STEPS * tables.num_tables / (time.perf_counter() - start)


def _step(tables: Tables, steps: int) -> float:
    """Return the seconds that a call of `Tables.step` takes; choosing is outside the clock."""
    word, actions, spent = np.uint64(1), np.zeros(tables.num_tables, np.int64), 0.0
    for _ in range(steps):
        word = np.uint64(choose_random(tables.action_mask, word, actions))
        start = time.perf_counter()
        tables.step(actions)
        spent += time.perf_counter() - start
    return spent / steps


def _aec(env: raw_env) -> float:
    """Time `last` and `step` of an environment; actions are chosen outside the clock."""
    env.reset(seed=0)
    rng, spent = np.random.default_rng(0), 0.0
    for _ in range(AEC_STEPS):
        start = time.perf_counter()
        observation, _, terminated, truncated, _ = env.last()
        spent += time.perf_counter() - start
        if terminated or truncated:
            env.reset()
            observation = env.observe(env.agent_selection)
        legal = np.flatnonzero(observation["action_mask"])
        action = int(legal[rng.integers(len(legal))])
        start = time.perf_counter()
        env.step(action)
        spent += time.perf_counter() - start
    return AEC_STEPS / spent


#: A name, a unit and what to run for one figure.
Case: TypeAlias = tuple[str, str, Callable[[], float]]


def _cases() -> Iterator[Case]:
    """Yield everything that is measured."""
    layouts = (("english", "memory"), ("russian", "memory"), ("english", "table"))
    for variant, observation in layouts:
        tables = Tables(variant, PLAYERS, TABLES, observation=observation)
        name = f"{variant}/{observation}"
        yield f"loop/{name}", RATE, partial(_loop, tables)
        yield f"tables/{name}", RATE, partial(_rate, tables, LOOP_STEPS)
    single = Tables("english", PLAYERS, 1)
    yield "call/english", "us", lambda: 1e6 * _step(single, CALLS)
    for variant in ("english", "russian"):
        yield f"aec-raw/{variant}", RATE, partial(_aec, raw_env(variant, PLAYERS))
    yield "aec-env/english", RATE, partial(_aec, env("english", PLAYERS))
    one, two = (Tables("english", PLAYERS, THREADED_TABLES, threads=n) for n in (1, 2))
    yield "threads2/english", "x", lambda: _rate(two, LOOP_STEPS) / _rate(one, LOOP_STEPS)
    with tempfile.TemporaryDirectory() as cache:
        yield "start/import", "s", partial(_start, IMPORT, cache)
        yield "start/first-step", "s", partial(_start, FIRST_STEP)
        yield "start/later-step", "s", partial(_start, FIRST_STEP, cache)


def _scaling_cases() -> Iterator[Case]:
    """Yield how the cost grows with tables, seats and threads."""
    for num_tables in SCALING_TABLES:
        yield f"tables/{num_tables}", RATE, _scaled("english", PLAYERS, num_tables)
    for variant in ("russian", "marquoir"):
        low, high = Rules.load(variant).players
        for seats in range(low, high + 1):
            yield f"seats/{variant}/{seats}", RATE, _scaled(variant, seats, TABLES)
    for num_tables in (TABLES, THREADED_TABLES, SCALING_TABLES[-1]):
        for threads in range(1, (os.cpu_count() or 1) + 1):
            run = _scaled("english", PLAYERS, num_tables, threads)
            yield f"threads/{num_tables}/{threads}", RATE, run


def _scaled(variant: str, seats: int, num_tables: int, threads: int = 1) -> Callable[[], float]:
    tables = Tables(variant, seats, num_tables, threads=threads)
    return partial(_rate, tables, max(1, SCALING_DECISIONS // num_tables))


def _start(code: str, cache: str | None = None) -> float:
    """Return the seconds that a new process takes; without `cache` it compiles everything anew."""
    if cache is None:
        with tempfile.TemporaryDirectory() as empty:
            return _start(code, empty)
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(found.stdout)


def _rate(tables: Tables, steps: int) -> float:
    return tables.num_tables / _step(tables, steps)


def measure(cases: Iterator[Case]) -> dict[str, Any]:
    """Return machine, versions and results: name, unit, median and repeats of each."""
    results = []
    for name, unit, run in cases:
        run()
        repeats = [float(f"{run():.5g}") for _ in range(REPEATS)]
        median = statistics.median(repeats)
        results.append({"name": name, "unit": unit, "median": median, "repeats": repeats})
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }
    packages = ("numpy", "numba", "pettingzoo", "gymnasium")
    versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
    return {"machine": machine, "versions": versions, "results": results}


def main(as_json: bool, scaling: bool) -> None:
    """Measure and print, as a table or as JSON."""
    found = measure(_scaling_cases() if scaling else _cases())
    if as_json:
        print(json.dumps(found, indent=2))
        return
    print(f"{PLAYERS} players, {TABLES} tables, median of {REPEATS} repeats")
    for result in found["results"]:
        digits = 0 if result["unit"] == RATE else 2
        print(f"{result['name']:24} {result['median']:>12,.{digits}f} {result['unit']}")
