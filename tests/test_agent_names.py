"""The names of the players, and the files of models, good and foreign."""

from __future__ import annotations

import inspect
import json
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from agents import NAMES, Agent, AgentError, load, shipped
from agents import __main__ as listing
from agents.habits import Habits
from agents.learned import HEADER
from agents.registry import HELD_OUT, RULES, HabitAgent
from cheat_env.observations import LAYOUTS
from train.networks import new_model

HABITS = ("bluffer(lie=0.5, noise=0.5)", "counter( odds=0.2,guard=0 )")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a model that was saved untrained."""
    path = tmp_path_factory.mktemp("model") / "model.zip"
    new_model("memory", (16, 16), 0).save(path)
    return str(path)


@pytest.mark.parametrize("name", [*NAMES, *HABITS])
def test_every_name_is_an_agent(name: str) -> None:
    """A name gives a player of that name, which reads one of the layouts and never a state."""
    agent = load(name)
    assert isinstance(agent, Agent)
    assert agent.name == name
    assert agent.observation in LAYOUTS
    assert list(inspect.signature(agent.act).parameters) == ["observation", "action_mask", "rng"]


def test_a_saved_model_is_an_agent(model: str) -> None:
    """The path of a model gives a player that is called like the path."""
    agent = load(model)
    assert isinstance(agent, Agent)
    assert (agent.name, agent.observation) == (model, "memory")


def test_habits_in_parentheses_change_only_themselves() -> None:
    """What is not named keeps the habit of the rule."""
    agent = load("counter(odds=0.25,  lie = 0.5)")
    assert isinstance(agent, HabitAgent)
    assert Habits(*agent.habits) == RULES["counter"].habits._replace(odds=0.25, lie=0.5)
    assert Habits(*load("counter()").habits) == RULES["counter"].habits


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("honset", "'honset'"),
        ("", "''"),
        ("honest(", "'honest('"),
        ("honest(sly=1)", "'sly'"),
        ("honest(lie)", "lie="),
        ("honest(lie=2)", "lie=2"),
        ("honest(lie=-0.1)", "lie=-0.1"),
        ("honest(lie=nan)", "lie=nan"),
        ("honest(lie=often)", "lie=often"),
        ("honest(lie=1j)", "lie=1j"),
        ("honest(0.5)", "'0.5'"),
        ("random(lie=1)", "random has no habits"),
        ("nowhere/model.zip", "'nowhere/model.zip'"),
        ("honest\nodd", "must be one of random, honest"),
    ],
)
def test_a_bad_name_is_one_clear_line(name: str, told: str) -> None:
    """What is no agent is refused with its name, and with what is allowed."""
    with pytest.raises(AgentError) as caught:
        load(name)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


class Line(gymnasium.Env):
    """A game that is none of ours."""

    observation_space = gymnasium.spaces.Box(0, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2)

    def action_masks(self) -> np.ndarray:
        return np.ones(2, np.bool_)


def rewrite(model: str, path: Path, change: dict[str, bytes]) -> None:
    """Write a copy of a model with some of its members changed."""
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, change.get(name, old.read(name)))


def retold(model: str, path: Path, **changes: Any) -> None:
    """Write a copy of a model with another header."""
    with zipfile.ZipFile(model) as archive:
        header = json.loads(archive.read(HEADER))
    rewrite(model, path, {HEADER: json.dumps(header | changes).encode()})


def policy_of(model: str, path: Path, hidden: tuple[int, ...]) -> bytes:
    """Return the weights of a network of other widths."""
    new_model("memory", hidden, 0).save(path)
    with zipfile.ZipFile(path) as saved:
        return saved.read("policy.pth")


FOREIGN = {
    "text": lambda path, model: path.write_text("no zip"),
    "empty": lambda path, model: path.write_bytes(b""),
    "cut": lambda path, model: path.write_bytes(Path(model).read_bytes()[:5000]),
    "zip of nothing": lambda path, model: zipfile.ZipFile(path, "w").close(),
    "zip of something": lambda path, model: zipfile.ZipFile(path, "w").writestr("a.txt", "a"),
    "no json": lambda path, model: rewrite(model, path, {HEADER: b"}"}),
    "no keys": lambda path, model: rewrite(model, path, {HEADER: b"{}"}),
    "a list": lambda path, model: rewrite(model, path, {HEADER: b"[]"}),
    "other layout": lambda path, model: retold(model, path, digest="0" * 64),
    "no such observation": lambda path, model: retold(model, path, observation="all"),
    "huge": lambda path, model: retold(model, path, hidden=[10**9]),
    "no layers": lambda path, model: retold(model, path, hidden=[]),
    "no numbers": lambda path, model: retold(model, path, hidden=["wide"]),
    "no weights": lambda path, model: rewrite(model, path, {"policy.pth": b"garbage"}),
    "other widths": lambda path, model: rewrite(
        model, path, {"policy.pth": policy_of(model, path, (8,))}
    ),
    "PPO": lambda path, model: PPO("MlpPolicy", Line(), n_steps=8, batch_size=8).save(path),
    "MaskablePPO": lambda path, model: MaskablePPO("MlpPolicy", Line(), n_steps=8).save(path),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_no_agent(kind: str, tmp_path: Path, model: str) -> None:
    """A zip file that is no model of ours is refused in one line that names it."""
    path = tmp_path / "foreign.zip"
    FOREIGN[kind](path, model)
    with pytest.raises(AgentError, match=r"foreign\.zip") as caught:
        load(str(path))
    assert "\n" not in str(caught.value)


def test_the_command_lists_every_name(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m agents` has a line for each name, tells every habit, and what is held out."""
    listing.main([])
    *lines, habits, held_out = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines if line[:1].isalpha()]
    assert named == [*NAMES, *shipped.names()]
    assert all(habit in habits for habit in Habits._fields)
    assert len(HELD_OUT) >= 4 and all(name in held_out for name in HELD_OUT)
