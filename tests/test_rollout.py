"""Rollouts: what is kept of them, and the advantages of every seat's own decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from cheat_env import Tables
from train.config import Config, Game, Learner, Opponents
from train.networks import Networks, new_model
from train.opponents import SELF_PLAY, Seating
from train.rollout import Rollout, Room, estimate_advantages
from train.selfplay import SelfPlay

GAMMA, LAMBDA = 0.9, 0.8
TINY = Config(
    game=Game("russian", 3),
    learner=Learner(
        total_decisions=4000, tables=20, steps=24, hidden=(16, 16), minibatch=128, threads=1, seed=5
    ),
    opponents=Opponents(random_rules=0.2, fixed_rules=0.2),
)


def advantages(
    seat: Sequence[int],
    value: Sequence[float],
    reward: dict[int, Sequence[float]],
    terminated: Sequence[int] = (),
    truncated: Sequence[int] = (),
    forced: Sequence[int] = (),
) -> list[float | None]:
    """Return the advantage at each step of one table of two seats; None where none is usable."""
    steps = len(seat)
    decided, paid = np.ones((steps, 1), np.bool_), np.zeros((steps, 1, 2), np.float32)
    decided[list(forced)] = False
    flags = np.zeros((2, steps, 1), np.bool_)
    flags[0, list(terminated)] = flags[1, list(truncated)] = True
    for step, rewards in reward.items():
        paid[step, 0] = rewards
    found, usable = np.zeros((steps, 1), np.float32), np.zeros((steps, 1), np.bool_)
    seats, values = np.array(seat, np.int8)[:, None], np.array(value, np.float32)[:, None]
    estimate_advantages(seats, decided, values, paid, *flags, GAMMA, LAMBDA, found, usable)
    return [float(a) if u else None for a, u in zip(found[:, 0], usable[:, 0], strict=True)]


def slow_advantages(rollout: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return advantages and which are usable, trajectory by trajectory, from the definition."""
    seat, decided, value, reward = (rollout[k] for k in ("seat", "decided", "value", "reward"))
    steps, tables, seats = reward.shape
    advantage, usable = np.zeros((steps, tables)), np.zeros((steps, tables), np.bool_)
    for t in range(tables):
        ends = np.flatnonzero(rollout["terminated"][:, t] | rollout["truncated"][:, t])
        for first, last in zip([0, *(ends + 1)], [*ends, steps - 1], strict=True):
            over = last in ends and rollout["terminated"][last, t]
            for s in range(seats):
                own = [k for k in range(first, last + 1) if decided[k, t] and seat[k, t] == s]
                surprises = []
                for k, following in zip(own, [*own, None][1:], strict=True):
                    until = last + 1 if following is None else following
                    next_value = 0.0 if following is None else float(value[following, t])
                    earned = float(reward[k:until, t, s].astype(float).sum())
                    surprises.append(earned + GAMMA * next_value - float(value[k, t]))
                if not over:
                    own, surprises = own[:-1], surprises[:-1]
                for i, k in enumerate(own):
                    weights = (GAMMA * LAMBDA) ** np.arange(len(own) - i)
                    advantage[k, t], usable[k, t] = weights @ surprises[i:], True
    return advantage, usable


@pytest.mark.parametrize("seed", range(4))
def test_advantages_agree_with_the_definition(seed: int) -> None:
    """On random rollouts they equal sums of discounted surprises along each seat's decisions."""
    rng, steps, tables, seats = np.random.default_rng(seed), 40, 30, 2 + seed
    terminated = rng.random((steps, tables)) < 0.06
    rollout = {
        "seat": rng.integers(seats, size=(steps, tables)).astype(np.int8),
        "decided": rng.random((steps, tables)) < 0.7,
        "value": rng.normal(size=(steps, tables)).astype(np.float32),
        "reward": rng.normal(size=(steps, tables, seats)).astype(np.float32),
        "terminated": terminated,
        "truncated": ~terminated & (rng.random((steps, tables)) < 0.04),
    }
    found, usable = np.zeros((steps, tables), np.float32), np.zeros((steps, tables), np.bool_)
    estimate_advantages(*rollout.values(), GAMMA, LAMBDA, found, usable)
    expected, expected_usable = slow_advantages(rollout)
    assert np.array_equal(usable, expected_usable)
    assert np.allclose(found[usable], expected[usable], atol=1e-4)
    assert 0 < usable.sum() < rollout["decided"].sum()


def test_a_deal_that_ends_on_another_move_pays_the_decision_before() -> None:
    """S22, S23: seat 0's only decision gets its loss, though seat 1 moved last."""
    found = advantages([0, 1], [0.25, 0.5], {1: (-1, 1)}, terminated=[1])
    assert found == pytest.approx([-1.25, 0.5])


def test_a_reward_between_own_decisions_is_paid_once() -> None:
    """What another seat's move pays belongs to the decision before it, and to no other."""
    found = advantages([0, 1, 0], [0, 0, 0], {1: (2, 0), 2: (1, 0)}, terminated=[2])
    assert found == pytest.approx([2 + GAMMA * LAMBDA * 1, 0, 1])


