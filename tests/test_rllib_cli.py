"""`python -m train.rllib`: a small training, what it leaves, and what it refuses."""

from __future__ import annotations

import os

os.environ.setdefault("RAY_AUTH_MODE", "disabled")

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("ray.rllib", reason="RLlib is an extra: cheat-env[rllib]")

from ray.rllib.algorithms.algorithm import Algorithm

from agents import load
from agents.learned import LearnedAgent
from cheat_env import Tables
from train import rllib
from train.rllib_config import Config, Evaluation, Learner, Opponents, Output, parse

SMALL = Config(
    learner=Learner(total_steps=300, tables=4, steps=64, hidden=(16,), minibatch=64, epochs=1),
    opponents=Opponents(share=0.5, names=("honest", "counter")),
    evaluation=Evaluation(against=("random",), deals=2),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished small run of russian.yaml."""
    directory = tmp_path_factory.mktemp("runs")
    keys = {
        "learner": ("total_steps", "tables", "steps", "minibatch", "epochs"),
        "evaluation": ("deals",),
    }
    changed = [
        f"--{group}.{key}={getattr(getattr(SMALL, group), key)}"
        for group, names in keys.items()
        for key in names
    ]
    hidden = ["--learner.hidden=[16]", "--evaluation.against=[random]"]
    where = f"--output.directory={directory}"
    assert rllib.main(["--config", "russian.yaml", *changed, *hidden, where]) == 0
    return directory / "rllib-russian"


def test_a_training_leaves_a_model_that_plays_without_rllib(run: Path) -> None:
    """Config, checkpoint, evaluation, and weights that are those of RLlib's checkpoint."""
    names = {path.name for path in run.iterdir()}
    files = {"config.yaml", "model.npz", "evaluation.json", "evaluation.md"}
    assert names == files | {"checkpoint"}
    told = yaml.safe_load((run / "config.yaml").read_text("utf-8"))
    assert told["game"]["variant"] == "russian" and told["learner"]["hidden"] == [16]
    agent, tables = load(str(run / "model.npz")), Tables("russian", 4, 16)
    for _ in range(50):
        tables.step(agent.act(tables.observation, tables.action_mask, np.random.default_rng(0)))
    assert agent.arrays["weight.0"].shape == (16, tables.observation.shape[1])


def test_a_training_goes_on_from_its_checkpoint(run: Path) -> None:
    """RLlib restores the learned weights, and counts on."""
    rllib.ray.init("local", include_dashboard=False)
    algo = Algorithm.from_checkpoint(str(run / "checkpoint"))
    try:
        restored = LearnedAgent("x", algo.get_module(rllib.POLICY).policy).arrays()
        for name, array in load(str(run / "model.npz")).arrays.items():
            assert np.array_equal(restored[name], array)
        assert algo.iteration == 2
    finally:
        algo.stop()
        rllib.ray.shutdown()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--learner.lerning_rate", "1"], "lerning_rate"),
        (["--learner.tables", "many"], "learner.tables"),
        (["--learner.tables", "0"], "learner.tables 0: must be from 1"),
        (["--learner.seed", "null"], "learner.seed"),
        (["--learner.hidden", "[]"], r"learner.hidden []: give 1 to"),
        (["--opponents.names", "[planner]"], "opponents.names 'planner': held out"),
        (["--opponents.names", "[]"], "opponents.names []: name at least one"),
        (["--evaluation.against", "[]"], "evaluation.against []: name at least one"),
        (["--evaluation.against", "[nobody]"], "agent 'nobody'"),
        (["--opponents.names", "[nobody]"], "agent 'nobody'"),
        (["--learner.minibatch", "100_000"], "learner.minibatch 100000: an update has 8192"),
        (["--name", "honest"], "name 'honest': is that of an agent"),
        (["--game.num_players", "[3, 4]"], "must be one game"),
        (["--game.num_players", "9"], "num_players 9"),
        (["--game.variant", "poker"], "poker"),
        (["--name", "a/b"], "name 'a/b': must be the name of a directory"),
        (["--config", "nothing.yaml"], "nothing.yaml"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names what is wrong; nothing is written, and no cluster is begun."""
    where = f"--output.directory={tmp_path}"
    assert rllib.main(["--config", "russian.yaml", where, *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ") and said in lines[0]
    assert list(tmp_path.iterdir()) == []
    assert not rllib.ray.is_initialized()


def test_a_name_that_is_taken_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run never writes over another one; without a name it gets a free one."""
    (tmp_path / "mine").mkdir()
    words = ["--config", "russian.yaml", f"--output.directory={tmp_path}"]
    assert rllib.main([*words, "--name", "mine"]) == 2
    assert "name 'mine'" in capsys.readouterr().err
    (tmp_path / "rllib-russian").mkdir()
    config = Config(output=Output(str(tmp_path)), game=parse(words).game)
    assert rllib.with_a_name(config).directory == tmp_path / "rllib-russian-2"


def test_without_ray_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says in one line what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("train.rllib", run_name="__main__")
    assert ended.value.code == 2
    said = 'error: train.rllib needs ray: pip install "cheat-env[rllib]"\n'
    assert capsys.readouterr().err == said


@pytest.mark.slow
def test_a_seed_gives_the_same_model() -> None:
    """Two trainings with the same seed come to the same weights."""
    models = []
    rllib.ray.init("local", include_dashboard=False)
    for _ in range(2):
        algo = rllib.algorithm(SMALL).build_algo()
        algo.train()
        models.append(LearnedAgent("x", algo.get_module(rllib.POLICY).policy).arrays())
        algo.stop()
    rllib.ray.shutdown()
    for name, array in models[0].items():
        assert np.array_equal(models[1][name], array)
