"""`python -m train.rllib`: self-play by RLlib's PPO, with masks, on RLlib's new API stack.

`CheatMultiAgentEnv` serves any algorithm of RLlib, and RLlib's own module for masked actions;
`CheatModule` is the network of `agents.learned` as an RLModule, so what is learned plays here
without RLlib. One policy learns for all seats.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from typing import Any

import numpy as np
import yaml
from gymnasium import spaces
from rich.console import Console

from agents import AgentError, load
from agents.base import ask
from agents.learned import CheatPolicy, LearnedAgent
from agents.shipped import prior, save
from cheat_env import RulesError, env
from cheat_env.actions import NUM_ACTIONS
from cheat_env.files import write_text
from cheat_env.observations import layout
from train import evaluate, tables
from train.config import FAILED, INTERRUPTED, ConfigError, fail
from train.results import versions
from train.rllib_config import Config, parse
from train.run import Interrupt, free_name

try:
    import ray
    import torch
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis import ValueFunctionAPI
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ModuleNotFoundError as error:
    said = f'train.rllib needs {error.name}: pip install "cheat-env[rllib]"'
    if __name__ == "__main__":
        sys.exit(fail(ModuleNotFoundError(said)))
    raise ModuleNotFoundError(said, name=error.name) from None

#: What a training reads, and the policy of all seats.
OBSERVATION, POLICY = "memory", "seat"
ByAgent = dict[str, Any]


# --- The game and the network, as RLlib wants them ------------------------------------------------


class CheatMultiAgentEnv(MultiAgentEnv):
    """A game of the Cheat family for RLlib; an episode is a match.

    Agents are `player_0` ... by seat. Only the seat to act observes, and acts:
    `{"observations": float32 (D,), "action_mask": int8 (46,)}`, as RLlib's own module for masked
    actions wants it. A seat is paid what it earns, whoever moved. At the end all seats observe,
    with an empty mask. An illegal action ends the match, with -1 for the seat that took it.

    Args:
        config: arguments of `cheat_env.env` (`variant`, `num_players`, `observation`, rule
            options), and for matches with others than RLlib `opponents`, names of agents: one
            drawn seat is then RLlib's, and copies of one drawn opponent play the rest. Where the
            `share` of such tables is not 1, the first seed draws which this is.

    Attributes:
        agents: RLlib's seats in this match.

    Raises `RulesError` where the rules can't be played, `AgentError` where an opponent is nobody.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        chosen = {"observation": "table"} | dict(config or {})
        self._opponents = [load(name) for name in chosen.pop("opponents", ())]
        share = chosen.pop("share", 1.0)
        self._share = share if self._opponents else 0.0
        self._has_others: bool | None = None
        seen = layout(chosen["observation"]).space()
        reads = [agent.observation for agent in self._opponents]
        self.game = env(**chosen | ({"observation": "memory"} if "memory" in reads else {}))
        self.agents = self.possible_agents = self.game.possible_agents[:]
        self._size = seen.shape[0]
        numbers = spaces.Box(seen.low, seen.high, seen.shape, np.float32)
        mask = spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
        space = spaces.Dict({"action_mask": mask, "observations": numbers})
        self.observation_spaces = dict.fromkeys(self.agents, space)
        self.action_spaces = {agent: self.game.action_space(agent) for agent in self.agents}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Start a match, as `cheat_env.raw_env.reset` does, in which RLlib is asked something."""
        super().reset(seed=seed)
        if seed is not None or self._has_others is None:
            self._has_others = bool(self.np_random.random() < self._share)
        self.game.reset(seed, options)
        self._sit_down()
        while self._is_over():
            self.game.reset()
            self._sit_down()
        return self._observe([self.game.agent_selection]), {}

    def step(self, action_dict: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Play the action of the seat to act; raises `ValueError` where it is not the only one."""
        game, acted = self.game, self.game.agent_selection
        if list(action_dict) != [acted]:
            raise ValueError(f"actions of {list(action_dict)}: must be of {acted} alone")
        self._play(action_dict[acted])
        self._let_others_play()
        over = self._is_over()
        seen = self._observe(self.agents if over else [game.agent_selection])
        paid = {a: self._earned[a] for a in self.agents if over or a == acted or self._earned[a]}
        self._earned = dict.fromkeys(self.possible_agents, 0.0)
        terminated = {"__all__": any(game.terminations.values())}
        truncated = {"__all__": any(game.truncations.values())}
        infos = {agent: game.infos[agent] for agent in self.agents} if over else {}
        return seen, paid, terminated, truncated, infos

    def _sit_down(self) -> None:
        """Draw who plays which seat, and let the others play until RLlib is to act."""
        self.agents = self.possible_agents
        if self._has_others:
            self.agents = [self.possible_agents[self.np_random.integers(len(self.agents))]]
            self._opponent = self._opponents[self.np_random.integers(len(self._opponents))]
        self._earned = dict(self.game.rewards)  # by deals that were over as they were dealt
        self._let_others_play()

    def _let_others_play(self) -> None:
        """Play on while a seat is to act that is not RLlib's."""
        while not self._is_over() and self.game.agent_selection not in self.agents:
            seen = self.game.observe(self.game.agent_selection)
            rows = seen["observation"][None], seen["action_mask"][None]
            self._play(ask(self._opponent, *rows, self.np_random)[0])

    def _play(self, action: Any) -> None:
        """Play an action, and note what it pays whom."""
        self.game.step(action)
        for agent, reward in self.game.rewards.items():
            self._earned[agent] += reward

    def _is_over(self) -> bool:
        return any(self.game.terminations.values()) or any(self.game.truncations.values())

    def _observe(self, agents: Sequence[str]) -> ByAgent:
        """Return what some agents see."""
        found = {agent: self.game.observe(agent) for agent in agents}
        return {
            agent: {
                "action_mask": seen["action_mask"],
                "observations": seen["observation"][: self._size].astype(np.float32),
            }
            for agent, seen in found.items()
        }


