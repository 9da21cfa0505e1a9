"""Shipped models: what their files hold, that they play like the network, and what is refused."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_train_cli import train, words

from agents import AgentError, load, shipped
from agents.learned import LearnedAgent
from agents.registry import model_file
from cheat_env import Tables
from cheat_env.observations import MEMORY, layout
from train import ship
from train.config import Config, Learner
from train.networks import new_model
from train.selfplay import SelfPlay


def fresh(observation: str = "memory", hidden: tuple[int, ...] = (16, 8)) -> LearnedAgent:
    """Return an untrained agent whose weights are all drawn."""
    torch.manual_seed(3)
    policy = new_model(observation, hidden, 3).policy
    for weights in policy.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    return LearnedAgent("fresh", policy)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The file of an untrained model."""
    agent, path = fresh(), tmp_path / "model.npz"
    told = {"summary": "untrained", "hidden": [16, 8], "blind": []}
    shipped.save(path, agent.observation, agent.arrays(), told)
    return path


@pytest.mark.parametrize("observation", ["memory", "table"])
@pytest.mark.parametrize(("variant", "players"), [("english", 4), ("marquoir", 8), ("russian", 2)])
def test_it_plays_like_the_network(
    observation: str, variant: str, players: int, tmp_path: Path
) -> None:
    """Probabilities are those of the network to rounding, and the actions drawn are legal."""
    agent, path = fresh(observation), tmp_path / "model.npz"
    shipped.save(path, observation, agent.arrays(), {})
    loaded = load(str(path))
    tables = Tables(variant, players, 64, seed=1, observation=observation)
    rng = np.random.default_rng(0)
    for _ in range(60):
        seen = tables.observation, tables.action_mask
        chances = loaded.probabilities(*seen)
        assert np.allclose(chances, agent.probabilities(*seen), atol=1e-5)
        assert (chances[seen[1] == 0] == 0).all()
        actions = loaded.act(*seen, rng)
        assert seen[1][np.arange(64), actions].all()
        tables.step(actions)


