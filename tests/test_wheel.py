"""The built package holds all that the commands need: variants, configs, shipped models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from train.command import CONFIGS

ROOT = CONFIGS.parent
COMMANDS = (
    "train --config smoke.yaml --name near --learner.total_decisions 3000 --evaluation.deals 2",
    "train --resume runs/near --learner.total_decisions 4000",
    "train.ship runs/near/model.zip --out my.npz",
    "train.evaluate --variant russian --agents my.npz --against russian --deals 2 --workers 1",
    "train.exact --agent honest",
    "agents",
    "agents generate --variant russian --agents honest --deals 2 --out games.jsonl",
    "agents watch --variant russian --agents honest counter --seed 3 --html game.html",
    "cheat_env rules russian",
    "cheat_env rules --compare english idi",
    "cheat_env layouts",
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel of what git knows and install it alone; returns where."""
    place = tmp_path_factory.mktemp("wheel")
    source, target = place / "source", place / "installed"
    for name in _known():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(place), str(source)], check=True)
    (wheel,) = place.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
    return target


def _known() -> list[str]:
    """Return the files that git knows, or would."""
    listed = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    found = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.slow
def test_no_file_of_a_package_is_left_out(installed: Path) -> None:
    """Code, variants, words, pages and models."""
    packages = ("cheat_env/", "agents/", "train/")
    missing = [name for name in _known() if name.startswith(packages)]
    missing = [name for name in missing if not (installed / name).is_file()]
    assert not missing


@pytest.mark.slow
def test_the_commands_work_from_anywhere(installed: Path, tmp_path: Path) -> None:
    """Each runs in an empty directory with nothing but the installed package."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    where = "import train, agents; print(train.__path__[0], agents.__path__[0])"
    for words in (["-c", where], *(["-m", *command.split()] for command in COMMANDS)):
        found = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, (words, found.stderr)
        if words[0] == "-c":
            assert found.stdout.split() == [str(installed / n) for n in ("train", "agents")]
