"""The learner: advantages, seating, the network, saving, and that it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from agents import load
from agents.habits import Habits
from agents.learned import VALUE_PRIOR, LearnedAgent, sample
from agents.registry import RULES
from cheat_env import Tables
from cheat_env.observations import LAYOUTS, view
from train.config import Config, ConfigError, Game, Learner, Opponents
from train.evaluate import play_match
from train.opponents import FIXED_RULES, RANDOM_RULES, SELF_PLAY, Seating, draw_habits
from train.rollout import Rollout, estimate_advantages
from train.selfplay import SelfPlay, new_model

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


# --- Advantages -----------------------------------------------------------------------------------


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
    training = SelfPlay(TINY)
    batch, played = training.rollout.collect(training.policy, 1.0, 0.9)
    n = np.arange(len(batch.action))
    assert (batch.mask.sum(axis=1) > 1).all()
    assert batch.mask[n, batch.action].all()
    rollout, learner = training.rollout, training.seating.learner
    assert rollout.decided.sum() >= len(n) > 0
    rules = np.flatnonzero(training.seating.kind != SELF_PLAY)
    unended = [t for t in rules if not (rollout.terminated | rollout.truncated)[:, t].any()]
    assert unended
    for t in unended:
        assert not rollout.decided[~learner[t, rollout.seat[:, t]], t].any()
    assert played.deals == (rollout.terminated | rollout.truncated).sum()
    torch_value = training.policy.logits_and_value(
        torch.from_numpy(batch.observation).float(), torch.from_numpy(batch.mask).bool()
    )
    assert np.allclose(batch.value, torch_value[1].detach(), atol=1e-5)
    own = torch_value[0].detach().numpy()[n, batch.action]
    assert np.allclose(batch.log_probability, own, atol=1e-5)


# --- Seating --------------------------------------------------------------------------------------


def seats(tables: int = 200, players: int = 4, **opponents: Any) -> Seating:
    """Return a seating with a generator of its own."""
    return Seating(Opponents(**opponents), tables, players, np.random.default_rng(0))


def test_seating_has_the_shares_of_the_config() -> None:
    """Self-play tables are all the learner's; elsewhere it has one seat among rules."""
    seating = seats(random_rules=0.15, fixed_rules=0.05)
    assert np.bincount(seating.kind).tolist() == [160, 30, 10]
    assert seating.learner[seating.kind == SELF_PLAY].all()
    assert (seating.learner[seating.kind != SELF_PLAY].sum(axis=1) == 1).all()
    assert seats(random_rules=0, fixed_rules=0).learner.all()
    assert (seats(random_rules=0.5, fixed_rules=0.5).kind != SELF_PLAY).all()


def test_a_redraw_seats_only_the_tables_that_it_is_for() -> None:
    """New deals get a new learner seat and new habits; the other tables stay as they were."""
    seating = seats(random_rules=0.5, fixed_rules=0.5)
    before = seating.learner.copy(), seating.habits.copy()
    seating.redraw(np.arange(0, 200, 2))
    assert np.array_equal(seating.learner[1::2], before[0][1::2])
    assert np.array_equal(seating.habits[1::2], before[1][1::2])
    assert not np.array_equal(seating.learner[::2], before[0][::2])
    assert (
        (seating.habits[seating.kind == RANDOM_RULES][::2] != before[1][:100:2]).any((1, 2)).all()
    )
    for _ in range(9):
        seating.redraw(np.arange(200))
        assert (seating.learner.sum(axis=1) == 1).all()


def test_fixed_rules_are_copies_of_one_named_rule() -> None:
    """All habits at such a table are those of the rule that the table's `which` names."""
    seating = seats(random_rules=0.5, fixed_rules=0.5, fixed=("caller", "dumper"))
    assert seating.names == ("caller", "dumper", "random rules")
    for table in np.flatnonzero(seating.kind == FIXED_RULES):
        habits = RULES[seating.names[seating.which[table]]].habits
        assert (seating.habits[table] == np.array(habits)).all()
    assert set(seating.which[seating.kind == FIXED_RULES]) == {0, 1}
    assert set(seating.which[seating.kind == RANDOM_RULES]) == {2}


def test_an_unknown_fixed_rule_is_named() -> None:
    """A rule that does not exist is refused before anything starts."""
    with pytest.raises(ConfigError, match="'honset'"):
        seats(fixed=("honest", "honset"))


