"""Rollouts in all seats, and the advantages of every seat's own decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from agents.shipped import sample
from cheat_env import Tables
from cheat_env.compiled import compiled
from cheat_env.options import MAX_SEATS
from train.critic import HIDDEN, see_hidden
from train.networks import Networks
from train.opponents import SELF_PLAY, Seating


@dataclass
class Batch:
    """The decisions of a rollout that can be learned from, m of them.

    Shapes: observation int8 (m, D), hidden int8 (m, HIDDEN), mask int8 (m, 46); the rest (m,).
    """

    observation: NDArray[np.int8]
    hidden: NDArray[np.int8]
    mask: NDArray[np.int8]
    action: NDArray[np.int64]
    log_probability: NDArray[np.float32]
    value: NDArray[np.float32]
    advantage: NDArray[np.float32]

    @staticmethod
    def joined(batches: Sequence[Batch]) -> Batch:
        """Return the decisions of several rollouts."""
        names = [field.name for field in fields(Batch)]
        return Batch(*(np.concatenate([getattr(b, name) for b in batches]) for name in names))


class Played:
    """What ended: deals, truncated deals, and the learner's record against each kind of opponent.

    Attributes:
        deals: deals that ended.
        truncated: those of them that were truncated.
        against: deals that ended by the rules, by place of the opponents in `Seating.names`.
        won: those of them that the learner won (where the game names losers: did not lose); of
            those against "guests" what the guest won.
    """

    def __init__(self, opponents: int) -> None:
        self.deals = 0
        self.truncated = 0
        self.against = np.zeros(opponents, np.int64)
        self.won = np.zeros(opponents, np.int64)

    def add(self, other: Played) -> None:
        """Add what ended elsewhere."""
        self.deals += other.deals
        self.truncated += other.truncated
        self.against += other.against
        self.won += other.won

    def shares(self) -> NDArray[np.float64]:
        """Return the share of deals won, by opponent; NaN where none ended."""
        return np.divide(
            self.won, self.against, out=np.full(len(self.won), np.nan), where=self.against > 0
        )


@dataclass
class Room:
    """The tables of one game for one number of players, and who sits at them."""

    tables: Tables
    seating: Seating

    @property
    def game(self) -> tuple[str, int]:
        """The game's name and the number of seats."""
        return self.tables.rules.name, self.tables.num_players


