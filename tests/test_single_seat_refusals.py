"""What a single seat refuses: opponents that answer nonsense, arguments, options and actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents import Agent, AgentError
from agents.gym_env import CheatEnv
from cheat_env import IllegalAction, RulesError


class Odd:
    """An agent that answers as told."""

    name, observation = "odd", "table"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> Any:
        return self.answer(mask)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            lambda mask: mask.argmax(axis=1).astype(float),
            r"float64 \(1,\): must be integers \(1,\)",
        ),
        (lambda mask: mask.argmax(axis=1).tolist(), r"object \(1,\): must be integers"),
        (lambda mask: mask.argmax(axis=1)[:, None], r"int64 \(1, 1\): must be integers \(1,\)"),
        (lambda mask: None, r"object \(\): must be integers"),
        (lambda mask: mask.argmin(axis=1), r"action \d+ is illegal; legal: \[\d"),
        (lambda mask: np.array([46]), r"action 46 is illegal; legal: \[\d"),
        (lambda mask: np.array([-1]), r"action -1 is illegal"),
        (lambda mask: np.array([2**64 - 1], np.uint64), r"action 18446744073709551615 is illegal"),
    ],
)
def test_an_opponent_that_answers_nonsense_is_named(answer: Any, told: str) -> None:
    """What is no legal action for every row is one error with the agent's name."""
    env = CheatEnv("english", 3, Odd(answer), seat=0)
    with pytest.raises(IllegalAction, match=f"^agent odd: .*{told}"):
        for seed in range(9):  # the learner can be the first to act
            env.reset(seed=seed)


@pytest.mark.parametrize("action", [46, -1, 10**30, 1.0, "0", None, True, np.array([0, 1])])
def test_what_is_no_action_is_refused(action: Any) -> None:
    """Anything but a whole number of the space is one clear error, and the game goes on."""
    env = CheatEnv("russian", 3)
    _, info = env.reset(seed=1)
    with pytest.raises(IllegalAction, match=r"action .*: must be a whole number from 0 to 45"):
        env.step(action)
    env.step(np.array(np.argmax(info["action_mask"])))  # as SB3's `predict` returns one


@pytest.mark.parametrize(
    ("error", "arguments", "told"),
    [
        (AgentError, {"opponents": "nobody"}, "agent 'nobody': must be one of"),
        (
            AgentError,
            {"opponents": ["honest", "honest"]},
            "2 given: must be one, or one for each of 3",
        ),
        (AgentError, {"opponents": []}, "0 given"),
        (AgentError, {"opponents": 3}, "opponent 3: must be the name"),
        (AgentError, {"opponents": ["honest", None, "honest"]}, "opponent None: must be"),
        (AgentError, {"opponents": "missing.zip"}, "missing.zip.*no such file"),
        (RulesError, {"seat": 4}, "seat 4: must be from 0 to 3"),
        (RulesError, {"seat": "left"}, "seat 'left': give a whole number"),
        (RulesError, {"observation": "state"}, "observation 'state': must be one of table, memory"),
        (RulesError, {"variant": "poker"}, "poker"),
        (RulesError, {"num_players": 9}, "9"),
        (RulesError, {"jokes": 2}, "jokes"),
        (ValueError, {"render_mode": "rgb_array"}, "render_mode 'rgb_array': must be None or one"),
    ],
)
def test_bad_arguments_are_one_clear_line(
    error: type[Exception], arguments: dict[str, Any], told: str
) -> None:
    """Each names the argument, its value and what is allowed."""
    with pytest.raises(error, match=told) as refused:
        CheatEnv(**{"variant": "english", "num_players": 4, "opponents": "honest"} | arguments)
    assert "\n" not in str(refused.value)


def test_an_agent_must_read_an_observation_that_there_is() -> None:
    """An object with another layout is refused by name."""
    odd: Agent = Odd(None)
    odd.observation = "state"
    with pytest.raises(AgentError, match=r"Odd.*Agent whose observation is table or memory"):
        CheatEnv("english", 3, odd)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"deal": -1}, "deals .*whole numbers"),
        ({"deal": 1.5}, "deals .*whole numbers"),
        ({"deal": [1, 2]}, r"deal \[1, 2\]: give one, or one for each of 1 tables"),
        ({"seat": 3}, "seat 3: must be from 0 to 2"),
    ],
)
def test_bad_options_are_one_clear_line(options: dict[str, Any], told: str) -> None:
    """What can't be dealt is refused."""
    with pytest.raises(RulesError, match=told):
        CheatEnv("english", 3).reset(seed=1, options=options)
