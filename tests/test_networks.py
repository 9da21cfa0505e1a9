"""Policy and critic in parts: the same on any number of threads, and what the critic sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents import load
from agents.learned import usual_sizes
from agents.shipped import save
from cheat_env import Tables
from cheat_env.cards import JOKER, SLOTS
from cheat_env.observations import MEMORY, OTHERS
from train.config import Config, ConfigError, Game, Learner, Opponents
from train.critic import HIDDEN, Critic, see_hidden
from train.networks import Networks, Seen, new_model, see
from train.selfplay import SelfPlay

TINY = Config(
    game=Game("russian", 3),
    learner=Learner(
        total_decisions=4000, tables=24, steps=24, hidden=(16, 16), minibatch=128, threads=1, seed=5
    ),
    opponents=Opponents(random_rules=0.2, fixed_rules=0.2),
)


def changed(**keys: Any) -> Config:
    """Return the tiny training with other keys of the learner."""
    return replace(TINY, learner=replace(TINY.learner, **keys))


def weights(training: SelfPlay) -> bytes:
    """Return all weights as bytes, the critic's too."""
    modules = [training.policy, *([training.critic] if training.critic else [])]
    states = [w for module in modules for w in module.state_dict().values()]
    return b"".join(w.detach().numpy().tobytes() for w in states)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_threads_change_no_byte(bfloat16: bool) -> None:
    """One thread, one for each part, and more than that, train to the same weights and figures."""
    trainings = [SelfPlay(changed(threads=n, bfloat16=bfloat16)) for n in (1, 2, 3)]
    figures = [[training.iterate()[0] for _ in range(3)] for training in trainings]
    assert figures[0] == figures[1] == figures[2]
    assert weights(trainings[0]) == weights(trainings[1]) == weights(trainings[2])


def played(variant: str, players: int, steps: int = 60) -> Tables:
    """Return tables in the middle of deals."""
    tables = Tables(variant, players, 32, seed=3)
    rng, player = np.random.default_rng(0), load("bluffer(lie=0.3, call=0.2)")
    for _ in range(steps):
        tables.step(player.act(tables.observation, tables.action_mask, rng))
    return tables


def judged(
    networks: Networks, tables: Tables, hidden: np.ndarray, part: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return log-probabilities and values of the seats to act."""
    return networks.judge(part, tables.observation.copy(), hidden, tables.action_mask.copy())


def seen_by(tables: Tables) -> Seen:
    """Return the rows of the seats to act, without hidden cards."""
    nothing = np.zeros((tables.num_tables, 0), np.int8)
    return see(tables.observation.copy(), nothing, tables.action_mask.copy())


def hidden_of(tables: Tables) -> np.ndarray:
    """Return what the seats to act do not see, int8 (n, HIDDEN)."""
    hidden = np.ones((tables.num_tables, HIDDEN), np.int8)
    see_hidden(tables.state, tables.game, hidden)
    return hidden


@pytest.mark.parametrize(("variant", "players"), [("english", 5), ("marquoir", 8), ("russian", 2)])
def test_the_critic_sees_every_hidden_card(variant: str, players: int) -> None:
    """The others' hands from the next seat on, the group and the pile, by relative rank."""
    tables = played(variant, players)
    rows = hidden_of(tables).reshape(-1, OTHERS + 2, SLOTS)
    own = MEMORY.view(tables.observation)
    ranks = int(tables.options.num_ranks)
    for t, table in enumerate(tables.state):
        base = max(int(table["rank"]), 0)
        order = [(base + r) % ranks if r < ranks else r for r in range(SLOTS)]
        order[JOKER] = JOKER
        seats = [(int(table["turn"]) + i) % players for i in range(1, players)]
        assert np.array_equal(rows[t, : players - 1], table["hand"][seats][:, order])
        assert not rows[t, players - 1 : OTHERS].any()
        assert np.array_equal(rows[t, OTHERS], table["group"][order])
        assert np.array_equal(rows[t, OTHERS + 1], table["pile"].sum(axis=0)[order])
        assert rows[t, : players - 1].sum() == own["hand_sizes"][t, 1:players].sum()
        assert rows[t, OTHERS:].sum() == own["pile_size"][t, 0]


def test_the_policy_reads_nothing_that_the_critic_sees() -> None:
    """Other hidden cards behind the same observations change values, and no chance of an action."""
    tables = played("english", 4)
    networks = Networks(
        new_model("memory", (16,), 0).policy, Critic(usual_sizes(MEMORY.size), (16,)), 1, False
    )
    assert networks.critic
    torch.nn.init.normal_(networks.critic.value.weight)
    hidden = hidden_of(tables)
    logs, value = judged(networks, tables, hidden)
    others, worth = judged(networks, tables, np.roll(hidden, 1, axis=0))
    assert np.array_equal(logs, others)
    assert not np.allclose(value, worth)


def test_numbers_that_are_nowhere_can_be_left_out() -> None:
    """Narrowed rows are judged as whole ones are."""
    tables = played("english", 4)
    policy = new_model("memory", (16, 8), 0).policy
    torch.nn.init.normal_(policy.value_net.weight)
    assert seen_by(tables).numbers.shape[1] < MEMORY.size
    networks = Networks(policy, None, 1, bfloat16=False)
    logs, value = judged(networks, tables, np.zeros((32, 0), np.int8), part=1)
    with torch.no_grad():
        expected = policy.logits_and_value(
            torch.from_numpy(tables.observation.copy()).float(),
            torch.from_numpy(tables.action_mask.copy()).bool(),
        )
    assert np.allclose(logs, expected[0], atol=1e-5) and np.allclose(value, expected[1], atol=1e-5)


def test_the_parts_add_up_to_the_gradient_of_all_rows() -> None:
    """Any number of rows, one too, gives the gradient that the library would compute."""
    tables = played("russian", 4)
    policy = new_model("memory", (16, 8), 0).policy
    networks = Networks(policy, None, 1, bfloat16=False)
    seen = seen_by(tables)
    for rows in (torch.arange(32), torch.tensor([7]), torch.arange(0, 31, 2)):
        policy.zero_grad()
        networks.backward(seen, rows, lambda judged, _: (judged.value.square().sum(), {}))
        found = [p.grad.clone() for p in policy.parameters() if p.grad is not None]
        policy.zero_grad()
        _, value = policy.logits_and_value(
            torch.from_numpy(tables.observation.copy()).float()[rows], seen.mask[rows]
        )
        value.square().sum().backward()
        expected = [p.grad for p in policy.parameters() if p.grad is not None]
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(found, expected, strict=True))


