"""The schema of `configs/`: frozen dataclasses, every key with its meaning.

Unknown keys and wrong types are refused by name before anything starts.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cheat_env import Rules

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
#: The largest seed that every library here takes.
MOST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Game:
    """What is played.

    Args:
        variant: name of a game, or house rules as a mapping of options with `base: NAME`.
        num_players: seats at a table, or a list of several: each has an equal part of the tables,
            and one that stands there twice two such parts.
        rules: rule options to change.
        variants: several games instead of `variant`, each with those of `num_players` that it
            allows: one network learns them all.
    """

    variant: str | dict[str, Any] = "english"
    num_players: int | tuple[int, ...] = 4
    rules: dict[str, Any] = field(default_factory=dict)
    variants: tuple[str | dict[str, Any], ...] = ()

    def games(self) -> list[tuple[str | dict[str, Any], int]]:
        """Return the different ones of `rooms`."""
        rooms = self.rooms()
        return [room for place, room in enumerate(rooms) if room not in rooms[:place]]

    def rooms(self) -> list[tuple[str | dict[str, Any], int]]:
        """Return each game with each number of seats; of several games those that they allow.

        Raises `ConfigError` for one of several games that allows none of them.
        """
        asked = self.num_players if isinstance(self.num_players, tuple) else (self.num_players,)
        found = []
        for variant in self.variants or (self.variant,):
            rules = Rules.load(variant, **self.rules)
            low, high = rules.players
            seats = asked if not self.variants else [n for n in asked if low <= n <= high]
            if not seats:
                raise ConfigError(
                    f"game.num_players {list(asked)}: {rules.name} is for {low} to {high}"
                )
            found += [(variant, n) for n in seats]
        return found

    @property
    def name(self) -> str:
        """The variant's name; of house rules their own, or that of their base."""
        if self.variants:
            return "generalist"
        if isinstance(self.variant, str):
            return self.variant
        return str(self.variant.get("name", f"{self.variant.get('base')}-house"))


@dataclass(frozen=True)
class Learner:
    """How the policy is trained (PPO).

    Args:
        total_decisions: decisions to learn from; forced moves do not count.
        tables: tables played at once.
        steps: actions at each table between two updates.
        actors: in how many parts the tables are played, each with chance of its own; on a cluster
            each part has a process.
        hidden: widths of the network's layers.
        blind: fields of the observation that the networks do not see, to learn what they are worth.
        learning_rate: at the start; falls linearly.
        final_learning_rate: at the end.
        entropy: weight of the entropy bonus at the start; falls linearly.
        final_entropy: weight from `entropy_until` on.
        entropy_until: share of the training after which the weight stays.
        clip: PPO's clip range.
        epochs: passes over a rollout.
        minibatch: decisions in a minibatch.
        gamma: discount from one own decision to the next.
        gae_lambda: lambda of generalised advantage estimation.
        value_weight: weight of the value loss.
        max_gradient: gradients are clipped to this norm.
        truncation_ends: whether a truncated deal is over and worth what it paid, where `max_plays`
            is a rule of the game; else it is worth what the last positions were thought to be.
        critic: whether advantages come from a critic that sees the whole table, in training only.
        value_prior: whether values begin from the sizes of the hands: self-play that begins from
            nothing ends in deals without an end.
        bfloat16: compute dense layers in bfloat16; weights stay float32.
        threads: threads to play and learn with, 1 or 2; they change no result.
        seed: what all of the training's chance comes from.
        start: a model from whose weights the training begins, by its path or its name (and from the
            critic.pt beside it); empty: fresh ones.
    """

    total_decisions: int = 12_000_000
    tables: int = 512
    steps: int = 64
    actors: int = 2
    hidden: tuple[int, ...] = (256, 256)
    blind: tuple[str, ...] = ()
    learning_rate: float = 7e-4
    final_learning_rate: float = 3.5e-5
    entropy: float = 0.05
    final_entropy: float = 0.01
    entropy_until: float = 0.9
    clip: float = 0.15
    epochs: int = 3
    minibatch: int = 4096
    gamma: float = 0.995
    gae_lambda: float = 0.95
    value_weight: float = 0.5
    max_gradient: float = 0.5
    truncation_ends: bool = False
    critic: bool = True
    value_prior: bool = True
    bfloat16: bool = True
    threads: int = 2
    seed: int = 1
    start: str = ""