def test_nothing_crosses_the_end_of_a_deal() -> None:
    """The next deal's rewards and values change no advantage of the deal before."""
    first = {1: (-1, 1)}
    alone = advantages([0, 1], [0.5, 0.5], first, terminated=[1])
    more = advantages([0, 1, 0, 1], [0.5, 0.5, 9, 9], first | {3: (7, -7)}, terminated=[1, 3])
    assert more[:2] == alone


@pytest.mark.parametrize("ends", [{"truncated": [2]}, {}], ids=["truncation", "end of rollout"])
def test_a_truncation_is_no_termination(ends: dict[str, Any]) -> None:
    """The last decision only lends its value to the one before, which counts on it."""
    found = advantages([0, 0, 1], [0.5, 2.0, 1.0], {}, **ends)
    assert found == [pytest.approx(GAMMA * 2.0 - 0.5), None, None]


def test_forced_moves_are_skipped() -> None:
    """A move with one legal action is no decision: the chain goes from own decision to the next."""
    found = advantages([0, 0, 0], [1, 100, 3], {1: (5, 0)}, terminated=[2], forced=[1])
    last = 0 - 3
    assert found == [pytest.approx(5 + GAMMA * 3 - 1 + GAMMA * LAMBDA * last), None, last]


def test_a_rollout_learns_only_from_choices_of_the_learner() -> None:
    """Every decision in a batch had two or more legal actions, and its own was one of them."""
    training = SelfPlay(replace(TINY, learner=replace(TINY.learner, bfloat16=False, critic=False)))
    rollout = training.collectors.rollouts[0]
    seating = rollout.rooms[0].seating
    batch, played = rollout.collect(training.networks, 1.0, 0.9, 0.0)
    n = np.arange(len(batch.action))
    assert (batch.mask.sum(axis=1) > 1).all()
    assert batch.mask[n, batch.action].all()
    assert rollout.decided.sum() >= len(n) > 0
    rules = np.flatnonzero(seating.kind != SELF_PLAY)
    unended = [t for t in rules if not (rollout.terminated | rollout.truncated)[:, t].any()]
    assert unended
    for t in unended:
        assert not rollout.decided[~seating.learner[t, rollout.seat[:, t]], t].any()
    assert played.deals == (rollout.terminated | rollout.truncated).sum()
    torch_value = training.policy.logits_and_value(
        torch.from_numpy(batch.observation).float(), torch.from_numpy(batch.mask).bool()
    )
    assert np.allclose(batch.value, torch_value[1].detach(), atol=1e-5)
    own = torch_value[0].detach().numpy()[n, batch.action]
    assert np.allclose(batch.log_probability, own, atol=1e-5)


@pytest.mark.parametrize(
    ("opponents", "against"),
    [
        (Opponents(random_rules=0.0, fixed_rules=1.0, fixed=("dumper",)), "dumper"),
        (
            Opponents(
                random_rules=0.0, fixed_rules=0.0, agent_share=1.0, agents=("honest",), guests=1.0
            ),
            "guests",
        ),
    ],
)
def test_a_rollout_counts_what_who_sat_alone_won(opponents: Opponents, against: str) -> None:
    """Deals that ended by the rules count, and won where the learner, or the guest, is paid."""
    tables, rng = Tables("english", 4, 16, seed=2), np.random.default_rng(0)
    seating = Seating(opponents, 16, 4, rng)
    rollout = Rollout(0, [Room(tables, seating)], 1, rng)
    networks = Networks(new_model("memory", (8,), 0).policy, None, threads=1, bfloat16=False)
    wins = 0
    for _ in range(900):
        alone = seating.learner ^ (against == "guests")
        _, played = rollout.collect(networks, 1.0, 1.0, 0.0)
        ended = rollout.terminated[0]
        paid = rollout.reward[0, :, :4][ended][alone[ended]]
        own = np.array(seating.names) == against
        assert (played.deals, played.truncated) == (ended.sum(), 0)
        assert played.against.tolist() == (own * ended.sum()).tolist()
        assert played.won.tolist() == (own * (paid > 0).sum()).tolist()
        wins += played.won.sum()
    assert wins > 0


def test_a_truncated_deal_is_over_where_the_config_says_so() -> None:
    """Its last decisions are then usable, and worth what they were paid."""
    sizes = []
    for ends in (False, True):
        tables = Tables("english", 4, 32, seed=2, deck="A-5", max_plays=4)
        rng = np.random.default_rng(0)
        seating = Seating(Opponents(random_rules=0.0, fixed_rules=0.0), 32, 4, rng)
        rollout = Rollout(0, [Room(tables, seating)], 40, rng, truncation_ends=ends)
        networks = Networks(new_model("memory", (8,), 0).policy, None, threads=1, bfloat16=False)
        batch, played = rollout.collect(networks, 1.0, 1.0, 0.0)
        assert played.truncated == played.deals > 32
        assert rollout.terminated.sum() == ends * played.deals
        assert rollout.truncated.sum() == (not ends) * played.deals
        sizes.append(len(batch.action))
    assert sizes[0] < sizes[1]
    assert (np.abs(batch.value + batch.advantage) < 1e-5).mean() > 0.5