class CheatModule(TorchRLModule, ValueFunctionAPI):
    """The network of `agents.learned` as an RLModule: masked logits, and values.

    `model_config` holds `hidden`, the widths of the layers.
    """

    def setup(self) -> None:
        """Make the network."""
        space, hidden = self.observation_space["observations"], tuple(self.model_config["hidden"])
        self.policy = CheatPolicy(space, self.action_space, lambda _: 0.0, hidden=hidden)

    def _forward(self, batch: ByAgent, **kwargs: Any) -> ByAgent:
        """Return masked logits (n, 46), and features (n, hidden) for the values."""
        seen, mask = _see(batch)
        features = self.policy.features_extractor.dense(seen)
        logits, _ = self.policy.heads(features, prior(seen), mask)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: features}

    def compute_values(
        self, batch: ByAgent, embeddings: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return values (n,); of features (n, hidden) where they are there already."""
        seen, mask = _see(batch)
        if embeddings is None:
            embeddings = self.policy.features_extractor.dense(seen)
        return self.policy.heads(embeddings, prior(seen), mask)[1]


def _see(batch: ByAgent) -> tuple[torch.Tensor, torch.Tensor]:
    """Return observations, float32 (n, D), and masks, bool (n, 46), of a batch."""
    seen = batch[Columns.OBS]
    return seen["observations"].float(), seen["action_mask"].bool()


# --- The training ---------------------------------------------------------------------------------


def algorithm(config: Config) -> PPOConfig:
    """Return RLlib's config of a training, for whoever goes on from there."""
    c = config.learner
    ((variant, seats),) = config.game.games()
    game = {"variant": variant, "num_players": seats, "observation": OBSERVATION}
    others = {"opponents": config.opponents.names, "share": config.opponents.share}
    return (
        PPOConfig()
        .environment(
            CheatMultiAgentEnv,
            env_config=game | config.game.rules | others,
            disable_env_checking=True,  # the check plays any action, legal or not
        )
        .env_runners(
            num_env_runners=c.workers,
            num_envs_per_env_runner=c.tables,
            rollout_fragment_length=c.steps,
            batch_mode="truncate_episodes",  # complete ones would be the first to end: short ones
        )
        .multi_agent(policies={POLICY}, policy_mapping_fn=lambda *_, **__: POLICY)
        .rl_module(
            rl_module_spec=RLModuleSpec(CheatModule, model_config={"hidden": list(c.hidden)})
        )
        .training(
            train_batch_size_per_learner=c.batch,
            minibatch_size=c.minibatch,
            num_epochs=c.epochs,
            lr=c.learning_rate,
            gamma=c.gamma,
            lambda_=c.gae_lambda,
            clip_param=c.clip,
            entropy_coeff=c.entropy,
            vf_loss_coeff=c.value_weight,
            grad_clip=c.max_gradient,
            use_kl_loss=False,
        )
        .debugging(seed=c.seed, log_level="ERROR")
    )


def train(algo: Algorithm, total: int, console: Console) -> bool:
    """Train until so many steps, a line an update; returns False where Ctrl-C came first."""
    steps, began = 0, time.monotonic()
    with Interrupt() as interrupt:
        while steps < total and not interrupt.asked:
            found = algo.train()
            played, learned = found["env_runners"], found["learners"][POLICY]
            steps = int(played["num_env_steps_sampled_lifetime"])
            console.print(
                f"{steps:>10,} steps  {steps / (time.monotonic() - began):,.0f}/s"
                f"  {played.get('num_episodes', 0):.0f} deals"
                f" of {played.get('episode_len_mean', 0):.0f} steps"
                f"  entropy {learned['entropy']:.2f}  value loss {learned['vf_loss']:.3f}",
                soft_wrap=True,
            )
    return steps >= total


def keep(algo: Algorithm, config: Config) -> None:
    """Write RLlib's checkpoint, and a model that plays without it."""
    algo.save_to_path(str((config.directory / "checkpoint").resolve()))
    agent = LearnedAgent(config.name, algo.get_module(POLICY).policy)
    told = {"hidden": config.learner.hidden, "blind": (), "config": asdict(config)}
    told["versions"] = versions() | {"torch": torch.__version__, "ray": ray.__version__}
    save(config.model, OBSERVATION, agent.arrays(), told)


def planned(config: Config) -> evaluate.Evaluation:
    """Return the evaluation at the end; raises what `train.evaluate.plan` does."""
    asked, name = config.evaluation, config.directory.name
    ((variant, seats),) = config.game.games()
    form, rules = evaluate.ONE_VS_REST, config.game.rules
    return evaluate.plan(
        form, [variant], [seats], [name], asked.against, asked.deals, asked.seed, rules
    )


def learn(config: Config, console: Console) -> bool:
    """Train and keep what came of it; returns False where Ctrl-C came first."""
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    ray.init(
        "local",  # where a cluster happens to run, it is not joined
        num_cpus=config.learner.workers + 1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        algo = algorithm(config).build_algo()
        finished = train(algo, config.learner.total_steps, console)
        keep(algo, config)
        algo.stop()
    finally:
        ray.shutdown()
    console.print(f"model and checkpoint are in {config.directory}")
    return finished


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    console = tables.wide_console()
    try:
        config = with_a_name(parse(sys.argv[1:] if arguments is None else arguments))
        evaluation = planned(config)
        agents = {name: load(name) for name in config.agents}
        text = yaml.safe_dump(asdict(config), sort_keys=False)
        write_text(config.directory / "config.yaml", text)
    except (ConfigError, RulesError, AgentError, evaluate.RequestError, OSError) as error:
        return fail(error)
    try:
        if not learn(config, console):
            return INTERRUPTED
        agents[config.name] = load(str(config.model))
        document = evaluate.evaluate(evaluation, agents, console=console)
        evaluate.write(document, config.directory)
    except KeyboardInterrupt:
        console.print("stopped")
        return INTERRUPTED
    except OSError as error:  # a full disk
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    tables.show(tables.sections(document), console)
    return 0


def with_a_name(config: Config) -> Config:
    """Return the config with a name that no run has; raises `ConfigError` where one is given."""
    own = config.directory
    if not config.name:
        return replace(config, name=free_name(own.parent, own.name))
    if own.exists():
        raise ConfigError(f"name {own.name!r}: {own} exists; give another --name")
    return config


if __name__ == "__main__":
    # The classes have to belong to this module, not to __main__, for checkpoints and workers.
    sys.exit(import_module("train.rllib").main())