class Rollout:
    """Plays the tables with the current policy and keeps what it decided.

    A seat's decisions form a trajectory of their own, closed by its own reward, also when the deal
    ends on another seat's move. Moves with one legal action are played but not learned.

    Args:
        part: whose copy of the networks decides.
        rooms: where it plays; the arrays hold their tables one room after the other.
        steps: actions at each table.
        rng: what the policy's and the others' choices are drawn from.
        critic: whether to keep what no seat sees.
        truncation_ends: whether a truncated deal is over, and worth what it paid.
    """

    def __init__(
        self,
        part: int,
        rooms: Sequence[Room],
        steps: int,
        rng: np.random.Generator,
        critic: bool = False,
        truncation_ends: bool = False,
    ) -> None:
        self.part, self.rooms, self.rng, self._critic = part, rooms, rng, critic
        self._truncation_ends = truncation_ends
        bounds = np.cumsum([0, *(room.tables.num_tables for room in rooms)])
        self._places = [slice(a, b) for a, b in pairwise(bounds)]
        n = int(bounds[-1])
        first = rooms[0].tables
        self.observation = np.zeros((steps, n, first.layout.size), np.int8)
        self.hidden = np.zeros((steps, n, HIDDEN * critic), np.int8)
        self.mask = np.zeros((steps, n, first.action_mask.shape[1]), np.int8)
        self.seat = np.zeros((steps, n), np.int8)
        self.decided = np.zeros((steps, n), np.bool_)
        self._learner = np.zeros(n, np.bool_)  # the seats to act that it plays
        self.action = np.zeros((steps, n), np.int64)
        self.log_probability = np.zeros((steps, n), np.float32)
        self.value = np.zeros((steps, n), np.float32)
        self.reward = np.zeros((steps, n, MAX_SEATS), np.float32)
        self.terminated = np.zeros((steps, n), np.bool_)
        self.truncated = np.zeros((steps, n), np.bool_)

    def collect(
        self, networks: Networks, gamma: float, gae_lambda: float, progress: float
    ) -> tuple[Batch, Played]:
        """Play every table on and return what can be learned, and what ended."""
        played = Played(len(self.rooms[0].seating.names))
        for step in range(len(self.seat)):
            self._look(step)
            self._decide(networks, step)
            for room, at in zip(self.rooms, self._places, strict=True):
                self._play(room, at, step)
                ended = np.flatnonzero(room.tables.terminated | room.tables.truncated)
                _count(room, ended, played)
                room.seating.redraw(ended, progress)
        advantage = np.zeros_like(self.value)
        usable = np.zeros_like(self.decided)
        estimate_advantages(
            self.seat,
            self.decided,
            self.value,
            self.reward,
            self.terminated,
            self.truncated,
            gamma,
            gae_lambda,
            advantage,
            usable,
        )
        batch = Batch(
            self.observation[usable],
            self.hidden[usable],
            self.mask[usable],
            self.action[usable],
            self.log_probability[usable],
            self.value[usable],
            advantage[usable],
        )
        return batch, played

    def _look(self, step: int) -> None:
        """Keep what the seats to act see, and whether the learner has a choice there."""
        for room, at in zip(self.rooms, self._places, strict=True):
            tables = room.tables
            self.seat[step, at] = tables.seat
            self.observation[step, at] = tables.observation
            self.mask[step, at] = tables.action_mask
            if self._critic:
                see_hidden(tables.state, tables.game, self.hidden[step, at])
            seats = (np.arange(tables.num_tables), tables.seat)
            self._learner[at] = room.seating.learner[seats]
        self.action[step] = np.argmax(self.mask[step], axis=1)  # the move of who has no choice
        self.decided[step] = self._learner & (self.mask[step].sum(axis=1) > 1)

    def _decide(self, networks: Networks, step: int) -> None:
        """Choose where the learner has a choice."""
        rows = np.flatnonzero(self.decided[step])
        log_probabilities, value = networks.judge(
            self.part, self.observation[step, rows], self.hidden[step, rows], self.mask[step, rows]
        )
        chosen = sample(log_probabilities, self.rng.random(len(rows)))
        self.action[step, rows] = chosen
        self.log_probability[step, rows] = log_probabilities[np.arange(len(rows)), chosen]
        self.value[step, rows] = value

    def _play(self, room: Room, at: slice, step: int) -> None:
        """Let the others choose, and play every action of a room."""
        tables, seating, actions = room.tables, room.seating, self.action[step, at]
        others = ~self._learner[at]
        seating.act(tables.observation, tables.action_mask, tables.seat, others, actions)
        tables.step(actions)
        self.reward[step, at, : tables.num_players] = tables.reward
        over = tables.truncated & self._truncation_ends
        self.terminated[step, at] = tables.terminated | over
        self.truncated[step, at] = tables.truncated & ~over


def _count(room: Room, ended: NDArray[np.int64], played: Played) -> None:
    """Count the deals that ended, and those that who sat alone among others won."""
    tables, seating = room.tables, room.seating
    played.deals += len(ended)
    played.truncated += int(tables.truncated[ended].sum())
    mixed = ended[seating.kind[ended] != SELF_PLAY]
    finished = mixed[tables.terminated[mixed]]
    own = tables.reward[finished][seating.alone(finished)]
    np.add.at(played.against, seating.which[finished], 1)
    np.add.at(played.won, seating.which[finished], own > 0)


@compiled
def estimate_advantages(
    seat: NDArray[np.int8],
    decided: NDArray[np.bool_],
    value: NDArray[np.float32],
    reward: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    gamma: float,
    gae_lambda: float,
    advantage: NDArray[np.float32],
    usable: NDArray[np.bool_],
) -> None:
    """Write generalised advantages (Schulman et al. 2016) along each seat's own decisions.

    Arrays are (steps, n), reward (steps, n, seats). The last decision of a seat before the end of
    the rollout, or before a truncation, only lends its value to the one before: it is not `usable`.
    """
    steps, tables, seats = reward.shape
    next_value = np.zeros(seats)
    next_advantage = np.zeros(seats)
    earned = np.zeros(seats)
    closed = np.zeros(seats, np.bool_)
    for t in range(tables):
        closed[:] = False
        for k in range(steps - 1, -1, -1):
            if terminated[k, t] or truncated[k, t]:
                next_value[:] = 0
                next_advantage[:] = 0
                earned[:] = 0
                closed[:] = terminated[k, t]
            for s in range(seats):
                earned[s] += reward[k, t, s]
            if decided[k, t]:
                s = seat[k, t]
                if closed[s]:
                    surprise = earned[s] + gamma * next_value[s] - value[k, t]
                    advantage[k, t] = surprise + gamma * gae_lambda * next_advantage[s]
                    usable[k, t] = True
                next_value[s] = value[k, t]
                next_advantage[s] = advantage[k, t]
                earned[s] = 0
                closed[s] = True
