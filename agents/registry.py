"""Agents by name: `load("honest")`, `load("search(worlds=8)")`, `load("model.zip")`.

Beside these `load("llm(command='python my_model.py', timeout=30)")` plays what a program answers.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents import shipped
from agents.base import Agent, AgentError
from agents.habits import DRAWS, Habits, act_by_habits, draws_between
from agents.llm import LanguageAgent
from agents.search import SearchAgent


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

    def probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Return the probability of each action (see `agents.base.Mixing`)."""
        return action_mask / action_mask.sum(axis=1, keepdims=True)


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
        return self._decide(observation, action_mask, rng.random((len(observation), DRAWS)))

    def probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Return the probability of each action (see `agents.base.Mixing`)."""
        found, rows = np.zeros(action_mask.shape), np.arange(len(observation))
        for draws, chance in zip(*draws_between(self.habits), strict=True):
            everywhere = np.broadcast_to(draws, (len(rows), DRAWS))
            found[rows, self._decide(observation, action_mask, everywhere)] += chance
        return found

    def _decide(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        draws: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return an action for each row by its draws (n, 4)."""
        n = len(observation)
        habits = np.broadcast_to(self.habits, (n, len(self.habits)))
        actions = np.zeros(n, np.int64)
        act_by_habits(observation, action_mask, habits, draws, np.ones(n, np.bool_), actions)
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
#: Players that no training may meet: evaluation tells what an agent does about such strangers.
HELD_OUT = ("odds", "reader", "planner", "prudent", "search")
NAMES = ("random", *RULES, "search")
_CALL = re.compile(r"(\w+)(?:\((.*)\))?")
LLM_SETTINGS = ("command", "timeout", "deck")
_LLM = re.compile(r"llm\b(?!\.)")


def is_held_out(name: str) -> bool:
    """Say whether a name, with habits or not, is that of a player that no training may meet."""
    return name.partition("(")[0].strip() in HELD_OUT


def load(name: str) -> Agent:
    """Return an agent by name, name with habits, or path of a saved model.

    Raises `AgentError` where it is none of these.
    """
    if path := model_file(name):
        return _load_model(name, path)
    if _LLM.match(name.strip()):
        return LanguageAgent(name, load("honest"), **_settings(name))
    call = _CALL.fullmatch(name.strip())
    if call is None or call[1] not in NAMES:
        known = ", ".join((*NAMES, *shipped.names()))
        raise AgentError(
            f"agent {name!r}: must be one of {known}, llm(command=...), or the path of a model"
        )
    if call[1] == "random":
        if call[2]:
            raise AgentError(f"agent {name!r}: random has no habits")
        return RandomAgent()
    if call[1] == "search":
        bold, careful = RULES["counter"].habits, RULES["honest_guard"].habits
        return SearchAgent(name, bold, careful, **_budget(name, call[2] or ""))
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


def _budget(name: str, text: str) -> dict[str, Any]:
    """Return the budget of "worlds=8"; whether it can be played, the agent says."""
    budget: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (word.strip() for word in part.partition("="))
        if key != "worlds":
            raise AgentError(f"agent {name!r}: {key!r} is no budget: only worlds is")
        budget[key] = int(value) if value.isdecimal() and value.isascii() else value
    return budget


def _settings(name: str) -> dict[str, Any]:
    """Return what is in the parentheses of llm(command='...', timeout=30), texts in quotes."""
    settings: dict[str, Any] = {}
    try:
        call = ast.parse(name.strip(), mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            settings = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        settings = {}
    if "command" not in settings or not set(settings) <= set(LLM_SETTINGS):
        raise AgentError(
            f"agent {name!r}: write it as llm(command='PROGRAM ARGUMENT ...', timeout=60), with no"
            f" other settings than {', '.join(LLM_SETTINGS)}"
        )
    return settings


def model_file(name: str) -> Path | None:
    """Return the file of a model that is named by its path or shipped by this name, or None."""
    if name in shipped.names():
        return shipped.ZOO / f"{name}{shipped.SUFFIX}"
    return Path(name) if name.endswith((".zip", shipped.SUFFIX)) else None


def _load_model(name: str, path: Path) -> Agent:
    if not path.is_file():
        raise AgentError(f"agent {name!r}: there is no such file")
    if path.suffix == shipped.SUFFIX:
        return shipped.ShippedAgent.load(path, name)
    try:
        from agents.learned import LearnedAgent
    except ModuleNotFoundError as error:
        raise AgentError(f"agent {name!r}: needs {error.name}; install cheat-env[train]") from None
    return LearnedAgent.load(path)