def test_the_rules_of_a_seating_act_by_their_habits() -> None:
    """At tables of callers the rules answer as callers, and leave the learner's rows alone."""
    seating = seats(64, fixed_rules=1.0, random_rules=0.0, fixed=("caller",))
    tables = Tables("english", 4, 64)
    rules_act = ~seating.learner[np.arange(64), tables.seat]
    actions = np.full(64, -1)
    seating.act(tables.observation, tables.action_mask, tables.seat, rules_act, actions)
    caller = load("caller").act(tables.observation, tables.action_mask, np.random.default_rng(0))
    assert np.array_equal(actions, np.where(rules_act, caller, -1))


def test_drawn_habits_are_in_range_and_differ() -> None:
    """Every habit is from 0 to 1, a third is nearly honest, and every habit varies."""
    rng = np.random.default_rng(0)
    drawn = np.array([draw_habits(rng) for _ in range(3000)])
    assert drawn.min() >= 0 and drawn.max() <= 1
    assert (drawn.std(axis=0) > 0.05).all()
    lie, call = (drawn[:, Habits._fields.index(name)] for name in ("lie", "call"))
    assert ((lie <= 0.12) & (call <= 0.12)).mean() > 0.35
    assert (call == 1).mean() > 0.03


# --- The network ----------------------------------------------------------------------------------


