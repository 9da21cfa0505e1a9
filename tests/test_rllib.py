"""`train.rllib`: the game for RLlib, its masks and its rewards."""

from __future__ import annotations

import os

os.environ.setdefault("RAY_AUTH_MODE", "disabled")

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from conftest import Lottery

pytest.importorskip("ray.rllib", reason="RLlib is an extra: cheat-env[rllib]")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from agents import AgentError
from agents.learned import LearnedAgent
from cheat_env import RulesError, Tables, env
from train import rllib
from train.rllib import CheatModule, CheatMultiAgentEnv
from train.rllib_config import Config, Learner, Opponents

RUSSIAN = {"variant": "russian", "num_players": 4}
#: One of many deals is decided as it is dealt: a hand of nothing but complete sets.
TINY = {
    "base": "english",
    "players": [3, 3],
    "deck": "A-3",
    "copies": 2,
    "quads": "mandatory_also_on_deal",
}


def play(game: CheatMultiAgentEnv, seed: int) -> list[tuple[Any, Any, Any]]:
    """Play one random legal match; return what was seen, played and answered in every step."""
    lottery, steps = Lottery(seed), []
    seen, _ = game.reset(seed=seed)
    while True:
        ((agent, view),) = seen.items()
        action = {agent: lottery.choose(view["action_mask"])}
        answer = game.step(action)
        steps.append((seen, action, answer))
        seen, _, terminated, truncated, _ = answer
        if terminated["__all__"] or truncated["__all__"]:
            return steps


def earned(steps: list[tuple[Any, Any, Any]]) -> dict[str, float]:
    """Return what each agent was paid in a match."""
    answers = [paid for _, _, (_, paid, *_) in steps]
    return {agent: sum(paid.get(agent, 0.0) for paid in answers) for agent in answers[-1]}


# --- The game -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "players"), [("english", 3), ("liang", 2), ("russian", 4)])
def test_every_seat_is_paid_its_own(variant: str, players: int) -> None:
    """Whoever moves last, each seat gets what the game pays it, and its last observation then."""
    game = CheatMultiAgentEnv({"variant": variant, "num_players": players, "max_plays": 10_000})
    steps = play(game, seed=3)
    tables = Tables(variant, players, seed=3, auto_reset=False, max_plays=10_000)
    for _, action, _ in steps:
        assert not tables.terminated[0]
        tables.step(np.array(list(action.values())))
    assert tables.terminated[0]
    assert list(earned(steps).values()) == pytest.approx(tables.reward[0].tolist())
    assert sum(earned(steps).values()) == pytest.approx(0, abs=1e-6)
    seen, _, terminated, truncated, infos = steps[-1][2]
    assert list(seen) == list(infos) == game.possible_agents
    assert not any(view["action_mask"].any() for view in seen.values())
    assert (terminated["__all__"], truncated["__all__"]) == (True, False)


def test_only_the_seat_to_act_observes() -> None:
    """It sees what `cheat_env.env` shows it, in its space, with something to choose."""
    game, shown = CheatMultiAgentEnv(RUSSIAN), env("russian", 4)
    shown.reset(seed=5)
    for seen, action, _ in play(game, seed=5):
        ((agent, view),) = seen.items()
        assert agent == shown.agent_selection
        assert game.get_observation_space(agent).contains(view)
        assert np.array_equal(view["observations"], shown.observe(agent)["observation"])
        assert np.array_equal(view["action_mask"], shown.observe(agent)["action_mask"])
        assert view["action_mask"].any()
        shown.step(action[agent])
    assert all(shown.terminations.values())


def test_a_cut_match_is_truncated_and_pays_nothing() -> None:
    """`max_plays` truncates for all, and RLlib may value what comes after."""
    steps = play(CheatMultiAgentEnv(RUSSIAN | {"max_plays": 5}), seed=1)
    _, _, terminated, truncated, _ = steps[-1][2]
    assert (terminated["__all__"], truncated["__all__"]) == (False, True)
    assert not any(earned(steps).values())


def test_an_illegal_action_ends_the_match() -> None:
    """The seat that took it pays for it alone."""
    game = CheatMultiAgentEnv(RUSSIAN)
    ((agent, view),) = game.reset(seed=1)[0].items()
    _, paid, terminated, _, _ = game.step({agent: int(view["action_mask"].argmin())})
    assert terminated["__all__"]
    assert paid == {other: -1.0 if other == agent else 0.0 for other in game.possible_agents}


def test_another_seats_action_is_refused() -> None:
    """The error names who acted and who is to act; nothing was played."""
    game = CheatMultiAgentEnv(RUSSIAN)
    (agent,) = game.reset(seed=1)[0]
    other = next(name for name in game.possible_agents if name != agent)
    with pytest.raises(ValueError, match=f"{other}.*must be of {agent} alone"):
        game.step({other: 0})
    assert game.game.actions_played == []


def test_what_cant_be_played_is_refused() -> None:
    """Rules and opponents are refused by name as everywhere."""
    with pytest.raises(RulesError, match="num_players 9"):
        CheatMultiAgentEnv({"variant": "russian", "num_players": 9})
    with pytest.raises(AgentError, match="nobody"):
        CheatMultiAgentEnv(RUSSIAN | {"opponents": ["nobody"]})


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
def test_a_match_over_as_it_is_dealt_is_passed_over() -> None:
    """After every reset there is a seat that has something to choose."""
    game, dealt = CheatMultiAgentEnv({"variant": TINY}), env(TINY)
    over = 0
    for seed in range(20):
        dealt.reset(seed=seed)
        over += all(dealt.terminations.values())
        ((_, view),) = game.reset(seed=seed)[0].items()
        assert view["action_mask"].any()
    assert 3 < over < 17


