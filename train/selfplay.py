"""The learner: PPO on self-play in all seats, read from top to bottom.

Policy, optimiser, saving and loading are those of sb3-contrib's MaskablePPO, so a saved model
opens with `MaskablePPO.load`. Its rollout is replaced, since one policy plays all seats, and its
update, which normalises the logits three times and validates every minibatch.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from agents import load
from agents.learned import CheatPolicy, LearnedAgent
from cheat_env import Tables
from cheat_env.actions import NUM_ACTIONS
from train.config import Config, ConfigError
from train.opponents import Seating
from train.rollout import Batch, Played, Rollout

Metrics = dict[str, float]

#: What a training reads.
OBSERVATION = "memory"


class SelfPlay:
    """A policy in training, with everything that its training goes on from.

    Attributes:
        model: the MaskablePPO that holds policy and optimiser.
        decisions: decisions learned from so far.
        updates: rollouts learned from so far.
    """

    def __init__(self, config: Config) -> None:
        learner, game = config.learner, config.game
        self.config = learner
        torch.set_num_threads(learner.threads)
        torch.manual_seed(learner.seed)
        self.rng = np.random.default_rng(learner.seed)
        self.tables = Tables(
            game.variant, game.num_players, learner.tables, seed=learner.seed, **game.rules
        )
        self.seating = Seating(config.opponents, learner.tables, game.num_players, self.rng)
        self.rollout = Rollout(self.tables, self.seating, learner.steps, self.rng)
        self.model = new_model(self.tables, learner.hidden, learner.seed)
        if learner.start:
            _take_weights(self.policy, learner.start, learner.hidden)
        self.decisions = 0
        self.updates = 0

    @property
    def policy(self) -> CheatPolicy:
        """The network."""
        return self.model.policy

    def iterate(self) -> tuple[Metrics, Played]:
        """Play and learn once; returns the update's figures and what ended."""
        c = self.config
        self.policy.set_training_mode(False)
        how = (self.policy, c.gamma, c.gae_lambda, self.progress())
        batch, played = self.rollout.collect(*how)
        while not len(batch.action):  # a short rollout may hold nothing to learn from
            batch, more = self.rollout.collect(*how)
            played.add(more)
        metrics = self.update(batch)
        self.decisions += len(batch.action)
        self.updates += 1
        return metrics, played

    def save(self, directory: Path) -> None:
        """Write everything that the training goes on from into an existing directory."""
        self.model.save(directory / "model.zip")
        np.savez(
            directory / "trainer.npz",
            state=np.asarray(self.tables.state).view(np.uint8),
            kind=self.seating.kind,
            learner=self.seating.learner,
            habits=self.seating.habits,
            agent=self.seating.agent,
            which=self.seating.which,
            decisions=self.decisions,
            updates=self.updates,
            rng=json.dumps(self.rng.bit_generator.state),
        )

    def restore(self, directory: Path) -> None:
        """Go on from what `save` wrote; the config must be of the same game and network."""
        self.model.set_parameters(directory / "model.zip", device="cpu")
        with np.load(directory / "trainer.npz") as saved:
            self.tables.take_over(saved["state"].view(self.tables.state.dtype))
            self.seating.kind[:] = saved["kind"]
            self.seating.learner[:] = saved["learner"]
            self.seating.habits[:] = saved["habits"]
            self.seating.which[:] = saved["which"]
            if "agent" in saved:  # older checkpoints had none but rules
                self.seating.agent[:] = saved["agent"]
            self.decisions, self.updates = int(saved["decisions"]), int(saved["updates"])
            self.rng.bit_generator.state = json.loads(str(saved["rng"]))

    def progress(self) -> float:
        """Return the share of the training that is done, 0 .. 1."""
        return min(self.decisions / self.config.total_decisions, 1.0)

    def update(self, batch: Batch) -> Metrics:
        """Improve the policy on one rollout by PPO's clipped objective (Schulman et al. 2017)."""
        c, done = self.config, self.progress()
        rate = c.learning_rate + done * (c.final_learning_rate - c.learning_rate)
        fall = min(done / c.entropy_until, 1.0) if c.entropy_until else 1.0
        entropy_weight = c.entropy + fall * (c.final_entropy - c.entropy)
        for group in self.policy.optimizer.param_groups:
            group["lr"] = rate
        self.policy.set_training_mode(True)
        sums: dict[str, float] = {}
        minibatches = 0
        for _ in range(c.epochs):
            order = self.rng.permutation(len(batch.action))
            for first in range(0, len(order), c.minibatch):
                rows = order[first : first + c.minibatch]
                if len(rows) < c.minibatch // 2 and first > 0:
                    continue  # a small rest would weigh as much as a whole minibatch
                for name, value in self._step(batch, rows, entropy_weight).items():
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

    def _step(self, batch: Batch, rows: np.ndarray, entropy_weight: float) -> Metrics:
        """Take one gradient step on a minibatch."""
        c = self.config
        observation = torch.from_numpy(batch.observation[rows]).float()
        mask = torch.from_numpy(batch.mask[rows]).bool()
        action = torch.from_numpy(batch.action[rows])
        old = torch.from_numpy(batch.log_probability[rows])
        advantage = torch.from_numpy(batch.advantage[rows])
        returns = torch.from_numpy(batch.value[rows]) + advantage
        advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)

        with torch.autocast("cpu", torch.bfloat16, enabled=c.bfloat16):
            log_probabilities, value = self.policy.logits_and_value(observation, mask)
        change = log_probabilities.gather(1, action[:, None])[:, 0] - old
        ratio = change.exp()
        clipped = ratio.clamp(1 - c.clip, 1 + c.clip)
        policy_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
        value_loss = functional.mse_loss(value, returns)
        surprise = (log_probabilities.exp() * log_probabilities).masked_fill(~mask, 0)
        entropy = -surprise.sum(dim=1).mean()
        loss = policy_loss + c.value_weight * value_loss - entropy_weight * entropy

        self.policy.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.policy.parameters(), c.max_gradient)
        self.policy.optimizer.step()
        with torch.no_grad():
            return {
                "policy_loss": policy_loss.item(),
                "value_loss": value_loss.item(),
                "entropy": entropy.item(),
                "approx_kl": (ratio - 1 - change).mean().item(),
                "clip_fraction": ((ratio - 1).abs() > c.clip).float().mean().item(),
            }


