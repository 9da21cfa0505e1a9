"""Agents that do not learn among the learner's opponents: who sits where, and that they stay so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents import load
from agents.learned import LearnedAgent
from cheat_env import Tables
from train.command import parse
from train.config import Config, ConfigError, Game, Learner, Opponents
from train.networks import new_model
from train.opponents import AGENTS, BY_HABITS, Seating
from train.selfplay import SelfPlay


def save_model(path: Path, layout: str = "memory", hidden: tuple[int, ...] = (8, 8)) -> str:
    """Save an untrained model; returns its path."""
    new_model(layout, hidden, 0).save(path)
    return str(path)


def weights(agent: LearnedAgent) -> bytes:
    """Return all weights of a model as bytes."""
    return b"".join(w.detach().numpy().tobytes() for w in agent.policy.state_dict().values())


def seats(tables: int, *agents: str, alike: float = 1.0, share: float = 1.0) -> Seating:
    """Return a seating of one learner among some agents."""
    rest = {"random_rules": 0, "fixed_rules": 0, "agents_alike": alike}
    opponents = Opponents(**rest, agent_share=share, agents=agents)
    return Seating(opponents, tables, 4, np.random.default_rng(0))


def test_the_learner_sits_alone_in_every_table_in_each_seat_equally_often() -> None:
    """All tables are the target's, and over many deals no seat is the learner's more often."""
    seating = seats(64, "honest_guard")
    deals = np.zeros(4, np.int64)
    for _ in range(100):
        seating.redraw(np.arange(64), 0.5)
        assert (seating.kind == AGENTS).all()
        assert (seating.learner.sum(axis=1) == 1).all()
        deals += seating.learner.sum(axis=0)
    assert np.abs(deals - 1600).max() < 5 * np.sqrt(6400 * 3 / 16)
    assert {seating.names[which] for which in seating.which} == {"honest_guard"}
    assert (seating.habits == load("honest_guard").habits).all()


def test_agents_act_at_their_own_seats_and_nowhere_else(tmp_path: Path) -> None:
    """Rules, a model and chance at one table: each row has the action of whoever sits there."""
    name = save_model(tmp_path / "model.zip", layout="table")
    seating, tables = (
        seats(64, "honest", "caller", name, "random", alike=0),
        Tables("english", 4, 64),
    )
    assert [agent.name for agent in seating.agents] == [name, "random"]
    assert {seating.names[which] for which in seating.which} == {"mixed agents"}
    assert len({tuple(row) for row in seating.agent}) > 10
    honest, caller, rng = load("honest"), load("caller"), np.random.default_rng(0)
    at, played = np.arange(64), set()
    for _ in range(60):
        observation, mask, seat = tables.observation, tables.action_mask, tables.seat
        others, actions = ~seating.learner[at, seat], np.full(64, -1)
        seating.act(observation, mask, seat, others, actions)
        assert (actions[~others] == -1).all()
        assert mask[at[others], actions[others]].all()
        agent, by_rule = seating.agent[at, seat], {}
        for rule in (honest, caller):
            rows = others & (agent == BY_HABITS) & (seating.habits[at, seat] == rule.habits).all(1)
            by_rule[rule.name] = rule.act(observation, mask, rng)
            assert np.array_equal(actions[rows], by_rule[rule.name][rows])
            played |= {rule.name} if rows.any() else set()
        played |= {seating.agents[place].name for place in agent[others] if place != BY_HABITS}
        tables.step(np.where(others, actions, by_rule["honest"]))
    assert played == {"honest", "caller", name, "random"}


def test_agents_share_the_tables_with_rules_and_self_play() -> None:
    """Each kind has its share of the tables, before and after the turn."""
    early = {"random_rules": 0.25, "fixed_rules": 0.125, "agent_share": 0.25}
    late = {"late_random_rules": 0, "late_fixed_rules": 0, "late_agent_share": 1}
    opponents = Opponents(**early, **late, turn=0.5, agents=("caller", "random"))
    seating = Seating(opponents, 80, 4, np.random.default_rng(0))
    assert np.bincount(seating.kind).tolist() == [30, 20, 10, 20]
    assert seating.learner[:30].sum() == 30 and seating.learner[50:].all()
    seating.redraw(np.arange(80), 0.5)
    assert (seating.kind == AGENTS).all()
    assert {seating.names[which] for which in seating.which} == {"caller", "random"}


def test_a_guest_sits_alone_among_learners() -> None:
    """So it is at its share of the tables; who sits alone is known, and `names` tells who it is."""
    rest = {"random_rules": 0, "fixed_rules": 0, "agent_share": 1, "agents": ("caller",)}
    seating = Seating(Opponents(**rest, guests=0.75), 400, 4, np.random.default_rng(0))
    guests = seating.which == seating.names.index("guests")
    assert 260 < guests.sum() < 340
    alone = seating.alone(np.arange(400))
    assert (alone.sum(axis=1) == 1).all()
    assert np.array_equal(seating.learner, alone ^ guests[:, None])
    assert {seating.names[which] for which in seating.which[~guests]} == {"caller"}
    assert "guests" not in Seating(Opponents(**rest), 4, 4, np.random.default_rng(0)).names


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (["--opponents.agent_share=0.5"], "opponents.agents"),
        (["--opponents.agents=[caller]", "--opponents.late_agent_share=0.7"], "shares"),
        (["--opponents.agents=[caller]", "--opponents.agents_alike=2"], "agents_alike"),
        (["--opponents.agents=[caller]", "--opponents.guests=-0.1"], "guests"),
    ],
)
def test_shares_that_make_no_sense_are_refused(keys: list[str], told: str) -> None:
    """The line names the key."""
    with pytest.raises(ConfigError, match=told):
        parse(keys)


def small(target: str) -> Config:
    """Return the config of a tiny training among copies of a target."""
    rest = {"random_rules": 0, "fixed_rules": 0, "late_random_rules": 0, "late_fixed_rules": 0}
    return Config(
        game=Game("english", 3, {"deck": "A-4", "max_plays": 200}),
        learner=Learner(tables=16, steps=24, hidden=(8, 8), minibatch=128, threads=1),
        opponents=Opponents(**rest, agent_share=1, late_agent_share=1, agents=(target,)),
    )


def test_a_frozen_agent_stays_as_it_is(tmp_path: Path) -> None:
    """Training among copies of a model changes the learner, and no weight of the model."""
    name = save_model(tmp_path / "model.zip")
    training = SelfPlay(small(name))
    seating = training.collectors.rollouts[0].rooms[0].seating
    frozen = seating.agents[0]
    assert isinstance(frozen, LearnedAgent)
    before, own = weights(frozen), weights(LearnedAgent("own", training.policy))
    for _ in range(3):
        training.iterate()
    assert weights(frozen) == before == weights(load(name))
    assert weights(LearnedAgent("own", training.policy)) != own
    assert (seating.agent[~seating.learner] == 0).all()


def test_a_training_among_agents_goes_on_byte_for_byte(tmp_path: Path) -> None:
    """Saved and restored, it knows who sits where."""
    name = save_model(tmp_path / "model.zip")
    straight, first, second = (SelfPlay(small(name)) for _ in range(3))
    expected = [straight.iterate()[0] for _ in range(4)]
    found = [first.iterate()[0] for _ in range(2)]
    first.save(tmp_path)
    second.restore(tmp_path)
    assert found + [second.iterate()[0] for _ in range(2)] == expected


def test_a_training_starts_from_a_model(tmp_path: Path) -> None:
    """Its first weights are the model's; other layers and other observations are refused."""
    name = save_model(tmp_path / "model.zip")
    begun = replace(small("caller"), learner=replace(small("caller").learner, start=name, seed=9))
    assert weights(LearnedAgent("own", SelfPlay(begun).policy)) == weights(load(name))
    wide = replace(begun, learner=replace(begun.learner, hidden=(9, 8)))
    with pytest.raises(ConfigError, match=r"layers \[8, 8\]"):
        SelfPlay(wide)
    table = save_model(tmp_path / "table.zip", layout="table")
    with pytest.raises(ConfigError, match="'table'"):
        SelfPlay(replace(begun, learner=replace(begun.learner, start=table)))
