"""Agents by name: `load("honest")`, `load("bluffer(lie=0.2, call=0.1)")`, `load("model.zip")`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, AgentError
from agents.habits import DRAWS, Habits, act_by_habits


class RandomAgent:
    """Plays any legal action, each with the same chance."""

    name = "random"
    observation = "table"

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`)."""
        return np.argmax(action_mask * rng.random(action_mask.shape), axis=1)


class HabitAgent:
    """A heuristic: the compiled rule with one set of habits for all its seats."""

    observation = "memory"

    def __init__(self, name: str, habits: Habits) -> None:
        self.name = name
        self.habits = np.array(habits, np.float64)

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`)."""
        n = len(observation)
        habits = np.broadcast_to(self.habits, (n, len(self.habits)))
        actions = np.zeros(n, np.int64)
        act_by_habits(
            observation, action_mask, habits, rng.random((n, DRAWS)), np.ones(n, np.bool_), actions
        )
        return actions


class Rule(NamedTuple):
    """A named set of habits and what it does, in a line."""

    habits: Habits
    meaning: str


RULES = {
    "honest": Rule(
        Habits(),
        "lays every true card, or a joker for want of one; else believes or passes where it may;"
        " else lies with one card of the rank it will be asked for last; challenges what it can see"
        " to be impossible",
    ),
    "honest_guard": Rule(
        Habits(guard=1), "honest, and always challenges a claimant that would go out"
    ),
    "caller": Rule(Habits(call=1), "honest, and challenges every claim"),
    "dumper": Rule(
        Habits(certain=0, lie=1, extra=1),
        "lays as many cards as it may, true ones first, and never challenges, believes or passes",
    ),
    "bluffer": Rule(
        Habits(lie=0.1, call=0.1), "honest, but lies and challenges by chance (lie=, call=)"
    ),
    "skeptic": Rule(
        Habits(odds=0.5, guard=1),
        "honest_guard, and challenges where its count of the cards makes a lie likelier than odds=",
    ),
    "odds": Rule(
        Habits(weighs=1, sheds=1, remembers=0),
        "challenges where the chance of a lie pays for the pile, and lays as many cards as it"
        " expects to get away with, by its own hand and what lies on the table",
    ),
    "counter": Rule(Habits(weighs=1, sheds=1), "odds with everything that a seat may remember"),
    "reader": Rule(
        Habits(weighs=1, sheds=1, reads=1),
        "counter, and reckons with how often each opponent was caught, by the size of the claim",
    ),
    "planner": Rule(
        Habits(weighs=1, sheds=1, reads=1, plans=1),
        "reader, and saves the cards that it will be asked for when it lays its last",
    ),
    "prudent": Rule(
        Habits(needs=1), "honest, and challenges whenever it lacks the rank that it must claim next"
    ),
}
#: Rules that no training may meet, so that evaluation can tell what an agent does about strangers.
HELD_OUT = ("odds", "reader", "planner", "prudent")
NAMES = ("random", *RULES)
_CALL = re.compile(r"(\w+)(?:\((.*)\))?")


def load(name: str) -> Agent:
    """Return an agent by name, name with habits, or path of a saved model.

    Raises `AgentError` where it is none of these.
    """
    if name.endswith(".zip"):
        return _load_model(name)
    call = _CALL.fullmatch(name.strip())
    if call is None or call[1] not in NAMES:
        raise AgentError(
            f"agent {name!r}: must be one of {', '.join(NAMES)}, or the path of a model.zip"
        )
    if call[1] == "random":
        if call[2]:
            raise AgentError(f"agent {name!r}: random has no habits")
        return RandomAgent()
    return HabitAgent(name, RULES[call[1]].habits._replace(**_habits(name, call[2] or "")))


def _habits(name: str, text: str) -> dict[str, float]:
    """Return the habits of "lie=0.2, call=0.1"."""
    habits: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in Habits._fields:
            raise AgentError(
                f"agent {name!r}: habit {key!r} is none of {', '.join(Habits._fields)}"
            )
        try:
            number = float(ast.literal_eval(value))
        except (ValueError, SyntaxError, TypeError):
            number = -1.0
        if not 0 <= number <= 1:
            raise AgentError(f"agent {name!r}: {key}={value}: must be a number from 0 to 1")
        habits[key] = number
    return habits


def _load_model(name: str) -> Agent:
    if not Path(name).is_file():
        raise AgentError(f"agent {name!r}: there is no such file")
    try:
        from agents.learned import LearnedAgent
    except ModuleNotFoundError as error:
        raise AgentError(f"agent {name!r}: needs {error.name}; install cheat-env[train]") from None
    return LearnedAgent.load(Path(name))
