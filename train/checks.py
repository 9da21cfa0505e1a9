"""What a config may say: numbers that make no sense are refused by name before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Any

from agents.shipped import MOST_LAYERS, MOST_WIDTH
from cheat_env.observations import MEMORY
from train.config import MOST_SEED, Config, ConfigError, Opponents

#: The least and the most of a number.
Ranges = dict[str, tuple[float, float]]
#: Of what every training by PPO is told, whoever computes it.
PPO_RANGES: Ranges = {
    "learner.steps": (1, 2**16),
    "learner.learning_rate": (1e-12, 1.0),
    "learner.entropy": (0.0, 1e6),
    "learner.clip": (1e-12, 1e6),
    "learner.epochs": (1, 1000),
    "learner.minibatch": (1, 2**30),
    "learner.gamma": (0.0, 1.0),
    "learner.gae_lambda": (0.0, 1.0),
    "learner.value_weight": (0.0, 1e6),
    "learner.max_gradient": (1e-12, 1e12),
    "evaluation.deals": (1, 10**7),
    "evaluation.seed": (0, MOST_SEED),
}
#: Of every number that stands by itself.
RANGES: Ranges = PPO_RANGES | {
    "learner.total_decisions": (1, 10**15),
    "learner.tables": (1, 2**20),
    "learner.actors": (1, 2**14),
    "learner.final_learning_rate": (0.0, 1.0),
    "learner.final_entropy": (0.0, 1e6),
    "learner.entropy_until": (0.0, 1.0),
    "learner.threads": (1, 1024),
    "learner.seed": (0, MOST_SEED),
    "opponents.turn": (0.0, inf),
    "opponents.agents_alike": (0.0, 1.0),
    "opponents.guests": (0.0, 1.0),
    "evaluation.every": (0, 10**15),
    "evaluation.panel_deals": (1, 10**6),
    "output.checkpoint_minutes": (0.0, 1e6),
    "output.snapshots_every": (0, 10**15),
}
#: What the arrays of a rollout may take of the memory.
MOST_BYTES = 2**34
#: Letters of a name that file systems take.
MOST_LETTERS = 100


def check(config: Config) -> None:
    """Raise `ConfigError` for numbers and names that make no sense."""
    check_keys(config, RANGES)
    check_hidden(config.learner.hidden)
    _check_learner(config)
    _check_opponents(config.opponents)
    _check_evaluation(config)


def check_keys(config: Any, ranges: Ranges) -> None:
    """Raise `ConfigError` for keys without a value, numbers out of range, and names of no run.

    Args:
        config: a dataclass of groups, with a `name` and a `game`.
        ranges: by key, as in "learner.gamma".
    """
    _refuse_nothing("", config)
    for key, (least, most) in ranges.items():
        value = attrgetter(key)(config)
        if not least <= value <= most:  # a number that is none is not within either
            raise ConfigError(f"{key} {value}: must be from {least} to {most}")
    for key, name in (("name", config.name), ("game.variant: name", config.game.name)):
        if Path(name).name != name or "\0" in name or len(name) > MOST_LETTERS:
            raise ConfigError(f"{key} {name!r:.99}: must be the name of a directory, not a path")


def check_hidden(widths: Sequence[int]) -> None:
    """Raise `ConfigError` for layers that no model file may have."""
    if not 0 < len(widths) <= MOST_LAYERS or not all(0 < w <= MOST_WIDTH for w in widths):
        raise ConfigError(
            f"learner.hidden {list(widths)}: give 1 to {MOST_LAYERS} widths of 1 to {MOST_WIDTH}"
        )


def _refuse_nothing(place: str, group: Any) -> None:
    """Refuse keys without a value: the parser lets them pass for any type."""
    for field in fields(group):
        key, value = f"{place}{field.name}", getattr(group, field.name)
        if value is None or (isinstance(value, tuple) and None in value):
            raise ConfigError(f"{key}: must have a value")
        if is_dataclass(value):
            _refuse_nothing(f"{key}.", value)


def _check_learner(config: Config) -> None:
    learner = config.learner
    unknown = sorted(set(learner.blind) - set(MEMORY.start))
    if unknown:
        raise ConfigError(f"learner.blind {unknown[0]!r}: must be of {', '.join(MEMORY.start)}")
    size = learner.tables * learner.steps * MEMORY.size
    if size > MOST_BYTES:
        raise ConfigError(
            f"learner.tables {learner.tables} x learner.steps {learner.steps}: a rollout of"
            f" {size / 2**30:,.0f} GB, must be at most {MOST_BYTES / 2**30:.0f}"
        )


def _check_evaluation(config: Config) -> None:
    asked = config.evaluation
    if not asked.against:
        raise ConfigError("evaluation.against []: name at least one agent")
    if asked.every and not (asked.panel or asked.exact):
        raise ConfigError("evaluation.panel []: name at least one agent, or set every to 0")
    if len(set(asked.panel)) < len(asked.panel):
        raise ConfigError(f"evaluation.panel {list(asked.panel)}: names somebody twice")
    if asked.exact and len(config.game.games()) > 1:
        raise ConfigError("evaluation.exact true: must be of one game, for one number of seats")


def _check_opponents(opponents: Opponents) -> None:
    early = (opponents.random_rules, opponents.fixed_rules, opponents.agent_share)
    late = (opponents.late_random_rules, opponents.late_fixed_rules, opponents.late_agent_share)
    for shares in (early, late):
        if not all(share >= 0 for share in shares) or not sum(shares) <= 1:
            raise ConfigError(f"opponents: shares {shares} must be from 0 and add to at most 1")
    if max(early[-1], late[-1]) > 0 and not opponents.agents:
        raise ConfigError("opponents.agents []: name those for whom there is a share of tables")


def refuse_changes(before: Config, config: Config) -> None:
    """Refuse to resume a run with another game, network, tables or named opponents."""
    fixed = {
        "game": (before.game, config.game),
        "learner.hidden": (before.learner.hidden, config.learner.hidden),
        "learner.blind": (before.learner.blind, config.learner.blind),
        "learner.critic": (before.learner.critic, config.learner.critic),
        "learner.tables": (before.learner.tables, config.learner.tables),
        "learner.actors": (before.learner.actors, config.learner.actors),
        "opponents.fixed": (before.opponents.fixed, config.opponents.fixed),
        "opponents.agents": (before.opponents.agents, config.opponents.agents),
        "opponents.agents_alike": (before.opponents.agents_alike, config.opponents.agents_alike),
        "opponents.guests": (before.opponents.guests, config.opponents.guests),
    }
    for name, (was, asked) in fixed.items():
        if was != asked:
            raise ConfigError(f"{name}: the run to resume has {was}, not {asked}")
