"""What `--resume` refuses, and what it makes good."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from test_train_cli import decisions, train, words


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished tiny run."""
    directory = tmp_path_factory.mktemp("resume")
    assert train(*words(directory, decisions=1000)) == 0
    return directory / "english"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("--learner.hidden=[8]", "learner.hidden"),
        ("--learner.tables=8", "learner.tables"),
        ("--game.num_players=3", "game"),
        ("--game.variant=russian", "game"),
        ("--opponents.fixed=[honest]", "opponents.fixed"),
        ("--opponents.guests=0.5", "opponents.guests"),
        ("--opponents.agents_alike=0.5", "opponents.agents_alike"),
    ],
)
def test_what_a_checkpoint_depends_on_stays(
    finished: Path, change: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another game, network or seating is refused by name, and the run's files stay as they are."""
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    assert train("--resume", str(finished), change) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {named}") and said.count("\n") == 1
    assert before == {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}


def test_a_run_killed_before_its_first_checkpoint_begins_anew(finished: Path) -> None:
    """Its directory has a config and perhaps some metrics; resuming it makes a whole run of it."""
    killed = finished.parent / "killed"
    shutil.copytree(finished, killed)
    shutil.rmtree(killed / "checkpoints")
    (killed / "model.zip").unlink()
    assert train("--resume", str(killed)) == 0
    assert decisions(killed) == decisions(finished)
    assert (killed / "model.zip").exists()


def test_resume_from_inside_and_of_nothing(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run is found from its own directory; where there is none the error says so."""
    monkeypatch.chdir(finished)
    assert train("--resume", ".") == 0
    assert train("--resume", "elsewhere") == 2
    assert "there is no run" in capsys.readouterr().err


def test_print_config_of_a_resumed_run(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the run's own config that is printed."""
    assert train("--resume", str(finished), "--print_config") == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["learner"]["tables"] == 32
    assert printed["learner"]["total_decisions"] == 1000
