"""`python -m train`: what a run leaves behind, bad input, and going on after an interruption."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from agents import load
from cheat_env import Rules, Tables
from train import __main__ as cli
from train.command import CONFIGS, find_config, parse
from train.config import Config, Learner, dump

ROOT = CONFIGS.parent
DECISIONS = 3000
KEYS = (
    "--learner.tables=32",
    "--learner.steps=32",
    "--learner.hidden=[16, 16]",
    "--learner.minibatch=256",
    "--learner.threads=1",
    "--evaluation.deals=2",
    "--evaluation.against=[random, honest]",
    "--evaluation.every=1000",
    "--evaluation.panel=[dumper, honest]",
    "--evaluation.panel_deals=2",
)


def words(directory: Path, *more: str, decisions: int = DECISIONS) -> list[str]:
    """Return the command line of a tiny run in `directory`."""
    total = f"--learner.total_decisions={decisions}"
    return ["--config", "smoke.yaml", *KEYS, total, f"--output.directory={directory}", *more]


def train(*arguments: str) -> int:
    """Run the command line; argparse's own exits count as exit codes."""
    try:
        return cli.main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)


def rows(run: Path) -> list[dict[str, str]]:
    """Return the rows of a run's metrics."""
    with (run / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def decisions(run: Path) -> list[int]:
    """Return the decisions of a run's metrics, row by row."""
    return [int(row["decisions"]) for row in rows(run)]


def checkpoints(run: Path) -> list[int]:
    """Return the decisions at which a run has checkpoints; there is nothing else beside them."""
    return sorted(int(path.name) for path in (run / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished tiny run."""
    directory = tmp_path_factory.mktemp("runs")
    assert train(*words(directory)) == 0
    return directory / "english"


# --- What a run leaves ----------------------------------------------------------------------------


def test_a_run_leaves_its_files(run: Path) -> None:
    """Config, model, checkpoints, metrics, logs and evaluation; nothing unfinished."""
    names = {path.name for path in run.iterdir()}
    models = {"model.zip", "best.zip", "critic.pt"}
    files = {"config.yaml", "metrics.csv", "panel.csv", "evaluation.json", "evaluation.md"}
    assert names == files | models | {"checkpoints", "tensorboard"}
    assert checkpoints(run) == [decisions(run)[-1]]
    assert any((run / "tensorboard").iterdir())


def test_metrics_rise_to_the_total(run: Path) -> None:
    """One row an update, with strictly more decisions each, until the total is reached."""
    found = decisions(run)
    assert found == sorted(set(found))
    assert found[-2] < DECISIONS <= found[-1]
    assert [int(row["updates"]) for row in rows(run)] == list(range(1, len(found) + 1))
    for row in rows(run):
        assert None not in row and None not in row.values()
        assert 0 <= float(row["truncated"]) <= 1
        assert np.isfinite([float(row["policy_loss"]), float(row["entropy"])]).all()


def test_the_written_config_loads_again(run: Path) -> None:
    """It holds every key, and parses to the config that it was written from."""
    config, resume = parse(["--config", str(run / "config.yaml")])
    asked, _ = parse(words(run.parent))
    assert resume is None
    assert config.name == "english"
    assert (config.game, config.learner, config.output) == (
        asked.game,
        asked.learner,
        asked.output,
    )
    assert dump(config) == (run / "config.yaml").read_text("utf-8")
    assert set(yaml.safe_load(dump(config))["learner"]) == set(Learner.__dataclass_fields__)


def test_the_model_plays(run: Path) -> None:
    """The model of a run is an agent by its path, and plays legal actions."""
    tables, rng = Tables("english", 4, 8), np.random.default_rng(0)
    agent = load(str(run / "model.zip"))
    for _ in range(50):
        actions = agent.act(tables.observation, tables.action_mask, rng)
        assert tables.action_mask[np.arange(8), actions].all()
        tables.step(actions)


def test_the_run_is_evaluated_against_the_config(run: Path) -> None:
    """The evaluation holds the agent, by the run's name, against each opponent of the config."""
    cells = json.loads((run / "evaluation.json").read_text("utf-8"))["cells"]
    told = [(cell["lineup"], cell["deals"], cell["players"]) for cell in cells]
    assert told == [(["english", *[other] * 3], 2, 4) for other in ("random", "honest")]
    assert "honest" in (run / "evaluation.md").read_text("utf-8")


def test_a_second_run_without_a_name_gets_a_number(tmp_path: Path) -> None:
    """Runs are never written into each other."""
    for name in ("english", "english-2"):
        assert not (tmp_path / name).exists()
        assert train(*words(tmp_path, decisions=200)) == 0
        assert (tmp_path / name / "model.zip").is_file()
    assert len(list(tmp_path.iterdir())) == 2


# --- Configs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_config_parses(path: Path) -> None:
    """Each file of configs/ names a game that exists, for its players and agents that exist."""
    config, _ = parse(["--config", path.name])
    for variant, seats in config.game.rooms():
        Rules.load(variant, **config.game.rules).options(seats)
    for name in (*config.evaluation.against, *config.opponents.fixed):
        load(name)
    if path.stem != "smoke":
        assert config.game.name == path.stem.partition("-")[0]


def test_configs_are_found_as_given_and_then_in_configs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path as given comes first, then configs/ here, then the project's own."""
    monkeypatch.chdir(tmp_path)
    assert find_config("smoke.yaml") == CONFIGS / "smoke.yaml"
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "smoke.yaml").write_text("name: near")
    assert parse(["--config", "smoke.yaml"])[0].name == "near"
    (tmp_path / "smoke.yaml").write_text("name: given")
    assert parse(["--config=smoke.yaml"])[0].name == "given"
    assert parse(["--config", str(CONFIGS / "smoke.yaml")])[0].name == ""


def test_the_command_line_goes_before_the_file() -> None:
    """Keys of the command line change those of the file and leave the rest at that."""
    config, _ = parse(["--config", "smoke.yaml", "--learner.tables", "7", "--game.rules.deck=A-9"])
    assert config.learner.tables == 7
    assert config.game.rules == {"deck": "A-9"}
    assert config.learner.total_decisions == 100_000
    assert config.learner.steps == Learner().steps
    assert parse([])[0] == Config()


def test_print_config_shows_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints YAML that is a config again, and starts nothing."""
    assert train("--config", "russian.yaml", "--print_config") == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["game"]["variant"] == "russian"
    assert set(printed["learner"]) == set(Learner.__dataclass_fields__)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--learner.speed=3"], "learner.speed"),
        (["--wings=3"], "wings"),
        (["--learner.tables=many"], "learner.tables"),
        (["--learner.tables=0"], "learner.tables"),
        (["--learner.tables=-5"], "learner.tables"),
        (["--learner.gamma=1.5"], "learner.gamma"),
        (["--learner.hidden=[16, x]"], "learner.hidden"),
        (["--learner.hidden=[]"], "learner.hidden"),
        (["--learner.hidden=[0]"], "learner.hidden"),
        (["--learner.seed=-1"], "learner.seed"),
        (["--learner.blind=[ears]"], "'ears'"),
        (["--learner.learning_rate=-1"], "learner.learning_rate"),
        (["--opponents.random_rules=0.9", "--opponents.fixed_rules=0.2"], "opponents"),
        (["--opponents.fixed=[honset]"], "'honset'"),
        (["--opponents.fixed=[planner]"], "held out"),
        (["--opponents.agents=['reader(lie=0.1)']"], "held out"),
        (["--evaluation.panel=[honest, prudent]"], "held out"),
        (["--evaluation.panel=[honset]"], "'honset'"),
        (["--evaluation.panel=[]"], "evaluation.panel"),
        (["--evaluation.every=-1"], "evaluation.every"),
        (["--evaluation.panel_deals=0"], "evaluation.panel_deals"),
        (["--output.snapshots_every=-1"], "output.snapshots_every"),
        (["--game.variant=poker"], "'poker'"),
        (["--game.num_players=9"], "num_players 9"),
        (["--game.num_players=2"], "num_players 2"),
        (["--game.num_players=[4, 9]"], "num_players 9"),
        (["--game.variants=[english, poker]"], "'poker'"),
        (["--game.variants=[russian]", "--game.num_players=8"], "russian is for 2 to 6"),
        (["--game.rules.colour=red"], "'colour'"),
        (["--game.rules.deck=1-99"], "'1-99'"),
        (["--evaluation.against=[random, honset]"], "'honset'"),
        (["--evaluation.against=[nowhere.zip]"], "'nowhere.zip'"),
        (["--evaluation.deals=0"], "evaluation.deals"),
        (["--evaluation.seed=-1"], "evaluation.seed"),
        (["--config=nowhere.yaml"], "'nowhere.yaml'"),
        (["--resume=nowhere"], "nowhere"),
    ],
    ids=lambda value: value[0][2:] if isinstance(value, list) else "",
)
def test_bad_input_is_one_clear_line(
    more: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, one line on stderr that names the thing, and nothing is written."""
    assert train(*words(tmp_path / "runs", *more, decisions=100)) == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("learner: {speed: 3}", "speed"),
        ("game: english", "game"),
        ("- a list", "a list"),
        ("learner: [", "bad.yaml"),
        ("learner:\n  tables: many\n  steps: 3", "tables"),
    ],
)
def test_a_bad_config_file_is_one_clear_line(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for what stands in a file."""
    (tmp_path / "bad.yaml").write_text(text)
    assert train("--config", str(tmp_path / "bad.yaml"), f"--output.directory={tmp_path}/runs") == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_name_that_is_taken_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An existing run is not overwritten; the line names it and what to do."""
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert train(*words(run.parent, "--name=english")) == 2
    said = capsys.readouterr().err
    assert "'english'" in said and "--resume" in said
    assert said.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


# --- Going on -------------------------------------------------------------------------------------


def test_resume_goes_on(tmp_path: Path) -> None:
    """A resumed run equals one that was never stopped: same rows, same model, no row twice."""
    total = [f"--learner.total_decisions={2 * DECISIONS}"]
    falls = ["--learner.final_learning_rate=7e-4", "--learner.final_entropy=0.05"]
    assert train(*words(tmp_path, "--name=one", *falls)) == 0
    before = decisions(tmp_path / "one")
    moved = (tmp_path / "one").rename(tmp_path / "moved")
    assert train("--resume", str(moved), *total) == 0
    assert train(*words(tmp_path, "--name=two", *falls, *total)) == 0
    assert len(before) < len(decisions(moved))
    untimed = [
        [
            {
                k: v
                for k, v in row.items()
                if not k.startswith(("seconds", "decisions_per", "memory"))
            }
            | {k: "" for k in row if k.startswith("won/") or k in ("deals", "truncated")}
            for row in rows(run)
        ]
        for run in (moved, tmp_path / "two")
    ]
    assert untimed[0] == untimed[1]
    models = [load(str(run / "model.zip")).policy for run in (moved, tmp_path / "two")]
    for one, two in zip(*(m.state_dict().values() for m in models), strict=True):
        assert (one == two).all()
    assert {path.name for path in tmp_path.iterdir()} == {"moved", "two"}


def test_rows_after_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    """What a killed run wrote beyond its last checkpoint is written again, once."""
    assert train(*words(tmp_path)) == 0
    run = tmp_path / "english"
    metrics = run / "metrics.csv"
    kept = metrics.read_text()
    last = kept.splitlines()[-1]
    metrics.write_text(f"{kept}{last.replace(last.split(',')[0], '99999', 1)}\n")
    assert train("--resume", str(run)) == 0
    assert metrics.read_text() == kept
    assert train("--resume", str(run), f"--learner.total_decisions={DECISIONS + 1000}") == 0
    found = decisions(run)
    assert found == sorted(set(found)) and found[-1] >= DECISIONS + 1000
    assert [int(row["updates"]) for row in rows(run)] == list(range(1, len(found) + 1))


def test_an_interrupted_run_ends_cleanly_and_goes_on(tmp_path: Path) -> None:
    """Ctrl-C: exit 130, a checkpoint, complete metrics, no traceback; --resume finishes the run."""
    often = "--output.checkpoint_minutes=0"
    command = [sys.executable, "-m", "train", *words(tmp_path, often, decisions=10_000_000)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    run = tmp_path / "english"
    try:
        while process.poll() is None and not any(run.glob("checkpoints/[0-9]*")):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130
    assert f"--resume {run}" in " ".join(out.split())
    assert "Traceback" not in said
    done = decisions(run)
    assert len(checkpoints(run)) <= 2 and checkpoints(run)[-1] == done[-1]
    assert (run / "model.zip").is_file()
    assert train("--resume", str(run), f"--learner.total_decisions={done[-1] + 500}") == 0
    assert decisions(run)[: len(done)] == done
    assert decisions(run)[-1] >= done[-1] + 500
    assert (run / "evaluation.json").is_file()