def test_a_blind_network_does_not_see_these_fields(tmp_path: Path) -> None:
    """Other numbers there change nothing: in training, saved and loaded, and shipped."""
    tables = played("english", 4)
    model = new_model("memory", (16, 8), 0, blind=("tallies", "known"))
    for weights in model.policy.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    model.save(tmp_path / "model.zip")
    agent = load(str(tmp_path / "model.zip"))
    save(tmp_path / "model.npz", "memory", agent.arrays(), {})
    other = tables.observation.copy()
    view = MEMORY.view(other)
    view["tallies"][:] += 3
    view["known"][:] += 1
    for player in (agent, load(str(tmp_path / "model.npz"))):
        chances = player.probabilities(tables.observation, tables.action_mask)
        assert np.array_equal(chances, player.probabilities(other, tables.action_mask))
        view["own_pile"][:, 0] += 1
        assert not np.array_equal(chances, player.probabilities(other, tables.action_mask))
        view["own_pile"][:, 0] -= 1


# --- Several games in one training ----------------------------------------------------------------


def test_one_network_learns_several_games_and_seat_counts() -> None:
    """Each game has those of the seat counts that it allows, and an equal part of the tables."""
    game = Game(variants=("english", "marquoir", "russian"), num_players=(2, 3, 8))
    training = SelfPlay(replace(changed(tables=35), game=game))
    rollouts = training.collectors.rollouts
    rooms = [(r.tables.rules.name, r.tables.num_players) for r in rollouts[0].rooms]
    assert ("english", 3) in rooms and ("russian", 2) in rooms and ("marquoir", 8) in rooms
    assert ("english", 2) not in rooms and ("russian", 8) not in rooms
    sizes = [r.tables.num_tables for rollout in rollouts for r in rollout.rooms]
    assert sum(sizes) == 35 and max(sizes) - min(sizes) <= 1
    dealt = [
        (r.tables.rules.name, r.tables.num_players, hand.tobytes())
        for rollout in rollouts
        for r in rollout.rooms
        for hand in r.tables.state["hand"]
    ]
    assert len(set(dealt)) == 35
    before = weights(training)
    metrics, _ = training.iterate()
    assert np.isfinite(list(metrics.values())).all() and weights(training) != before


def test_several_games_are_saved_and_restored(tmp_path: Path) -> None:
    """A training of two games goes on byte for byte."""
    game = Game(variants=("english", "russian"), num_players=(3, 4))
    straight, first, second = (SelfPlay(replace(TINY, game=game)) for _ in range(3))
    expected = [straight.iterate()[0] for _ in range(3)]
    found = [first.iterate()[0]]
    first.save(tmp_path)
    second.restore(tmp_path)
    assert found + [second.iterate()[0] for _ in range(2)] == expected


def test_games_without_a_table_or_a_seat_count_are_refused() -> None:
    """The line names the key and what is allowed."""
    game = Game(variants=("english", "russian"), num_players=(3, 4))
    with pytest.raises(ConfigError, match=r"learner\.tables 3.*at least 4"):
        SelfPlay(replace(changed(tables=3), game=game))
    with pytest.raises(ConfigError, match=r"num_players \[7, 8\]: russian is for 2 to 6"):
        Game(variants=("marquoir", "russian"), num_players=(7, 8)).rooms()
