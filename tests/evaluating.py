"""What the tests of the evaluation share: players of one idea, and short ways to evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agents import Agent, load
from cheat_env import actions as act
from cheat_env.observations import view
from train import evaluate
from train.evaluate import MIXED, ONE_VS_REST, plan


class Fixed:
    """A player that always takes the first legal action: all chance lies in the deal."""

    name = "fixed"
    observation = "table"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
        return np.argmax(mask, axis=1)


class Watcher(Fixed):
    """The same, and keeps the hand of every seat that opened a deal."""

    observation = "memory"

    def __init__(self) -> None:
        self.hands: list[bytes] = []

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
        o = view(observation)
        opens = (o["recent"][:, 0, 0] == 0) & (o["picked"].sum(axis=1) == 0)
        self.hands += [hand.tobytes() for hand in o["own_hand"][opens]]
        return super().act(observation, mask, rng)


class Illegal(Fixed):
    """A player that does not look at the mask."""

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
        return np.full(len(mask), act.BELIEVE)


def versus(
    variant: Any,
    players: int,
    one: Agent | str,
    rest: Agent | str,
    deals: int,
    seed: int = 1,
    **rules: Any,
) -> dict[str, Any]:
    """Play `one` against copies of `rest`; returns the cell, with the agents by these names."""
    asked = plan(ONE_VS_REST, [variant], [players], ["one"], ["rest"], deals, seed, rules)
    found = evaluate.evaluate(asked, {"one": _agent(one), "rest": _agent(rest)})
    cell: dict[str, Any] = found["cells"][0]
    return cell


def mixed(variant: Any, agents: dict[str, Any], deals: int, seed: int = 1) -> dict[str, Any]:
    """Play different agents at one table; returns the cell."""
    asked = plan(MIXED, [variant], [len(agents)], list(agents), [], deals, seed)
    found = evaluate.evaluate(asked, {name: _agent(agent) for name, agent in agents.items()})
    cell: dict[str, Any] = found["cells"][0]
    return cell


def _agent(agent: Agent | str) -> Agent:
    return load(agent) if isinstance(agent, str) else agent


def run(directory: Path, *more: str, **options: Any) -> tuple[int, Path]:
    """Run the command line with few deals; returns the exit code and where it writes.

    An option that is None is left out.
    """
    given = {
        "variant": "english",
        "players": "4",
        "agents": "honest",
        "against": "random honest_guard",
        "deals": "6",
        "seed": "1",
        "workers": "1",
        "out": str(directory),
    } | options
    words = [
        word
        for key, value in given.items()
        if value is not None
        for word in (f"--{key}", *str(value).split(" "))
    ]
    try:
        return evaluate.main([*words, *more]), directory
    except SystemExit as ended:
        return int(ended.code or 0), directory
