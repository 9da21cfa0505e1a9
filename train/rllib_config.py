"""The schema of `configs/rllib/`, and the command line of `python -m train.rllib`.

Unknown keys, wrong types and numbers that make no sense are refused by name before anything starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jsonargparse import ArgumentParser

from agents.registry import is_held_out
from train.checks import PPO_RANGES, check_hidden, check_keys
from train.command import find_config, made, split
from train.config import ConfigError, Game


@dataclass(frozen=True)
class Learner:
    """How the policy is trained.

    Args:
        total_steps: actions to learn from, forced ones too.
        workers: processes that play; 0: this one plays.
        tables: tables that each of them plays at once.
        steps: actions at each table between two updates.
        hidden: widths of the network's layers.
        learning_rate: of Adam.
        entropy: weight of the entropy bonus.
        clip: PPO's clip range.
        epochs: passes over a rollout.
        minibatch: actions in a minibatch.
        gamma: discount from one own action to the next.
        gae_lambda: lambda of generalised advantage estimation.
        value_weight: weight of the value loss.
        max_gradient: gradients are clipped to this norm.
        seed: what the deals and RLlib's chance come from.
    """

    total_steps: int = 1_000_000
    workers: int = 0
    tables: int = 32
    steps: int = 256
    hidden: tuple[int, ...] = (128, 128)
    learning_rate: float = 7e-4
    entropy: float = 0.02
    clip: float = 0.2
    epochs: int = 4
    minibatch: int = 1024
    gamma: float = 0.995
    gae_lambda: float = 0.95
    value_weight: float = 0.5
    max_gradient: float = 0.5
    seed: int = 1

    @property
    def batch(self) -> int:
        """Actions between two updates."""
        return max(self.workers, 1) * self.tables * self.steps


@dataclass(frozen=True)
class Opponents:
    """Who else sits at the tables; the rest is self-play in all seats.

    Self-play from nothing learns to doubt everything, and its deals get longer and longer.

    Args:
        share: of the tables, with one learner among copies of an agent drawn for every match.
        names: agents, each as often as it stands here.
    """

    share: float = 0.8
    names: tuple[str, ...] = ("honest", "caller", "dumper", "bluffer", "skeptic", "counter")


@dataclass(frozen=True)
class Evaluation:
    """The table at the end.

    Args:
        against: agents whose copies fill the other seats.
        deals: deals against each, played with every rotation of the seats.
        seed: what the deals are drawn from.
    """

    against: tuple[str, ...] = ("random", "honest", "counter")
    deals: int = 100
    seed: int = 1


@dataclass(frozen=True)
class Output:
    """Where a run leaves its files.

    Args:
        directory: holds a directory for each run.
    """

    directory: str = "runs"


@dataclass(frozen=True)
class Config:
    """One training run by RLlib.

    Args:
        name: names the run's directory; empty: rllib- and the variant's name.
        game: what is played: one game, for one number of seats.
        learner: how the policy is trained.
        opponents: who else sits at the tables.
        evaluation: the table at the end.
        output: where files go.
    """

    name: str = ""
    game: Game = field(default_factory=Game)
    learner: Learner = field(default_factory=Learner)
    opponents: Opponents = field(default_factory=Opponents)
    evaluation: Evaluation = field(default_factory=Evaluation)
    output: Output = field(default_factory=Output)

    @property
    def directory(self) -> Path:
        """The directory of the run."""
        return Path(self.output.directory) / (self.name or f"rllib-{self.game.name}")

    @property
    def model(self) -> Path:
        """The file of the trained model."""
        return self.directory / "model.npz"

    @property
    def agents(self) -> tuple[str, ...]:
        """Whoever is met, in training or evaluation."""
        return self.opponents.names + self.evaluation.against


#: The least and the most of every number that stands by itself.
RANGES = PPO_RANGES | {
    "learner.total_steps": (1, 10**15),
    "learner.workers": (0, 1024),
    "learner.tables": (1, 2**16),
    "learner.seed": (0, 2**31 - 1),  # RLlib adds the numbers of its workers
    "opponents.share": (0.0, 1.0),
}


def parse(arguments: Sequence[str]) -> Config:
    """Return the config of a command line; files are found as given, then in `configs/rllib/`.

    Raises `ConfigError`; exits for --help and --print_config.
    """
    parser = ArgumentParser("python -m train.rllib", exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--config", action="config", help="a file of configs/rllib/, or a path")
    parser.add_class_arguments(Config, as_group=False)
    words = split(arguments)
    for i, word in enumerate(words[:-1]):
        if word == "--config":
            given = words[i + 1]
            words[i + 1] = str(find_config(given if Path(given).is_file() else f"rllib/{given}"))
    config = made(Config, parser, words)
    _check(config)
    return config


def _check(config: Config) -> None:
    """Raise `ConfigError` for values that make no sense, `RulesError` for rules."""
    check_keys(config, RANGES)
    check_hidden(config.learner.hidden)
    if len(config.game.games()) > 1:
        raise ConfigError("game.num_players, game.variants: must be one game, for one number")
    _check_learner(config.learner)
    _check_agents(config)


def _check_learner(learner: Learner) -> None:
    if learner.minibatch > learner.batch:
        raise ConfigError(
            f"learner.minibatch {learner.minibatch}: an update has {learner.batch} actions"
        )


def _check_agents(config: Config) -> None:
    for name in config.opponents.names:
        if is_held_out(name):
            raise ConfigError(f"opponents.names {name!r}: held out for evaluation, for no training")
    if config.opponents.share and not config.opponents.names:
        raise ConfigError("opponents.names []: name at least one agent, or set share to 0")
    if not config.evaluation.against:
        raise ConfigError("evaluation.against []: name at least one agent")
    if config.directory.name in config.agents:
        raise ConfigError(f"name {config.directory.name!r}: is that of an agent that is met")