def new_model(tables: Tables, hidden: tuple[int, ...], seed: int) -> MaskablePPO:
    """Return an untrained model for the observations of these tables."""
    model = MaskablePPO(
        CheatPolicy,
        env=None,
        n_steps=1,
        batch_size=1,
        policy_kwargs={"hidden": tuple(hidden)},
        seed=seed,
        device="cpu",
        _init_setup_model=False,
    )
    model.observation_space = tables.layout.space()
    model.action_space = spaces.Discrete(NUM_ACTIONS)
    model.n_envs = 1
    model._setup_model()
    return model


def start_model(name: str) -> CheatPolicy:
    """Return the network of a model to start from; raises `ConfigError` or `AgentError`."""
    agent = load(name)
    if not isinstance(agent, LearnedAgent):
        raise ConfigError(f"learner.start {name!r}: must be the path of a model.zip")
    if agent.observation != OBSERVATION:
        raise ConfigError(
            f"learner.start {name!r}: reads {agent.observation!r}, the training {OBSERVATION!r}"
        )
    return agent.policy


def _take_weights(policy: CheatPolicy, name: str, hidden: tuple[int, ...]) -> None:
    """Let a policy begin from the weights of a saved model."""
    start = start_model(name)
    if tuple(start.hidden) != tuple(hidden):
        raise ConfigError(
            f"learner.start {name!r}: has layers {list(start.hidden)},"
            f" learner.hidden is {list(hidden)}"
        )
    policy.load_state_dict(start.state_dict())
