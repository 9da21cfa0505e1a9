"""Many machines: a training's parts, and an evaluation's jobs, on a Ray cluster.

Every part of a training's tables has an actor, which gets the weights before each rollout. The
learner keeps what every part goes on from, so a part whose actor is lost is played again by another
one and comes to the same: a loss costs time and changes no result.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import ray
from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, WorkerCrashedError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from train import results
from train.collect import Kept, keep, open_rollout, parts_of, restore
from train.config import Config
from train.jobs import ClusterError, Job, play_elsewhere
from train.matches import Cell, Result
from train.networks import Networks, Weights, new_networks
from train.rollout import Batch, Played

#: What is thrown where a process or a machine is lost, not where our own code fails.
LOST = (RayActorError, ObjectLostError, WorkerCrashedError, NodeDiedError)
#: How long to wait for the cluster's address to answer.
CONNECT_SECONDS = 10
#: How often in a row a part is begun anew.
TRIES = 5


def connect(address: str) -> None:
    """Join the cluster at an address, "auto": the one that this machine is part of.

    Raises `ClusterError` where there is none.
    """
    if ray.is_initialized():
        return
    try:
        host, _, port = address.rpartition(":")
        if host and port.isdecimal():  # Ray would ask for minutes
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        said = " ".join(str(error).split())
        raise ClusterError(f"--cluster {address!r}: {said}") from None


# --- Training -------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where a part is played: what code runs there, on which machine, in which process."""

    code: str
    node: str
    process: int


class Part:
    """Plays one part of a training's tables, in an actor's process."""

    def __init__(self, config: Config, part: int) -> None:
        self._learner = replace(config.learner, threads=1)
        _, self._networks = new_networks(self._learner)
        self._rollout = open_rollout(config, part)

    def place(self) -> Place:
        """Return where the part is played."""
        return Place(results.code(), ray.get_runtime_context().get_node_id(), os.getpid())

    def kept(self) -> Kept:
        """Return what the part goes on from."""
        return keep(self._rollout)

    def go_on(self, kept: Kept) -> None:
        """Let the part go on from what was kept of it."""
        restore(self._rollout, kept)

    def collect(self, weights: Weights, progress: float) -> tuple[Batch, Played, Kept]:
        """Play every table on with these weights."""
        c, networks = self._learner, self._networks
        networks.take(weights)
        with networks.computing():
            found = self._rollout.collect(networks, c.gamma, c.gae_lambda, progress)
        return *found, self.kept()


class Cluster:
    """Plays the parts of a training on a cluster; see `train.collect.Collectors`.

    Args:
        address: where the cluster is.
        config: of the training.
        networks: whose weights the parts play with.

    Attributes:
        actors: one for each part.

    Raises `ClusterError` where there is no cluster, or where other code runs on it.
    """

    def __init__(self, address: str, config: Config, networks: Networks) -> None:
        connect(address)
        self._config, self._networks = config, networks
        self.actors = [self._start(part) for part in range(parts_of(config))]
        for found in self.places():
            if found.code != results.code():
                raise ClusterError(
                    f"--cluster {address!r}: runs {found.code}, the learner {results.code()}"
                )
        self._kept: list[Kept] = ray.get([actor.kept.remote() for actor in self.actors])

    def _start(self, part: int) -> Any:
        """Start an actor: each on another machine, as far as there are others."""
        machines = _machines()
        where = NodeAffinitySchedulingStrategy(machines[part % len(machines)], soft=True)
        return ray.remote(Part).options(scheduling_strategy=where).remote(self._config, part)

    def places(self) -> list[Place]:
        """Return where each part is played."""
        found: list[Place] = ray.get([actor.place.remote() for actor in self.actors])
        return found

    def collect(self, progress: float) -> list[tuple[Batch, Played]]:
        """Play every table on; returns of each part what can be learned, and what ended."""
        weights = ray.put(self._networks.weights())

        def ask(part: int) -> Any:
            return self.actors[part].collect.remote(weights, progress)

        asked = [ask(part) for part in range(len(self.actors))]
        found = []
        for part, reference in enumerate(asked):
            batch, played, self._kept[part] = self._answer(part, reference, ask)
            found.append((batch, played))
        return found

    def _answer(self, part: int, asked: Any, ask: Callable[[int], Any]) -> Any:
        """Return what was asked of a part, from a new actor where the old one is lost."""
        for _ in range(TRIES):
            try:
                return ray.get(asked)
            except LOST as error:
                said = " ".join(str(error).split())
            ray.kill(self.actors[part])
            self.actors[part] = self._start(part)
            self.actors[part].go_on.remote(self._kept[part])
            asked = ask(part)
        raise ClusterError(f"part {part} was lost {TRIES} times in a row: {said:.200}")

    def kept(self) -> list[Kept]:
        """Return what each part goes on from."""
        return self._kept

    def go_on(self, kept: Sequence[Kept]) -> None:
        """Let each part go on from what was kept of it."""
        self._kept = list(kept)
        ray.get([a.go_on.remote(own) for a, own in zip(self.actors, kept, strict=True)])


def _machines() -> list[str]:
    """Return the machines that are there, each as often as it has processors, in turn."""
    slots = [
        (slot, node["NodeID"])
        for node in ray.nodes()
        if node["Alive"]
        for slot in range(int(node["Resources"].get("CPU", 0)))
    ]
    return [machine for _, machine in sorted(slots)]


# --- Evaluation -----------------------------------------------------------------------------------


def play_jobs(
    address: str, cells: Sequence[Cell], jobs: Sequence[Job], sources: Mapping[str, str]
) -> Iterator[tuple[Job, Result]]:
    """Play jobs on a cluster and yield each with its result, in the order in which they end.

    Every machine loads the agents from `sources`. A job that is lost is played again.
    """
    connect(address)
    task = ray.remote(play_elsewhere)
    playing = {task.remote(cells[job.cell], dict(sources), job.chunk): job for job in jobs}
    while playing:
        (done,), _ = ray.wait(list(playing), num_returns=1)
        yield playing.pop(done), ray.get(done)
