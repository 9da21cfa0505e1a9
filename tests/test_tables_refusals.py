"""Tables and environments refuse what is no legal action, and change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Lottery
from playing import ARRAYS
from positions import same

from cheat_env import IllegalAction, Tables, raw_env
from cheat_env import actions as act


def bytes_of(tables: Tables) -> list[bytes]:
    """Return every array of some tables as bytes."""
    return [tables.state.tobytes(), *[getattr(tables, name).tobytes() for name in ARRAYS]]


@pytest.mark.parametrize("auto_reset", [True, False])
def test_an_illegal_action_is_named_and_changes_nothing(
    game: tuple[str, int], auto_reset: bool
) -> None:
    """The error names table, seat, action and what is legal; no byte of any table is touched."""
    tables, lottery = Tables(*game, 8, seed=1, auto_reset=auto_reset), Lottery(1)
    for _ in range(15):
        tables.step(np.array([lottery.choose(mask) for mask in tables.action_mask]))
    actions = np.array([lottery.choose(mask) for mask in tables.action_mask])
    legal = np.flatnonzero(tables.action_mask[3])
    for wrong in (int(np.flatnonzero(tables.action_mask[3] == 0)[0]), -1, 46, 10**12, -(2**62)):
        actions[3], before = wrong, bytes_of(tables)
        with pytest.raises(IllegalAction) as caught:
            tables.step(actions)
        assert bytes_of(tables) == before
        message = str(caught.value)
        assert message.startswith(f"table 3, seat {tables.seat[3]}: action {wrong}")
        told = ", ".join(f"{action} {act.name(action)}" for action in legal)
        assert message.endswith(f"legal: {told}")


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        [0],
        [0, 0, 0],
        [[0, 0]],
        [0.0, 0.0],
        [float("nan"), 0],
        [None, 0],
        ["0", "0"],
        [True, True],
        [],
        np.array([2**64 - 1, 0], np.uint64),
        np.array([0, 0], object),
    ],
    ids=str,
)
def test_what_are_no_actions_is_refused(wrong: Any) -> None:
    """Other types, shapes, nothing and no-numbers raise and change nothing."""
    tables = Tables("russian", 2, 2)
    before = bytes_of(tables)
    with pytest.raises(IllegalAction):
        tables.step(wrong)
    assert bytes_of(tables) == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_every_integer_type_is_taken(dtype: Any) -> None:
    """Actions may come in any integer type, in any memory order."""
    tables, plain = Tables("english", 4, 3), Tables("english", 4, 3)
    for _ in range(30):
        actions = tables.action_mask.argmax(axis=1)
        strided = np.zeros((3, 2), dtype)
        strided[:, 0] = actions
        tables.step(strided[:, 0])
        plain.step(actions)
    assert same(tables.state, plain.state)


@pytest.mark.parametrize(
    "wrong",
    [None, float("nan"), 1.0, True, "0", [0], 46, -1, 10**30, np.uint64(2**63 + 3)],
    ids=str,
)
def test_the_environment_refuses_them_too(wrong: Any) -> None:
    """The environment of one table refuses the same, and names the seat."""
    game = raw_env("russian", 2)
    game.reset(seed=1)
    seat, before = game.tables.seat[0], bytes_of(game.tables)
    with pytest.raises(IllegalAction, match=f"seat {seat}: action"):
        game.step(wrong)
    assert bytes_of(game.tables) == before
    assert game.actions_played == []


@pytest.mark.parametrize("deal", ["x", 1.7, -1, 2**70, None, [1, 2]])
def test_a_deal_that_is_no_number_changes_nothing(deal: Any) -> None:
    """`options={"deal": ...}` is checked before anything is stored."""
    game = raw_env("english", 3)
    game.reset(seed=5)
    before = game.tables.state.copy()
    with pytest.raises((ValueError, TypeError)):
        game.reset(options={"deal": deal} if deal is not None else {"deal": "none"})
    assert game.tables.state.tobytes() == before.tobytes()
    game.reset()
    assert game.tables.state["match"][0] == 1
