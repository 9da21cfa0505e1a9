"""`python benchmarks/cluster.py`: what a training on a Ray cluster costs, part by part.

Starts a cluster on this machine, trains with 1, 2 ... actors, each with its own 512 tables, and
prints a Markdown table for `docs/scaling.md`: medians over the rollouts of one run.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import time
from dataclasses import replace
from functools import partial

import ray

from train.cluster import Cluster
from train.command import parse
from train.selfplay import SelfPlay

#: Tables of each actor.
TABLES = 512
COLUMNS = (
    "actors",
    "decisions/s",
    "playing s",
    "learning s",
    "decisions",
    "batch MB",
    "weights MB",
)


def measure(actors: int, rollouts: int) -> list[float]:
    """Return a row of the table: medians over rollouts, the first of which only warms up."""
    config, _ = parse(["--config", "english.yaml", "--learner.threads", "1"])
    learner = replace(config.learner, actors=actors, tables=TABLES * actors)
    training = SelfPlay(replace(config, learner=learner), partial(Cluster, "local"))
    rows = []
    for _ in range(rollouts + 1):
        began = time.perf_counter()
        with training.networks.computing():
            batch, _ = training._collect()
            played = time.perf_counter()
            training.update(batch)
        rows.append((played - began, time.perf_counter() - played, len(batch.action)))
    playing, learning, decisions = (
        statistics.median(column) for column in zip(*rows[1:], strict=True)
    )
    size = len(pickle.dumps(batch, protocol=5)) / 2**20
    weights = len(pickle.dumps(training.networks.weights(), protocol=5)) / 2**20
    speed = decisions / (playing + learning)
    return [actors, speed, playing, learning, decisions, size, weights]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rollouts", type=int, default=8)
    options = parser.parse_args()
    print("|", " | ".join(COLUMNS), "|")
    print("|", " | ".join("---:" for _ in COLUMNS), "|")
    for actors in options.actors:
        row = measure(actors, options.rollouts)
        print("|", " | ".join(f"{value:,.4g}" for value in row), "|", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
