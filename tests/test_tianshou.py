"""`examples/tianshou_dqn.py`: masks, rewards and learning through Tianshou's PettingZooEnv."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tianshou", reason="Tianshou is an extra: cheat-env[tianshou]")

import torch

SCRIPT = Path(__file__).parent.parent / "examples" / "tianshou_dqn.py"


def train(rounds: int) -> Any:
    """Return the network, what was played, and the losses of some rounds, at three seats."""
    return runpy.run_path(str(SCRIPT))["main"](["--rounds", str(rounds), "--deals", "4"])


@pytest.fixture(scope="module")
def trained() -> Any:
    """The same after two rounds."""
    return train(2)


def test_every_action_is_legal(trained: Any) -> None:
    """Whoever acts, greedily or not, takes an action that its mask allows; all seats act."""
    _, played, _ = trained
    steps, _ = played.sample(0)
    assert len(steps) > 200
    assert steps.obs.mask[np.arange(len(steps)), steps.act].all()
    assert not steps.obs.mask.all(axis=1).any()
    assert set(steps.obs.agent_id) == {"player_0", "player_1", "player_2"}


def test_every_seat_is_paid_at_the_end_of_a_deal(trained: Any) -> None:
    """One of three loses 1, the others share it; nothing is paid before, or for a cut deal."""
    _, played, _ = trained
    steps, _ = played.sample(0)
    assert steps.done.sum() == 8
    assert steps.terminated.sum() >= 4
    for reward in steps.rew[steps.terminated]:
        assert sorted(reward) == pytest.approx([-1, 0.5, 0.5])
    assert not steps.rew[~steps.terminated].any()


def test_the_network_changes(trained: Any) -> None:
    """Losses are finite numbers, and the network is not the one that the training began with."""
    network, _, losses = trained
    assert len(losses) == 20 and np.isfinite(losses).all()
    before, *_ = train(0)
    pairs = zip(before.parameters(), network.parameters(), strict=True)
    assert all(not torch.equal(*pair) for pair in pairs)
