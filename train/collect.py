"""Who plays a training's tables: here, in this process; in `train.cluster`, in many.

The tables are played in `learner.actors` parts. Each has tables and chance of its own, so where the
parts are played changes no result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cheat_env import Tables
from train.config import Config, ConfigError
from train.jobs import cluster_room
from train.networks import Networks
from train.opponents import Seating
from train.rollout import Batch, Played, Rollout, Room

#: What a part goes on from: the state of its tables, who sits there, and its generator.
Kept = dict[str, NDArray[Any]]


class Collectors(Protocol):
    """The parts of a training's tables, and whoever plays them."""

    def collect(self, progress: float) -> list[tuple[Batch, Played]]:
        """Play every table on; returns of each part what can be learned, and what ended."""
        ...

    def kept(self) -> list[Kept]:
        """Return what each part goes on from."""
        ...

    def go_on(self, kept: Sequence[Kept]) -> None:
        """Let each part go on from what was kept of it."""
        ...


class Here:
    """Plays all parts in this process, with as many threads as the networks have.

    Attributes:
        rollouts: one for each part.

    Raises `ConfigError` where there are fewer tables than games and numbers of seats.
    """

    def __init__(self, config: Config, networks: Networks) -> None:
        self._learner, self._networks = config.learner, networks
        self.rollouts = [open_rollout(config, part) for part in range(parts_of(config))]

    def collect(self, progress: float) -> list[tuple[Batch, Played]]:
        """Play every table on; returns of each part what can be learned, and what ended."""
        c, networks = self._learner, self._networks
        return networks.side_by_side(
            lambda part, rollout: rollout.collect(networks, c.gamma, c.gae_lambda, progress),
            self.rollouts,
        )

    def kept(self) -> list[Kept]:
        """Return what each part goes on from."""
        return [keep(rollout) for rollout in self.rollouts]

    def go_on(self, kept: Sequence[Kept]) -> None:
        """Let each part go on from what was kept of it."""
        for rollout, own in zip(self.rollouts, kept, strict=True):
            restore(rollout, own)


def collectors_at(cluster: str) -> Callable[[Config, Networks], Collectors]:
    """Return who plays the tables: this process, or the Ray cluster at an address.

    Raises `ClusterError` where Ray is not installed.
    """
    return partial(cluster_room().Cluster, cluster) if cluster else Here


# --- The parts ------------------------------------------------------------------------------------


def parts_of(config: Config) -> int:
    """Return in how many parts the tables are played: as many as are asked for, or can be filled.

    Raises `ConfigError` where there are fewer tables than games and numbers of seats.
    """
    learner, games = config.learner, config.game.rooms()
    if learner.tables < len(games):
        raise ConfigError(
            f"learner.tables {learner.tables}: must be at least {len(games)}, one for each game"
            " and number of seats"
        )
    return min(learner.actors, learner.tables // len(games))


def open_rollout(config: Config, part: int) -> Rollout:
    """Return a part's rollout, with an equal share of every game's tables."""
    learner, games, parts = config.learner, config.game.rooms(), parts_of(config)
    bounds = np.linspace(0, learner.tables, parts * len(games) + 1, dtype=int).tolist()
    ends = list(pairwise(bounds))[part * len(games) : (part + 1) * len(games)]
    rng = np.random.default_rng(learner.seed).spawn(parts)[part]
    rooms = [_open(config, *game, *own, rng) for game, own in zip(games, ends, strict=True)]
    return Rollout(part, rooms, learner.steps, rng, learner.critic, learner.truncation_ends)


def _open(
    config: Config, variant: Any, seats: int, first: int, last: int, rng: np.random.Generator
) -> Room:
    """Return the tables `first` .. `last - 1` of a training, with who sits there."""
    tables = Tables(variant, seats, last - first, seed=config.learner.seed, **config.game.rules)
    tables.reset(numbers=np.arange(first, last))
    return Room(tables, Seating(config.opponents, last - first, seats, rng))


def keep(rollout: Rollout) -> Kept:
    """Return what a rollout goes on from; the arrays are copies."""
    found = {"generator": np.array(json.dumps(rollout.rng.bit_generator.state))}
    for place, room in enumerate(rollout.rooms):
        found[f"{place}.state"] = np.array(room.tables.state).view(np.uint8)
        for name, values in room.seating.drawn().items():
            found[f"{place}.{name}"] = values.copy()
    return found


def restore(rollout: Rollout, kept: Kept) -> None:
    """Let a rollout of the same game and tables go on from what `keep` returned."""
    rollout.rng.bit_generator.state = json.loads(str(kept["generator"]))
    for place, room in enumerate(rollout.rooms):
        state = np.array(kept[f"{place}.state"])  # what comes from elsewhere is read-only
        room.tables.take_over(state.view(room.tables.state.dtype))
        for name, values in room.seating.drawn().items():
            values[:] = kept[f"{place}.{name}"]
