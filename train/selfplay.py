"""The learner: PPO on self-play in all seats, read from top to bottom.

Policy, optimiser, saving and loading are those of sb3-contrib's MaskablePPO, so a saved model
opens with `MaskablePPO.load`. Its rollout is replaced, since one policy plays all seats, and its
update, which normalises the logits three times and validates every minibatch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from agents import load
from agents.learned import CheatPolicy, LearnedAgent, network_of
from agents.shipped import ShippedAgent
from cheat_env import Rules
from train.collect import Collectors, Here, Kept
from train.config import Config, ConfigError
from train.networks import OBSERVATION, Judged, Networks, new_networks, see
from train.opponents import names_of
from train.results import versions
from train.rollout import Batch, Played

Metrics = dict[str, float]


class SelfPlay:
    """A policy in training, with everything that its training goes on from.

    Attributes:
        model: the MaskablePPO that holds policy and optimiser.
        critic: what values the whole table, or None.
        collectors: who plays the tables.
        names: the opponents whose record `Played` keeps.
        decisions: decisions learned from so far.
        updates: rollouts learned from so far.
        seconds: time that whoever trains has counted so far.
    """

    def __init__(
        self, config: Config, collectors: Callable[[Config, Networks], Collectors] = Here
    ) -> None:
        self._whole_config = config
        learner = self.config = config.learner
        self.rng = np.random.default_rng(learner.seed)
        self.model, self.networks = new_networks(learner)
        self.critic = self.networks.critic
        if learner.start:
            self._take_weights(learner.start, learner.hidden)
        self.collectors = collectors(config, self.networks)
        self.names = names_of(config.opponents)
        self.decisions = 0
        self.updates = 0
        self.seconds = 0.0

    @property
    def policy(self) -> CheatPolicy:
        """The network."""
        return self.model.policy

    def iterate(self) -> tuple[Metrics, Played]:
        """Play and learn once; returns the update's figures and what ended."""
        with self.networks.computing():
            batch, played = self._collect()
            while not len(batch.action):  # a short rollout may hold nothing to learn from
                batch, more = self._collect()
                played.add(more)
            metrics = self.update(batch)
        self.decisions += len(batch.action)
        self.updates += 1
        return metrics, played

    def _collect(self) -> tuple[Batch, Played]:
        """Play every table on; returns what can be learned, and what ended."""
        batches, ended = zip(*self.collectors.collect(self.progress()), strict=True)
        played = Played(len(self.names))
        for one in ended:
            played.add(one)
        return Batch.joined(batches), played

    def save_model(self, path: Path) -> None:
        """Write the policy as it is, with a header that tells how it came about."""
        game = self._whole_config.game
        self.model.told = {
            "games": [(Rules.load(v, **game.rules).name, seats) for v, seats in game.games()],
            "decisions": self.decisions,
            "seconds": round(self.seconds),
            "versions": versions() | {"torch": torch.__version__},
            "config": asdict(self._whole_config),
        }
        self.model.save(path)

    def save(self, directory: Path) -> None:
        """Write everything that the training goes on from into an existing directory."""
        self.save_model(directory / "model.zip")
        if self.critic:
            self.critic.save(directory / "critic.pt")
        kept = {
            f"{part}.{name}": values
            for part, own in enumerate(self.collectors.kept())
            for name, values in own.items()
        }
        np.savez(
            directory / "trainer.npz",
            decisions=self.decisions,
            updates=self.updates,
            seconds=self.seconds,
            generator=json.dumps(self.rng.bit_generator.state),
            **kept,
        )

    def restore(self, directory: Path) -> None:
        """Go on from what `save` wrote; the config must be of the same game and network."""
        self.model.set_parameters(directory / "model.zip", device="cpu")
        if self.critic:
            self.critic.restore(directory / "critic.pt")
        with np.load(directory / "trainer.npz") as saved:
            self.decisions, self.updates = int(saved["decisions"]), int(saved["updates"])
            self.seconds = float(saved["seconds"])
            self.rng.bit_generator.state = json.loads(str(saved["generator"]))
            kept: dict[int, Kept] = {}
            for name in saved.files:
                part, _, own = name.partition(".")
                if own:
                    kept.setdefault(int(part), {})[own] = saved[name]
        self.collectors.go_on([kept[part] for part in range(len(kept))])

    def progress(self) -> float:
        """Return the share of the training that is done, 0 .. 1."""
        return min(self.decisions / self.config.total_decisions, 1.0)

    def update(self, batch: Batch) -> Metrics:
        """Improve the policy on one rollout by PPO's clipped objective (Schulman et al. 2017)."""
        c, done = self.config, self.progress()
        rate = c.learning_rate + done * (c.final_learning_rate - c.learning_rate)
        fall = min(done / c.entropy_until, 1.0) if c.entropy_until else 1.0
        entropy_weight = c.entropy + fall * (c.final_entropy - c.entropy)
        improve = Improvement(self, batch, rate, entropy_weight)
        sums: dict[str, float] = {}
        minibatches = 0
        for _ in range(c.epochs):
            order = torch.from_numpy(self.rng.permutation(len(batch.action)))
            for rows in order.split(c.minibatch):
                if len(rows) < c.minibatch // 2 and len(rows) < len(order):
                    continue  # a small rest would weigh as much as a whole minibatch
                for name, value in improve.step(rows).items():
                    sums[name] = sums.get(name, 0.0) + value
                minibatches += 1
        means = {name: value / minibatches for name, value in sums.items()}
        returns = batch.value + batch.advantage
        unexplained = float(np.var(batch.advantage) / max(float(np.var(returns)), 1e-8))
        return means | {
            "explained_variance": 1 - unexplained,
            "learning_rate": rate,
            "entropy_weight": entropy_weight,
        }

    def _take_weights(self, name: str, hidden: tuple[int, ...]) -> None:
        """Begin from the weights of a saved model, and of its critic where one lies beside it."""
        start = start_model(name)
        if tuple(start.hidden) != tuple(hidden):
            raise ConfigError(
                f"learner.start {name!r}: has layers {list(start.hidden)},"
                f" learner.hidden is {list(hidden)}"
            )
        self.policy.load_state_dict(start.state_dict())
        critic = Path(name).with_name("critic.pt")
        if self.critic and critic.exists():
            self.critic.restore(critic, optimizer=False)