def some_positions(variant: str, players: int) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and masks from the middle of deals."""
    tables = Tables(variant, players, 64, seed=1)
    rng, player = np.random.default_rng(0), load("bluffer")
    for _ in range(70):
        tables.step(player.act(tables.observation, tables.action_mask, rng))
    return tables.observation.copy(), tables.action_mask.copy()


@pytest.mark.parametrize(("variant", "players"), [("english", 4), ("marquoir", 8), ("russian", 2)])
def test_masked_actions_have_no_chance(variant: str, players: int) -> None:
    """S26: chances sum to 1, masked ones are exactly 0, and none is drawn by any draw."""
    policy = new_model(Tables(variant, players), (16, 16), 0).policy
    observation, mask = some_positions(variant, players)
    with torch.no_grad():
        logs, _ = policy.logits_and_value(
            torch.from_numpy(observation).float() * 3, torch.from_numpy(mask).bool()
        )
    chances = logs.exp().numpy()
    assert (chances[mask == 0] == 0).all()
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    for draw in (0.0, 0.5, np.nextafter(1.0, 0)):
        drawn = sample(logs.numpy(), np.full(64, draw))
        assert mask[np.arange(64), drawn].all()


def test_the_value_starts_at_the_cards_that_others_hold_more() -> None:
    """Untrained, a seat's value is half the mean of the others' cards less its own, by 13."""
    policy = new_model(Tables("marquoir", 5), (16, 16), 0).policy
    observation, mask = some_positions("marquoir", 5)
    sizes = view(observation)["hand_sizes"].astype(float)
    expected = VALUE_PRIOR * (sizes[:, 1:5].mean(axis=1) - sizes[:, 0]) / 13
    with torch.no_grad():
        _, value = policy.logits_and_value(
            torch.from_numpy(observation).float(), torch.from_numpy(mask).bool()
        )
    assert VALUE_PRIOR == 0.5
    assert np.allclose(value.numpy(), expected, atol=1e-5)
    assert expected.std() > 0.05


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_saved_model_plays_like_the_one_in_memory(layout: str, tmp_path: Path) -> None:
    """Saving and loading keeps the policy, for either observation."""
    tables = Tables("english", 4, 32, observation=layout)
    model = new_model(tables, (16, 8), 3)
    model.save(tmp_path / "model.zip")
    agent, loaded = LearnedAgent("self", model.policy), load(str(tmp_path / "model.zip"))
    assert loaded.observation == layout
    for seed in range(3):
        answers = [
            player.act(tables.observation, tables.action_mask, np.random.default_rng(seed))
            for player in (agent, loaded)
        ]
        assert np.array_equal(*answers)
        tables.step(answers[0])


def test_the_library_opens_and_plays_a_saved_model(tmp_path: Path) -> None:
    """S25: MaskablePPO.load and its own predict play whole deals by legal actions only."""
    SelfPlay(TINY).model.save(tmp_path / "model.zip")
    model = MaskablePPO.load(tmp_path / "model.zip", device="cpu")
    tables = Tables("russian", 3, 16)
    for deterministic in (False, True):
        for _ in range(60):
            actions, _ = model.predict(
                tables.observation, action_masks=tables.action_mask, deterministic=deterministic
            )
            assert tables.action_mask[np.arange(16), actions].all()
            tables.step(actions)


# --- Self-play ------------------------------------------------------------------------------------


def weights(training: SelfPlay) -> bytes:
    """Return all weights as bytes."""
    return b"".join(w.detach().numpy().tobytes() for w in training.policy.state_dict().values())


def test_equal_seeds_train_equally() -> None:
    """The same config gives the same weights and figures; another seed gives others."""
    other = replace(TINY, learner=replace(TINY.learner, seed=6))
    trainings = [SelfPlay(TINY), SelfPlay(TINY), SelfPlay(other)]
    figures = [[training.iterate()[0] for _ in range(3)] for training in trainings]
    assert figures[0] == figures[1] != figures[2]
    assert weights(trainings[0]) == weights(trainings[1]) != weights(trainings[2])


def test_a_training_changes_the_weights_and_counts_its_decisions() -> None:
    """Decisions are those of the batches, rates fall with them, and figures are finite."""
    training = SelfPlay(TINY)
    before, rates = weights(training), []
    for updates in range(1, 4):
        had = training.decisions
        metrics, _ = training.iterate()
        assert training.updates == updates
        assert had < training.decisions <= had + 20 * 24
        assert np.isfinite(list(metrics.values())).all()
        rates.append(metrics["learning_rate"])
    assert weights(training) != before
    assert (
        rates == sorted(rates, reverse=True) and rates[0] == TINY.learner.learning_rate > rates[-1]
    )


def test_a_restored_training_goes_on_byte_for_byte(tmp_path: Path) -> None:
    """Two updates, saved, restored elsewhere, and two more equal four in a row."""
    straight, first, second = SelfPlay(TINY), SelfPlay(TINY), SelfPlay(TINY)
    expected = [straight.iterate()[0] for _ in range(4)]
    found = [first.iterate()[0] for _ in range(2)]
    first.save(tmp_path)
    second.restore(tmp_path)
    found += [second.iterate()[0] for _ in range(2)]
    assert found == expected
    assert weights(second) == weights(straight)
    assert (second.decisions, second.updates) == (straight.decisions, straight.updates)
    assert second.rng.bit_generator.state == straight.rng.bit_generator.state
    assert np.array_equal(second.tables.observation, straight.tables.observation)


def test_a_batch_that_is_all_one_minibatch_is_learned_from() -> None:
    """A rollout smaller than a minibatch still makes a step."""
    training = SelfPlay(replace(TINY, learner=replace(TINY.learner, minibatch=100_000)))
    before = weights(training)
    training.iterate()
    assert weights(training) != before


def test_it_learns() -> None:
    """On a small game the trained policy wins far more than a third against two random players."""
    rules = {"deck": "A-4", "copies": 2, "cards_per_play": [1, 1], "max_plays": 200}
    learner = Learner(
        total_decisions=60_000,
        tables=64,
        steps=32,
        hidden=(32, 32),
        minibatch=512,
        threads=1,
        learning_rate=2e-3,
        bfloat16=False,
    )
    config = Config(game=Game("english", 3, rules), learner=learner)
    training = SelfPlay(config)

    def share() -> float:
        agent = LearnedAgent("learner", training.policy)
        match = play_match("english", 3, agent, load("random"), 200, 1, rules)
        assert match.share is not None and match.low is not None
        return match.low

    before = share()
    while training.decisions < learner.total_decisions:
        training.iterate()
    assert before < 0.45
    assert share() > 0.5


def test_a_rollout_counts_what_the_learner_won() -> None:
    """Deals that ended by the rules count for their opponent, and won where the learner is paid."""
    tables, rng = Tables("english", 4, 16, seed=2), np.random.default_rng(0)
    seating = Seating(Opponents(0.0, 1.0, ("dumper",)), 16, 4, rng)
    rollout, policy = Rollout(tables, seating, 1, rng), new_model(tables, (8,), 0).policy
    wins = 0
    for _ in range(900):
        learner = seating.learner.copy()
        _, played = rollout.collect(policy, 1.0, 1.0)
        ended = rollout.terminated[0]
        paid = rollout.reward[0][ended][learner[ended]]
        assert (played.deals, played.truncated) == (ended.sum(), 0)
        assert played.against.tolist() == [ended.sum(), 0]
        assert played.won.tolist() == [(paid > 0).sum(), 0]
        wins += played.won[0]
    assert wins > 0