def test_among_others_one_seat_is_rllibs() -> None:
    """The others play legally by themselves; the seat is drawn anew for every match."""
    game = CheatMultiAgentEnv(RUSSIAN | {"opponents": ["honest", "counter"]})
    seats = set()
    for seed in range(6):
        steps = play(game, seed)
        (own,) = {agent for seen, _, _ in steps for agent in seen}
        assert game.agents == [own]
        assert earned(steps)[own] == pytest.approx(1 / 3) or earned(steps)[own] == -1
        assert list(steps[-1][2][0]) == list(steps[-1][2][4]) == [own]
        seats.add(own)
    assert len(seats) > 1


def test_a_seed_gives_the_same_matches() -> None:
    """Also of drawn seats, drawn opponents and what these do, match after match."""
    config = RUSSIAN | {"opponents": ["bluffer", "random"], "share": 0.5}
    played = []
    for _ in range(2):
        game = CheatMultiAgentEnv(config)
        play(game, seed=8)
        views = [game.reset()[0] for _ in range(5)]
        played.append(
            [(list(v), *(x["observations"].tobytes() for x in v.values())) for v in views]
        )
    assert played[0] == played[1]


def test_a_share_of_the_tables_has_others() -> None:
    """The first seed draws which, once for all matches of a table."""
    config = RUSSIAN | {"opponents": ["honest"], "share": 0.25}
    sizes = []
    for seed in range(200):
        game = CheatMultiAgentEnv(config)
        game.reset(seed=seed)
        sizes.append(len(game.agents))
        game.reset()
        assert len(game.agents) == sizes[-1]
    assert 30 < sizes.count(1) < 70
    assert sizes.count(1) + sizes.count(4) == 200


# --- In RLlib -------------------------------------------------------------------------------------


def runner(module: type, game: type = CheatMultiAgentEnv, steps: int = 25) -> MultiAgentEnvRunner:
    """Return what plays for RLlib: four tables, cut every so many steps."""
    learner = Learner(tables=4, steps=steps, hidden=(16,))
    config = rllib.algorithm(Config(learner=learner, opponents=Opponents(share=0)))
    config.environment(game, env_config=RUSSIAN | {"observation": "memory"})
    model = {"hidden": [16]} if module is CheatModule else {"fcnet_hiddens": [16]}
    return MultiAgentEnvRunner(
        config=config.rl_module(rl_module_spec=RLModuleSpec(module, model_config=model))
    )


class Ledger(CheatMultiAgentEnv):
    """Notes of every match who acted how often, and what each seat was paid at its end."""

    finished: list[dict[str, tuple[int, float]]]

    def reset(self, **options: Any) -> Any:
        self.acted = dict.fromkeys(self.possible_agents, 0)
        return super().reset(**options)

    def step(self, action_dict: Any) -> Any:
        self.acted[next(iter(action_dict))] += 1
        answer = super().step(action_dict)
        if answer[2]["__all__"]:
            self.finished.append({a: (n, answer[1][a]) for a, n in self.acted.items()})
        return answer


def test_rllib_learns_from_every_action_and_every_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Across its cuts, each seat's trajectory holds all its actions and its own final reward."""
    monkeypatch.setattr(Ledger, "finished", [], raising=False)
    playing = runner(CheatModule, Ledger)
    found: dict[Any, Any] = defaultdict(lambda: defaultdict(lambda: (0, 0.0)))
    for _ in range(20):
        for episode in playing.sample():
            for agent, part in episode.agent_episodes.items():
                acted, paid = found[episode.id_][agent]
                found[episode.id_][agent] = acted + len(part), paid + sum(part.get_rewards())
    assert len(Ledger.finished) > 4
    for match in Ledger.finished:
        assert match in list(found.values())


@pytest.mark.parametrize("module", [CheatModule, ActionMaskingTorchRLModule])
def test_masks_hold_in_rllib(module: type) -> None:
    """By our module and by RLlib's own one, every action that is taken is legal."""
    taken = 0
    for episode in runner(module, steps=100).sample():
        for part in episode.agent_episodes.values():
            views = part.get_observations(slice(0, len(part)))
            actions = part.get_actions()
            assert views["action_mask"][np.arange(len(part)), actions].all()
            taken += len(part)
    assert taken > 300


def test_the_module_is_the_network_of_the_agents() -> None:
    """Its masked logits are the log-probabilities of `LearnedAgent`; values need no features."""
    game = CheatMultiAgentEnv(RUSSIAN | {"observation": "memory"})
    agent = game.possible_agents[0]
    module = CheatModule(
        observation_space=game.get_observation_space(agent),
        action_space=game.get_action_space(agent),
        model_config={"hidden": [16]},
    )
    tables = Tables("russian", 4, 32)
    seen = {"observations": tables.observation, "action_mask": tables.action_mask}
    batch = {Columns.OBS: {key: torch.tensor(array) for key, array in seen.items()}}
    with torch.no_grad():
        found = module.forward_train(batch)
        values = module.compute_values(batch)
        again = module.compute_values(batch, found[Columns.EMBEDDINGS])
    expected = LearnedAgent("x", module.policy).log_probabilities(
        tables.observation, tables.action_mask
    )
    assert found[Columns.ACTION_DIST_INPUTS].numpy() == pytest.approx(expected, abs=1e-5)
    assert torch.equal(values, again)