class Improvement:
    """The gradient steps on one rollout."""

    def __init__(self, training: SelfPlay, batch: Batch, rate: float, entropy: float) -> None:
        self._config, self._networks = training.config, training.networks
        self._entropy_weight = entropy
        self._modules = [m for m in (training.policy, training.critic) if m is not None]
        for module in self._modules:
            for group in module.optimizer.param_groups:
                group["lr"] = rate
        self._seen = see(batch.observation, batch.hidden, batch.mask)
        self._action = torch.from_numpy(batch.action)
        self._old = torch.from_numpy(batch.log_probability)
        self._advantage = torch.from_numpy(batch.advantage)
        self._returns = torch.from_numpy(batch.value + batch.advantage)

    def step(self, rows: torch.Tensor) -> Metrics:
        """Take one gradient step on a minibatch; returns its figures, means over its rows."""
        advantage = self._advantage[rows]
        deviation, mean = torch.std_mean(advantage, correction=0)
        scale = (float(mean), float(deviation) + 1e-8, 1 / len(rows))
        for module in self._modules:
            module.optimizer.zero_grad()
        figures = self._networks.backward(
            self._seen, rows, lambda judged, some: self._loss(judged, some, *scale)
        )
        for module in self._modules:
            clip_grad_norm_(module.parameters(), self._config.max_gradient)
            module.optimizer.step()
        return figures

    def _loss(
        self, judged: Judged, rows: torch.Tensor, mean: float, deviation: float, weight: float
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return PPO's loss on some rows of a minibatch, each of the same weight, and figures."""
        c, logs = self._config, judged.log_probabilities
        advantage = (self._advantage[rows] - mean) / deviation
        change = logs.gather(1, self._action[rows, None])[:, 0] - self._old[rows]
        ratio = change.exp()
        clipped = ratio.clamp(1 - c.clip, 1 + c.clip)
        policy_loss = -weight * torch.min(advantage * ratio, advantage * clipped).sum()
        value_loss = weight * (judged.value - self._returns[rows]).square().sum()
        entropy = -weight * (logs.softmax(dim=1) * logs).sum()  # a masked action has chance 0
        loss = policy_loss + c.value_weight * value_loss - self._entropy_weight * entropy
        figures = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
        if judged.worth is not None:
            critic_loss = weight * (judged.worth - self._returns[rows]).square().sum()
            loss = loss + c.value_weight * critic_loss
            figures["critic_loss"] = critic_loss
        with torch.no_grad():
            figures["approx_kl"] = weight * (ratio - 1 - change).sum()
            figures["clip_fraction"] = weight * ((ratio - 1).abs() > c.clip).float().sum()
        return loss, figures


def start_model(name: str) -> CheatPolicy:
    """Return the network of a model to start from; raises `ConfigError` or `AgentError`."""
    agent = load(name)
    if not isinstance(agent, LearnedAgent | ShippedAgent):
        raise ConfigError(f"learner.start {name!r}: must be a model, by its path or its name")
    if agent.observation != OBSERVATION:
        raise ConfigError(
            f"learner.start {name!r}: reads {agent.observation!r}, the training {OBSERVATION!r}"
        )
    return network_of(agent) if isinstance(agent, ShippedAgent) else agent.policy
