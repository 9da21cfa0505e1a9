"""Nothing is lost: trainings that are killed, interrupted or out of disk go on as if never stopped.

The runs here are subprocesses, as a person or a machine would stop them.
"""

from __future__ import annotations

import csv
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_train_cli import checkpoints, decisions

from agents import load
from train.command import CONFIGS

ROOT = CONFIGS.parent
#: One thread, a checkpoint after every update.
KEYS = (
    *("--learner.tables=16", "--learner.steps=16", "--learner.hidden=[16, 16]"),
    *("--learner.minibatch=64", "--learner.threads=1", "--output.checkpoint_minutes=0"),
    *("--evaluation.deals=1", "--evaluation.against=[random]", "--evaluation.every=5000"),
    *("--evaluation.panel=[dumper]", "--evaluation.panel_deals=1", "--output.tensorboard=false"),
)
#: These differ between equal runs: time, and what is told of the last updates before a stop.
UNEQUAL = ("seconds", "decisions_per_second", "memory_mb", "deals", "truncated")


def start(*words: str, most_bytes: int = 0) -> subprocess.Popen[str]:
    """Start a training; with `most_bytes` it can't write larger files."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.Popen(
        [sys.executable, "-m", "train", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=limit if most_bytes else None,
    )


def fresh(directory: Path, name: str, total: int) -> list[str]:
    """Return the words of a new run."""
    where = (f"--output.directory={directory}", f"--name={name}")
    return ["--config", "smoke.yaml", *KEYS, *where, f"--learner.total_decisions={total}"]


def wait_for_update(run: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the run has a checkpoint that it did not have, or the process has ended."""
    before = sorted(run.glob("checkpoints/[0-9]*"))[-1:]
    while process.poll() is None:
        found = sorted(run.glob("checkpoints/[0-9]*"))[-1:]
        if found and found != before:
            return
        time.sleep(0.02)


def assert_equal_runs(one: Path, two: Path) -> None:
    """Assert that two runs have the same weights, metrics and panel, row by row."""
    models = [load(str(run / "model.zip")).policy.state_dict() for run in (one, two)]
    for name, weights in models[0].items():
        assert (weights == models[1][name]).all(), name
    for file in ("metrics.csv", "panel.csv"):
        tables = []
        for run in (one, two):
            with (run / file).open(newline="") as opened:
                rows = list(csv.DictReader(opened))
            tables.append([{k: v for k, v in r.items() if k not in UNEQUAL} for r in rows])
        for row in (*tables[0], *tables[1]):
            for name in [name for name in row if name.startswith("won/")]:
                del row[name]
        assert tables[0] == tables[1]
    assert decisions(one) == sorted(set(decisions(one)))


@pytest.mark.slow
def test_a_training_killed_twenty_times_ends_as_one_that_never_was(tmp_path: Path) -> None:
    """Kill -9 at random moments, in the middle of whatever was being written."""
    total, kills, rng = 60_000, 0, np.random.default_rng(0)
    straight = start(*fresh(tmp_path, "straight", total))
    assert straight.wait(600) == 0
    run, words = tmp_path / "killed", fresh(tmp_path, "killed", total)
    while True:
        process = start(*words)
        if kills < 20:
            wait_for_update(run, process)
            time.sleep(rng.random() * 0.5)
        if kills < 20 and process.poll() is None:
            process.kill()
            process.wait()
            kills += 1
            words = ["--resume", str(run)]
            continue
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
        break
    assert kills == 20
    assert_equal_runs(tmp_path / "straight", run)
    left = {path.name for path in (run / "checkpoints").iterdir()}
    assert all(name.isdecimal() for name in left)


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    """A checkpoint that can't be written is one clear line; the one before stays, and goes on."""
    assert start(*fresh(tmp_path, "full", 1500)).wait(600) == 0
    run = tmp_path / "full"
    before = checkpoints(run)
    process = start("--resume", str(run), "--learner.total_decisions=3000", most_bytes=20_000)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "File too large" in said and f"--resume {run}" in said
    assert "Traceback" not in said and said.count("\n") == 1
    assert [c for c in checkpoints_of(run) if c.isdecimal()] == [f"{c:012d}" for c in before]
    assert start("--resume", str(run), "--learner.total_decisions=3000").wait(600) == 0
    assert decisions(run)[-1] >= 3000
    assert decisions(run) == sorted(set(decisions(run)))


def checkpoints_of(run: Path) -> list[str]:
    """Return the names of all that lies among a run's checkpoints."""
    return sorted(path.name for path in (run / "checkpoints").iterdir())


@pytest.mark.slow
def test_ctrl_c_twice_ends_at_once_without_a_traceback(tmp_path: Path) -> None:
    """The second one does not wait for the update to end; the last checkpoint is whole."""
    process = start(*fresh(tmp_path, "twice", 10_000_000))
    run = tmp_path / "twice"
    wait_for_update(run, process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in said
    again = start("--resume", str(run), f"--learner.total_decisions={checkpoints(run)[-1] + 500}")
    assert again.wait(600) == 0
    assert decisions(run) == sorted(set(decisions(run)))
