"""`examples/torchrl_rollout.py`: masks, rewards and learning through its PettingZooWrapper."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torchrl", reason="TorchRL is an extra: cheat-env[torchrl]")

import torch

SCRIPT = Path(__file__).parent.parent / "examples" / "torchrl_rollout.py"


@pytest.fixture(scope="module")
def updates() -> Any:
    """The rollouts and last figures of two updates, at three seats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about PettingZoo's version, and what v0.15 will do
        return runpy.run_path(str(SCRIPT))["main"](["--frames", "500"])


def test_every_action_is_legal(updates: Any) -> None:
    """In every step one seat acts, and takes an action that its mask allows."""
    for rollout, _ in updates:
        seats = rollout["agents"]
        assert torch.equal(seats["mask"].sum(dim=1), torch.ones(250, dtype=torch.int64))
        acted = seats[seats["mask"]]
        assert acted["action_mask"].gather(1, acted["action"][:, None]).all()
        assert not acted["action_mask"].all(dim=1).any()


def test_every_seat_is_paid_at_the_end_of_a_deal(updates: Any) -> None:
    """One of three loses 1, the others share it; nothing is paid before, or for illegal actions."""
    paid = torch.cat([rollout["next", "agents", "reward"][..., 0] for rollout, _ in updates])
    done = torch.cat([rollout["next", "done"][:, 0] for rollout, _ in updates])
    assert done.sum() >= 2
    assert not paid[~done].any()
    for reward in paid[done]:
        assert sorted(reward.tolist()) == [-1, 0.5, 0.5]


def test_the_policy_changes(updates: Any) -> None:
    """Losses are finite numbers, and after each update the policy isn't that of the rollout."""
    for _, figures in updates:
        assert all(torch.isfinite(value).all() for value in figures.values())
        assert float(figures["kl_approx"]) != 0
