"""Ways to play games through, one or many at once, and all that an environment shows of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from positions import mask

from cheat_env import actions as act
from cheat_env.bench import choose_random

UP_GAMES = [("english", {}), ("marquoir", {"deals": 1})]
ALL_VARIANTS = [*UP_GAMES, ("russian", {})]
#: The arrays of `Tables` that are rewritten by each step.
ARRAYS = ("observation", "action_mask", "seat", "reward", "terminated", "truncated")
#: Chooses a legal action by a mask.
Choose = Callable[[np.ndarray], int]


def every(variants: Any) -> Any:
    """Run a test for several games, with options that make a match one deal."""
    return pytest.mark.parametrize(("variant", "rules"), variants, ids=[v for v, _ in variants])


class Chooser:
    """Compiled random actions for many tables."""

    def __init__(self, seed: int = 0) -> None:
        self.word = np.uint64((88172645463325252 + seed * 0x9E3779B97F4A7C15) % 2**64)

    def choose(self, masks: np.ndarray) -> np.ndarray:
        """Return one legal action a table, int (n,)."""
        actions = np.zeros(len(masks), np.int64)
        self.word = np.uint64(choose_random(masks, self.word, actions))
        return actions


def never_end(allowed: np.ndarray) -> int:
    """Challenge whatever was laid, and lay as far from the claim as the hand allows."""
    return act.CHALLENGE if allowed[act.CHALLENGE] else int(np.flatnonzero(allowed)[-1])


def ended(game: Any) -> bool:
    """Say whether any flag of any agent is set."""
    return any(game.terminations.values()) or any(game.truncations.values())


def look(game: Any) -> np.ndarray:
    """Return what the selected agent observes."""
    return game.observe(game.agent_selection)["observation"]


def drain(game: Any, choose: Choose) -> dict[str, float]:
    """Play a game through agent_iter and return what every agent's `last` paid in all."""
    paid: dict[str, float] = dict.fromkeys(game.possible_agents, 0.0)
    for agent in game.agent_iter():
        observation, reward, terminated, truncated, _ = game.last()
        paid[agent] += reward
        game.step(None if terminated or truncated else choose(observation["action_mask"]))
    return paid


def trace(game: Any, choose: Choose, steps: int) -> list[Any]:
    """Play on and return everything that everybody could see of it."""
    found = []
    for _ in range(steps):
        if not game.agents:
            break
        found.append(snapshot(game))
        game.step(None if ended(game) else choose(mask(game)))
    return found


def snapshot(game: Any) -> tuple[Any, ...]:
    """Return all that an environment shows, in comparable form."""
    shown = [game.observe(agent) for agent in game.agents]
    return (
        game.agent_selection,
        [(o["observation"].tobytes(), o["action_mask"].tobytes()) for o in shown],
        dict(game.unwrapped._cumulative_rewards),
        dict(game.rewards),
        dict(game.terminations),
        dict(game.truncations),
    )


def accept_all(game: Any, claimant: int) -> list[str]:
    """Return the words with which every other seat, clockwise, accepts a play."""
    players = game.unwrapped.tables.num_players
    return [f"{(claimant + 1 + i) % players} accepts" for i in range(players - 1)]