def test_it_needs_no_torch(model: Path) -> None:
    """Loading and playing a shipped model imports neither torch nor what stands on it."""
    code = f"""
import sys, numpy as np
from agents import load
from cheat_env import Tables
tables = Tables("english", 4, 8)
load({str(model)!r}).act(tables.observation, tables.action_mask, np.random.default_rng(0))
assert not {{"torch", "sb3_contrib"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def rewritten(path: Path, **changes: Any) -> Path:
    """Return a copy of a model whose header or arrays are changed; None takes something out."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").tobytes())
    for name, value in changes.items():
        place = arrays if name in arrays else header
        if value is None:
            del place[name]
        else:
            place[name] = value
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    copy = path.with_name("changed.npz")
    np.savez(copy, header=text, **arrays)
    return copy


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format": 2}, "format 2"),
        ({"digest": "0" * 64}, "layout 000000000000"),
        ({"digest": None}, "'digest'"),
        ({"observation": "all"}, "'all'"),
        ({"observation": "table"}, "layout"),
        ({"weight.0": np.zeros((16, 3), np.float32)}, "(16, 3)"),
        ({"bias.1": np.zeros(9, np.float32)}, "layer"),
        ({"weight.2": None}, "8 actions"),
        ({"prior": np.zeros(3, np.float32)}, "actions"),
        ({"bias.0": np.full(16, np.nan, np.float32)}, "finite"),
        ({"bias.0": np.zeros(16)}, "float32"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(value),
)
def test_what_was_made_for_something_else_is_refused(
    model: Path, changes: dict[str, Any], told: str
) -> None:
    """One line names the file and both sides, or what is wrong in it."""
    path = rewritten(model, **changes)
    with pytest.raises(AgentError) as refused:
        load(str(path))
    assert str(path) in str(refused.value) and told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_damaged_and_foreign_files_are_refused(model: Path) -> None:
    """Empty, cut off, overwritten, no archive at all: `AgentError`, and nothing runs."""
    whole, path = model.read_bytes(), model.with_name("bad.npz")
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    foreign = [b"", b"PK\x03\x04", b"hello", array.getvalue(), pickle.dumps({"header": 1})]
    cut = [whole[:size] for size in range(0, len(whole), len(whole) // 40)]
    hit = [whole[:at] + b"\xff" * 8 + whole[at + 8 :] for at in range(0, 400, 20)]
    for content in (*foreign, *cut):
        path.write_bytes(content)
        with pytest.raises(AgentError, match=r"bad\.npz"):
            load(str(path))
    for content in hit:  # what hits only a name or a time in the archive changes nothing
        path.write_bytes(content)
        try:
            load(str(path))
        except AgentError as error:
            assert "\n" not in str(error)


def test_no_code_is_run_from_a_file(model: Path) -> None:
    """A pickled object in the place of an array is refused before it is made."""
    with np.load(model) as archive:
        arrays = dict(archive)
    arrays["bias.0"] = np.array([Trap()], dtype=object)
    np.savez(model, **arrays)
    with pytest.raises(AgentError, match="allow_pickle"):
        load(str(model))
    assert not Trap.sprung


class Trap:
    """Notes when it is unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Trap, "sprung", True)


def test_a_digest_tells_layouts_apart() -> None:
    """The two layouts have different ones, and a layout always the same."""
    assert shipped.digest(layout("memory")) == shipped.digest(MEMORY)
    assert shipped.digest(MEMORY) != shipped.digest(layout("table"))


def test_a_run_is_shipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file plays like the run's model and tells what it was made of and with."""
    assert train(*words(tmp_path, decisions=1000)) == 0
    run, out = tmp_path / "english", tmp_path / "my.npz"
    assert ship.main([str(run / "model.zip"), "--out", str(out), "--summary", "a trial"]) == 0
    agent, own = load(str(out)), load(str(run / "model.zip"))
    tables = Tables("english", 4, 32)
    seen = tables.observation, tables.action_mask
    assert np.allclose(agent.probabilities(*seen), own.probabilities(*seen), atol=1e-5)
    header = agent.header
    assert header["summary"] == "a trial" and header["games"] == [["english", 4]]
    assert header["decisions"] >= 1000 and header["seconds"] >= 0
    assert header["config"]["learner"]["hidden"] == [16, 16]
    assert {"cheat_env", "numpy", "torch"} <= set(header["versions"])


def test_a_training_begins_from_a_shipped_model(model: Path) -> None:
    """Its first policy is the model's, and its first values are those of the hands."""
    config = Config(learner=Learner(tables=16, hidden=(16, 8), start=str(model), critic=False))
    training = SelfPlay(config)
    tables = Tables("english", 4, 32, seed=3)
    seen = tables.observation, tables.action_mask
    began = LearnedAgent("begun", training.policy).probabilities(*seen)
    assert np.allclose(began, load(str(model)).probabilities(*seen), atol=1e-5)
    with torch.no_grad():
        _, value = training.policy.logits_and_value(
            torch.from_numpy(seen[0].copy()).float(), torch.from_numpy(seen[1].copy()).bool()
        )
    assert np.allclose(value, shipped.prior(seen[0]), atol=1e-5)


def test_bad_requests_to_ship_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No run, no such model, another suffix: exit 2, and nothing is written."""
    for asked, told in (
        ([f"{tmp_path}/model.zip", "--out", f"{tmp_path}/a.npz"], "no such file"),
        (["honest", "--out", f"{tmp_path}/a.npz"], "model.zip of a run"),
    ):
        assert ship.main(asked) == 2
        said = capsys.readouterr().err
        assert told in said and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_every_shipped_model_loads_by_its_name() -> None:
    """Its file is under 2 MB, and tells its games; there is a card beside it."""
    for name in shipped.names():
        path = model_file(name)
        assert path and path.stat().st_size < 2_000_000
        assert load(name).header["games"]
        assert path.with_suffix(".md").is_file()