@dataclass(frozen=True)
class Opponents:
    """Who else sits at the tables; the rest of them is self-play in all seats.

    Self-play teaches the game, rules teach what to do about those who play otherwise; so there are
    few of them at first, and more from `turn` on.

    Args:
        random_rules: share of tables with one learner among rules with habits drawn at random.
        fixed_rules: share of tables with one learner among copies of one named rule.
        agent_share: share of tables with one learner among `agents`, which do not learn.
        turn: share of the training after which the three shares below hold.
        late_random_rules: share of tables with random rules from `turn` on.
        late_fixed_rules: share of tables with a named rule from `turn` on.
        late_agent_share: share of tables with `agents` from `turn` on.
        fixed: the named rules, each as often as it stands here.
        agents: names of agents, with habits or not, and paths of models, each as often as it
            stands here.
        agents_alike: share of their tables that hold copies of one of them; in the rest each seat
            draws its own.
        guests: share of their tables where one of them is a guest among learners.
    """

    random_rules: float = 0.3
    fixed_rules: float = 0.1
    agent_share: float = 0.0
    turn: float = 0.6
    late_random_rules: float = 0.3
    late_fixed_rules: float = 0.4
    late_agent_share: float = 0.0
    fixed: tuple[str, ...] = (
        *("honest", "honest_guard", "caller", "dumper", "bluffer", "skeptic", "counter"),
    )
    agents: tuple[str, ...] = ()
    agents_alike: float = 1.0
    guests: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """The table at the end, and the panel on the way.

    Args:
        against: agents whose copies fill the other seats.
        deals: deals against each, played with every rotation of the seats.
        seed: what the deals are drawn from.
        every: decisions between two evaluations against the panel; 0: none. The model whose worst
            result is best is kept as best.zip.
        panel: whose copies the policy in training is evaluated against.
        panel_deals: deals against each of them.
        exact: whether the policy's exact exploitability is told too, and the best model chosen by
            it: for games of two that are small enough to be written out (`train.exact`).
    """

    against: tuple[str, ...] = (
        *("random", "honest", "honest_guard", "caller", "dumper", "skeptic", "counter", "planner"),
    )
    deals: int = 250
    seed: int = 1
    every: int = 3_000_000
    panel: tuple[str, ...] = ("honest", "honest_guard", "bluffer", "skeptic", "counter")
    panel_deals: int = 50
    exact: bool = False


@dataclass(frozen=True)
class Output:
    """Where a run leaves its files.

    Args:
        directory: holds a directory for each run.
        checkpoint_minutes: time between two checkpoints.
        tensorboard: whether to write TensorBoard logs.
        snapshots_every: decisions between two models kept in snapshots/, past selves for a later
            run's `opponents.agents`; 0: none.
    """

    directory: str = "runs"
    checkpoint_minutes: float = 2.0
    tensorboard: bool = True
    snapshots_every: int = 0


@dataclass(frozen=True)
class Config:
    """One training run.

    Args:
        name: names the run's directory; empty: the variant's name.
        game: what is played.
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
    def run_directory(self) -> Path:
        """The directory of the run."""
        return Path(self.output.directory) / (self.name or self.game.name)


class ConfigError(ValueError):
    """A config that can't be used; the message names the key, the value and what is allowed."""


def dump(config: Config) -> str:
    """Return a config as YAML, every key written out."""
    return yaml.safe_dump(asdict(config), sort_keys=False)


def fail(error: Exception) -> int:
    """Print an error in one line and return the exit code for bad input."""
    print(f"error: {error}", file=sys.stderr)
    return BAD_INPUT
