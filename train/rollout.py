"""Rollouts in all seats, and the advantages of every seat's own decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from agents.learned import CheatPolicy, sample
from cheat_env import Tables
from cheat_env.compiled import compiled
from train.opponents import SELF_PLAY, Seating


@dataclass
class Batch:
    """The decisions of a rollout that can be learned from, m of them.

    Shapes: observation int8 (m, D), mask int8 (m, 46); the rest (m,).
    """

    observation: NDArray[np.int8]
    mask: NDArray[np.int8]
    action: NDArray[np.int64]
    log_probability: NDArray[np.float32]
    value: NDArray[np.float32]
    advantage: NDArray[np.float32]


class Played:
    """What ended: deals, truncated deals, and the learner's record against each kind of opponent.

    Attributes:
        deals: deals that ended.
        truncated: those of them that were truncated.
        against: deals that ended by the rules, by place of the opponents in `Seating.names`.
        won: those of them that the learner won (where the game names losers: did not lose).
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


class Rollout:
    """Plays the tables with the current policy and keeps what it decided.

    A seat's decisions form a trajectory of their own, closed by its own reward, also when the deal
    ends on another seat's move. Moves with one legal action are played but not learned.
    """

    def __init__(
        self, tables: Tables, seating: Seating, steps: int, rng: np.random.Generator
    ) -> None:
        n = tables.num_tables
        self.tables, self.seating, self.rng = tables, seating, rng
        self.observation = np.zeros((steps, n, tables.layout.size), np.int8)
        self.mask = np.zeros((steps, *tables.action_mask.shape), np.int8)
        self.seat = np.zeros((steps, n), np.int8)
        self.decided = np.zeros((steps, n), np.bool_)
        self.action = np.zeros((steps, n), np.int64)
        self.log_probability = np.zeros((steps, n), np.float32)
        self.value = np.zeros((steps, n), np.float32)
        self.reward = np.zeros((steps, *tables.reward.shape), np.float32)
        self.terminated = np.zeros((steps, n), np.bool_)
        self.truncated = np.zeros((steps, n), np.bool_)

    def collect(
        self, policy: CheatPolicy, gamma: float, gae_lambda: float, progress: float
    ) -> tuple[Batch, Played]:
        """Play every table on and return what can be learned, and what ended."""
        played = Played(len(self.seating.names))
        for step in range(len(self.seat)):
            self._act(policy, step)
            self.tables.step(self.action[step])
            self.reward[step] = self.tables.reward
            self.terminated[step] = self.tables.terminated
            self.truncated[step] = self.tables.truncated
            ended = np.flatnonzero(self.tables.terminated | self.tables.truncated)
            self._count(ended, played)
            self.seating.redraw(ended, progress)
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
            self.mask[usable],
            self.action[usable],
            self.log_probability[usable],
            self.value[usable],
            advantage[usable],
        )
        return batch, played

    def _act(self, policy: CheatPolicy, step: int) -> None:
        """Choose an action for every table: the policy's, or that of who sits there."""
        tables, actions = self.tables, self.action[step]
        seat = self.seat[step] = tables.seat
        observation = self.observation[step] = tables.observation
        mask = self.mask[step] = tables.action_mask
        learner = self.seating.learner[np.arange(len(seat)), seat]
        rows = np.flatnonzero(learner)
        with torch.inference_mode():
            log_probabilities, value = policy.logits_and_value(
                torch.from_numpy(observation[rows]).float(), torch.from_numpy(mask[rows]).bool()
            )
        chosen = sample(log_probabilities.numpy(), self.rng.random(len(rows)))
        actions[rows] = chosen
        self.log_probability[step, rows] = log_probabilities.numpy()[np.arange(len(rows)), chosen]
        self.value[step, rows] = value.numpy()
        self.decided[step] = learner & (mask.sum(axis=1) > 1)
        self.seating.act(observation, mask, seat, ~learner, actions)

    def _count(self, ended: NDArray[np.int64], played: Played) -> None:
        played.deals += len(ended)
        played.truncated += int(self.tables.truncated[ended].sum())
        mixed = ended[self.seating.kind[ended] != SELF_PLAY]
        finished = mixed[self.tables.terminated[mixed]]
        own = self.tables.reward[finished][self.seating.learner[finished]]
        np.add.at(played.against, self.seating.which[finished], 1)
        np.add.at(played.won, self.seating.which[finished], own > 0)


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
