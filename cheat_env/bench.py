"""Decisions per second, observation and mask written for every one, on one thread.

Every figure is the median of repeats after a warm-up, of random legal play at four seats.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cheat_env.aec import raw_env
from cheat_env.compiled import compiled
from cheat_env.rules import Options
from cheat_env.state import State
from cheat_env.tables import Arrays, Tables, step_tables

PLAYERS = 4
TABLES = 1024
REPEATS = 5
LOOP_STEPS = 1000
AEC_STEPS = 10_000
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
    state: State, options: Options, arrays: Arrays, actions: NDArray[np.int64], steps: int
) -> None:
    """Play random legal actions at every table without returning to Python."""
    word = np.uint64(0x9E3779B97F4A7C15)
    for _ in range(steps):
        word = choose_random(arrays.action_mask, word, actions)
        step_tables(state, options, arrays, actions, True, 0, len(actions))


def _loop(tables: Tables) -> float:
    actions = np.zeros(tables.num_tables, np.int64)
    start = time.perf_counter()
    random_loop(tables.state, tables.options, tables.arrays, actions, LOOP_STEPS)
    return LOOP_STEPS * tables.num_tables / (time.perf_counter() - start)


def _step(tables: Tables) -> float:
    """Time `Tables.step` alone; the actions are chosen outside the clock."""
    word, actions, spent = np.uint64(1), np.zeros(tables.num_tables, np.int64), 0.0
    for _ in range(LOOP_STEPS):
        word = np.uint64(choose_random(tables.action_mask, word, actions))
        start = time.perf_counter()
        tables.step(actions)
        spent += time.perf_counter() - start
    return LOOP_STEPS * tables.num_tables / spent


def _aec(variant: str) -> float:
    """Time `last` and `step` of the raw environment; actions are chosen outside the clock."""
    env = raw_env(variant, PLAYERS)
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


def _cases() -> dict[str, Callable[[], float]]:
    cases: dict[str, Callable[[], float]] = {}
    for kind, run in (("loop", _loop), ("tables", _step)):
        for variant, observation in (
            ("english", "memory"),
            ("russian", "memory"),
            ("english", "table"),
        ):
            tables = Tables(variant, PLAYERS, TABLES, observation=observation)
            cases[f"{kind}/{variant}/{observation}"] = partial(run, tables)
    for variant in ("english", "russian"):
        cases[f"aec-raw/{variant}"] = partial(_aec, variant)
    return cases


def measure() -> dict[str, Any]:
    """Return machine, versions and results: median and repeats in decisions/s."""
    results = []
    for name, run in _cases().items():
        run()
        repeats = [round(run()) for _ in range(REPEATS)]
        median = statistics.median(repeats)
        results.append({"name": name, "unit": "decisions/s", "median": median, "repeats": repeats})
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }
    packages = ("numpy", "numba", "pettingzoo", "gymnasium")
    versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
    return {"machine": machine, "versions": versions, "results": results}


def main(as_json: bool) -> None:
    """Measure and print, as a table or as JSON."""
    found = measure()
    if as_json:
        print(json.dumps(found, indent=2))
        return
    print(f"{PLAYERS} players, {TABLES} tables, median of {REPEATS} repeats, decisions/s")
    for result in found["results"]:
        print(f"{result['name']:24} {result['median']:>12,.0f}")
