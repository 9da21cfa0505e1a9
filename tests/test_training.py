"""The learner: seating, the network, saving, and that it learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from agents import load
from agents.habits import Habits
from agents.learned import LearnedAgent
from agents.registry import RULES
from agents.shipped import VALUE_PRIOR, sample
from cheat_env import Tables
from cheat_env.observations import LAYOUTS, view
from train.config import Config, ConfigError, Game, Learner, Opponents
from train.evaluate import ONE_VS_REST, evaluate, plan
from train.networks import new_model
from train.opponents import FIXED_RULES, RANDOM_RULES, SELF_PLAY, Seating, draw_habits
from train.selfplay import SelfPlay

TINY = Config(
    game=Game("russian", 3),
    learner=Learner(
        total_decisions=4000, tables=20, steps=24, hidden=(16, 16), minibatch=128, threads=1, seed=5
    ),
    opponents=Opponents(random_rules=0.2, fixed_rules=0.2),
)


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
    seating.redraw(np.arange(0, 200, 2), 0.0)
    assert np.array_equal(seating.learner[1::2], before[0][1::2])
    assert np.array_equal(seating.habits[1::2], before[1][1::2])
    assert not np.array_equal(seating.learner[::2], before[0][::2])
    assert (
        (seating.habits[seating.kind == RANDOM_RULES][::2] != before[1][:100:2]).any((1, 2)).all()
    )
    for _ in range(9):
        seating.redraw(np.arange(200), 0.0)
        assert (seating.learner.sum(axis=1) == 1).all()


def test_the_shares_turn_as_the_deals_end() -> None:
    """From `turn` on new deals are seated by the late shares; deals that run keep their players."""
    seating = seats(
        random_rules=0, fixed_rules=0, turn=0.5, late_random_rules=0.5, late_fixed_rules=0.25
    )
    seating.redraw(np.arange(200), 0.49)
    assert (seating.kind == SELF_PLAY).all()
    seating.redraw(np.arange(100), 0.5)
    assert (seating.kind[:100] == RANDOM_RULES).all() and (seating.kind[100:] == SELF_PLAY).all()
    seating.redraw(np.arange(200), 1.0)
    assert np.bincount(seating.kind).tolist() == [50, 100, 50]


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


def test_each_seat_acts_by_its_own_habits() -> None:
    """A caller among the honest answers as a caller; the learner's rows are left alone."""
    seating, tables = seats(64, random_rules=1.0, fixed_rules=0.0), Tables("english", 4, 64)
    seating.habits[:] = RULES["honest"].habits
    seating.habits[:, 2] = RULES["caller"].habits
    rng, told = np.random.default_rng(0), set()
    for _ in range(40):
        honest, caller = (
            load(name).act(tables.observation, tables.action_mask, rng)
            for name in ("honest", "caller")
        )
        expected = np.where(tables.seat == 2, caller, honest)
        rules_act = ~seating.learner[np.arange(64), tables.seat]
        actions = np.full(64, -1)
        seating.act(tables.observation, tables.action_mask, tables.seat, rules_act, actions)
        assert np.array_equal(actions, np.where(rules_act, expected, -1))
        told |= set(tables.seat[rules_act & (caller != honest)].tolist())
        tables.step(honest)
    assert 2 in told and len(told) > 1


def test_drawn_habits_are_in_range_and_differ() -> None:
    """Every habit is from 0 to 1, a third is nearly honest, and every plain habit varies.

    None is `prudent`, or near it: who challenges for want of the next rank also lies at times.
    """
    rng = np.random.default_rng(0)
    drawn = np.array([draw_habits(rng) for _ in range(3000)])
    assert drawn.min() >= 0 and drawn.max() <= 1
    plain = Habits._fields.index("weighs")  # from there on they are the ladder's alone
    assert (drawn[:, :plain].std(axis=0) > 0.05).all()
    lie, call, needs = (drawn[:, Habits._fields.index(n)] for n in ("lie", "call", "needs"))
    assert (drawn[:, plain:-1] == np.array(Habits())[plain:-1]).all()
    assert 0.1 < needs.mean() < 0.2 and lie[needs == 1].min() >= 0.1
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
    policy = new_model("memory", (16, 16), 0).policy
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
    policy = new_model("memory", (16, 16), 0).policy
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


def test_the_value_prior_can_be_switched_off() -> None:
    """Without it every value is 0 at first, the critic's too."""
    for critic in (False, True):
        learner = replace(TINY.learner, value_prior=False, critic=critic)
        batch, _ = SelfPlay(replace(TINY, learner=learner))._collect()
        assert not batch.value.any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_saved_model_plays_like_the_one_in_memory(layout: str, tmp_path: Path) -> None:
    """Saving and loading keeps the policy, for either observation."""
    tables = Tables("english", 4, 32, observation=layout)
    model = new_model(layout, (16, 8), 3)
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
                tables.observation,
                action_masks=tables.action_mask.copy(),
                deterministic=deterministic,
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
    second.iterate()
    second.restore(tmp_path)
    found += [second.iterate()[0] for _ in range(2)]
    assert found == expected
    assert weights(second) == weights(straight)
    assert (second.decisions, second.updates) == (straight.decisions, straight.updates)
    assert second.rng.bit_generator.state == straight.rng.bit_generator.state
    rooms = [[r.rooms[0] for r in training.collectors.rollouts] for training in (second, straight)]
    for own, other in zip(*rooms, strict=True):
        assert np.array_equal(own.tables.observation, other.tables.observation)


def test_a_batch_that_is_all_one_minibatch_is_learned_from() -> None:
    """A rollout smaller than a minibatch still makes a step."""
    training = SelfPlay(replace(TINY, learner=replace(TINY.learner, minibatch=100_000)))
    before = weights(training)
    training.iterate()
    assert weights(training) != before


@pytest.mark.parametrize(
    "sizes",
    [{"minibatch": 1}, {"minibatch": 3}, {"tables": 1, "steps": 7}, {"tables": 1, "steps": 2}],
    ids=lambda sizes: " ".join(f"{name}={size}" for name, size in sizes.items()),
)
def test_small_batches_do_no_harm(sizes: dict[str, int]) -> None:
    """S26: batches of one decision, or of none, leave the weights finite and the figures whole."""
    training = SelfPlay(replace(TINY, learner=replace(TINY.learner, epochs=1, **sizes)))
    figures = [training.iterate()[0] for _ in range(1 if "minibatch" in sizes else 40)]
    assert all(np.isfinite(w.detach().numpy()).all() for w in training.policy.parameters())
    assert {*figures[0]} >= {"policy_loss", "value_loss", "entropy"}
    assert all(figure.keys() == figures[0].keys() for figure in figures)


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
        agents = {"learner": LearnedAgent("learner", training.policy), "random": load("random")}
        asked = plan(ONE_VS_REST, ["english"], [3], ["learner"], ["random"], 200, 1, rules)
        low = evaluate(asked, agents)["cells"][0]["agents"]["learner"]["share"]["low"]
        return float(low)

    before = share()
    while training.decisions < learner.total_decisions:
        training.iterate()
    assert before < 0.45
    assert share() > 0.5
