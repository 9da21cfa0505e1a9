"""How matches on many tables end: by the rules, at the cap, and what is paid."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from conftest import Lottery
from playing import ARRAYS, Chooser
from positions import same

from cheat_env import Tables
from cheat_env import actions as act
from cheat_env.state import OVER

# --- The end of a match ---------------------------------------------------------------------------


def test_a_finished_table_waits(game: tuple[str, int]) -> None:
    """Without auto_reset it keeps state and flags, its mask is empty and actions do nothing."""
    tables = Tables(*game, 3, seed=4, auto_reset=False, deals=1, max_plays=40)
    lottery = Lottery(4)
    for _ in range(40 * 16):
        actions = np.array([lottery.choose(m) if m.any() else -7 for m in tables.action_mask])
        done = tables.terminated | tables.truncated
        before, kept = tables.state.copy(), [getattr(tables, n).copy() for n in ARRAYS]
        tables.step(actions)
        assert same(before[done], tables.state[done])
        for name, old in zip(ARRAYS, kept, strict=True):
            new = getattr(tables, name)[done]
            assert np.array_equal(new, old[done] if name != "reward" else np.zeros_like(new))
        if done.all():
            break
    assert done.all()
    assert (tables.state["phase"] == OVER).all()
    assert not tables.action_mask.any()


def test_rewards_of_a_deal_sum_to_zero(game: tuple[str, int]) -> None:
    """Who ends a deal by the rules is paid what the others pay; nothing else is ever paid."""
    tables, lottery, ends = Tables(*game, 32, seed=6, max_plays=150), Chooser(), 0
    for _ in range(1500):
        before = tables.state.copy()
        masks = tables.action_mask.copy()
        masks[::2] = POLICIES["accepts"](masks[::2])
        tables.step(lottery.choose(masks))
        paid = tables.reward.any(axis=1)
        anew = tables.state["plays"] < before["plays"]
        assert np.array_equal(paid, anew & ~tables.truncated)
        assert tables.reward.sum(axis=1) == pytest.approx(np.zeros(32), abs=1e-5)
        assert not (tables.terminated & tables.truncated).any()
        assert not (tables.terminated & ~paid).any()
        ends += int(paid.sum())
    assert ends > 5


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_go_on_alone(duplicate: Callable[[Tables], Tables], threads: int) -> None:
    """A copy goes on as the original would, and neither changes the other."""
    tables, chooser = Tables("russian", 4, 5, seed=2, threads=threads), Chooser()
    for _ in range(100):
        tables.step(chooser.choose(tables.action_mask))
    copied = duplicate(tables)
    kept = tables.state.copy()
    for _ in range(80):
        copied.step(copied.action_mask.argmax(axis=1))
    assert same(tables.state, kept)
    for _ in range(80):
        tables.step(tables.action_mask.argmax(axis=1))
    assert same(tables.state, copied.state)
    assert all(np.array_equal(getattr(tables, n), getattr(copied, n)) for n in ARRAYS)


# --- Unending play --------------------------------------------------------------------------------


def _prefer(masks: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the masks without what is not wanted, where anything wanted is left."""
    some = (masks & wanted).any(axis=1, keepdims=True)
    return np.where(some, masks & wanted, masks)


def _only(*numbers: int) -> np.ndarray:
    wanted = np.zeros(act.NUM_ACTIONS, np.int8)
    wanted[list(numbers)] = 1
    return wanted


CHALLENGE, TRUE, LAY = _only(act.CHALLENGE), _only(act.PICK), _only(act.LAY)
POLICIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "random": lambda masks: masks,
    "challenges": lambda masks: _prefer(masks, CHALLENGE),
    "accepts": lambda masks: _prefer(masks, 1 - CHALLENGE),
    "lies": lambda masks: _prefer(_prefer(masks, 1 - CHALLENGE), 1 - TRUE),
    "lies and challenges": lambda masks: _prefer(_prefer(masks, 1 - TRUE), CHALLENGE),
    "is truthful": lambda masks: _prefer(_prefer(_prefer(masks, 1 - CHALLENGE), LAY), TRUE),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("variant", "players"),
    [
        ("english", 3),
        ("english", 6),
        ("marquoir", 3),
        ("marquoir", 8),
        ("russian", 2),
        ("russian", 6),
    ],
)
def test_s12_every_policy_comes_to_an_end(variant: str, players: int, policy: str) -> None:
    """S12: 2,000 games a policy end by the rules or at the cap, and are never stuck before."""
    cap, games = 120, 334
    tables = Tables(
        variant, players, games, seed=12, observation="table", auto_reset=False, deals=1,
        max_plays=cap,
    )  # fmt: skip
    chooser, steps = Chooser(), cap * (players - 1 + 6)
    for _ in range(steps):
        done = tables.terminated | tables.truncated
        if done.all():
            break
        assert np.array_equal(tables.action_mask.any(axis=1), ~done)
        tables.step(chooser.choose(POLICIES[policy](tables.action_mask)))
    assert (tables.terminated ^ tables.truncated).all()
    assert (tables.state["plays"] <= cap).all()
    assert (tables.state["plays"][tables.truncated] == cap).all()
