"""The house: what the README promises, who may import whom, and what is packed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

import cheat_env
from agents import NAMES
from cheat_env import __main__ as cli

ROOT = Path(cheat_env.__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
#: Who may import whom, of this house.
MAY_IMPORT = {
    "cheat_env": {"cheat_env"},
    "agents": {"cheat_env", "agents"},
    "train": {"cheat_env", "agents", "train"},
}
#: The games of the rule book.
BOOK = ("english", "marquoir", "russian")
HEAVY = {"torch", "stable_baselines3", "sb3_contrib", "rich", "jsonargparse", "tensorboard"}


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, wherever it does; from-imports also with the name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(str(node.module))
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def rooms(package: str) -> dict[str, Path]:
    """Return the modules of a package by name, the package itself as the empty name."""
    found = {path.stem: path for path in (ROOT / package).glob("*.py")}
    found[""] = found.pop("__init__")
    return found


def loaded_by(code: str) -> set[str]:
    """Return the top packages that are loaded after some code ran in a fresh interpreter."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return {name.partition(".")[0] for name in ran.stdout.split()}


# --- README ---------------------------------------------------------------------------------------


def test_the_layouts_in_the_readme_are_those_of_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The tables between the markers are what `python -m cheat_env layouts` prints."""
    assert cli.main(["layouts"]) == 0
    shown = re.search(r"<!-- layouts -->\n(.*)<!-- /layouts -->", README, re.DOTALL)
    assert shown is not None
    assert shown[1] == capsys.readouterr().out


def test_the_example_in_the_readme_runs() -> None:
    """The block of Python runs as it stands: a deal is played to its end, and many on the way."""
    block = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["env"].agents == []
    assert names["terminated"] or names["truncated"]
    assert names["tables"].state["plays"].min() > 10
    assert names["hand"].shape == (1024, 14)


def test_the_readme_sets_up_in_one_line_each() -> None:
    """Training and the tests are one command each, in pinned versions."""
    blocks = re.findall(r"```bash\n(.*?)\n```", README, re.DOTALL)
    setup = "python -m venv .venv && . .venv/bin/activate && "
    setup += 'pip install -e ".[test]" -c constraints.txt && '
    assert blocks == [setup + "python -m train --config russian.yaml", setup + "pytest -n auto"]
    assert (ROOT / "constraints.txt").is_file()
    assert (ROOT / "configs" / "russian.yaml").is_file()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`python -m ([\w.]+)", README))))
def test_every_command_of_the_readme_exists(command: str) -> None:
    """What the README runs with -m is a module that can be run."""
    path = ROOT / Path(*command.split("."))
    file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    assert 'if __name__ == "__main__":' in file.read_text("utf-8")


def test_the_readme_tells_the_games_and_their_players() -> None:
    """Each game has its row, with the number of players that its rules allow."""
    for name in cheat_env.variants():
        low, high = cheat_env.Rules.load(name).players
        assert re.search(rf"^\| `{name}`.* \| {low}-{high} \|", README, re.MULTILINE)


@pytest.mark.parametrize("text", sorted(set(re.findall(r"cheat_env\.(\w+)", README))))
def test_every_name_of_the_readme_exists(text: str) -> None:
    """What the README calls in the package is there."""
    assert hasattr(cheat_env, text)


# --- Imports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    """The learner knows the players and the players know the rules, never the other way round."""
    for path in (ROOT / package).rglob("*.py"):
        own = {name.partition(".")[0] for name in imported(path)} & set(MAY_IMPORT)
        assert own <= MAY_IMPORT[package], path
        assert not imported(path) & {"tests", "conftest", "positions"}


@pytest.mark.parametrize("package", ["cheat_env", "train"])
def test_imports_go_only_upwards(package: str) -> None:
    """Inside a package there is an order of rooms in which each only imports earlier ones."""
    names = rooms(package)
    graph = {
        room: {other for other in names if other and f"{package}.{other}" in imported(path)}
        for room, path in names.items()
    }
    order = list(TopologicalSorter(graph).static_order())
    assert set(order) == set(names)
    assert all(graph[room] <= set(order[: order.index(room)]) for room in names)
    if package == "cheat_env":
        known = ["cards", "options", "state", "engine", "observations", "tables", "aec", "__main__"]
        assert known == sorted(known, key=order.index)


def test_the_rules_need_nothing_heavy() -> None:
    """Importing the environment loads no learner's library."""
    assert not loaded_by("import cheat_env; cheat_env.env('russian')") & HEAVY


def test_the_rules_of_thumb_need_nothing_heavy() -> None:
    """The players with a name load without torch too."""
    loaded = loaded_by("import agents, agents.registry; [agents.load(n) for n in agents.NAMES]")
    assert "agents" in loaded
    assert not loaded & HEAVY


def test_heavy_libraries_stay_out_of_the_rules() -> None:
    """In the packages, two rooms of the players alone import torch or what needs it."""
    users = {
        f"{package}/{path.name}"
        for package in ("cheat_env", "agents")
        for path in (ROOT / package).rglob("*.py")
        if {name.partition(".")[0] for name in imported(path)} & HEAVY
    }
    assert users == {"agents/learned.py", "agents/vec_env.py"}


# --- Public names and package ---------------------------------------------------------------------


@pytest.mark.parametrize("name", cheat_env.__all__)
def test_public_names_exist_and_are_told(name: str) -> None:
    """Every public name is there, and says what it is in words of its own."""
    value = getattr(cheat_env, name)
    if name == "__version__":
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", value)
    else:
        assert value.__doc__ and value.__doc__ != type(value).__doc__


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_every_room_says_what_it_is_for(package: str) -> None:
    """Each module begins with its purpose, and none outgrows 400 lines."""
    for path in (ROOT / package).rglob("*.py"):
        text = path.read_text("utf-8")
        assert ast.get_docstring(ast.parse(text)), path
        assert len(text.splitlines()) <= 400, path


def test_the_package_holds_its_data() -> None:
    """The packages are listed, and every pattern of their data finds a file."""
    tools = PROJECT["tool"]["setuptools"]
    assert set(tools["packages"]) == {*MAY_IMPORT, "agents.table", *tools["package-dir"]}
    data = tools["package-data"]
    assert {"variants/*.yaml", "py.typed"} <= set(data["cheat_env"])
    for package, patterns in data.items():
        for pattern in patterns:
            place = ROOT / tools["package-dir"].get(package, package)
            assert list(place.glob(pattern)), f"{package}: {pattern}"
    files = {path.name for path in (ROOT / "cheat_env" / "variants").iterdir()}
    assert {f"{name}.yaml" for name in cheat_env.variants()} == files


def test_what_is_needed_is_declared() -> None:
    """Every library that a package imports is a dependency, or one of the training extra."""
    named = {"PIL": "pillow", "pyspiel": "open_spiel", "yaml": "pyyaml"}
    extras = PROJECT["project"]["optional-dependencies"]
    needed = {
        "cheat_env": extras["openspiel"] + extras["pictures"],
        "agents": extras["train"] + extras["data"] + extras["play"],
        "train": extras["train"] + extras["report"] + extras["cluster"] + extras["rllib"],
    }
    for package, more in needed.items():
        declared = {
            re.match(r"[\w-]+", text)[0].lower().replace("-", "_")  # type: ignore[index]
            for text in [*PROJECT["project"]["dependencies"], *more]
        }
        for path in (ROOT / package).rglob("*.py"):
            tops = {name.partition(".")[0] for name in imported(path)}
            foreign = tops - set(sys.stdlib_module_names) - set(MAY_IMPORT)
            assert {named.get(top, top) for top in foreign} <= declared, path


def test_agents_named_in_the_evaluation_exist() -> None:
    """The README's commands evaluate against players that have a name."""
    commands = re.findall(r"--against ((?:\w+ )+)--", README)
    assert commands
    for against in commands:
        assert set(against.split()) <= set(NAMES)


def test_the_results_are_those_of_the_evaluations() -> None:
    """The table of the README and the figures of docs/bluffing.md are made of docs/evaluations/."""
    found = [ROOT / f"docs/evaluations/{name}/evaluation.json" for name in BOOK]
    script = [sys.executable, str(ROOT / "benchmarks" / "results.py"), *map(str, found)]
    told = [
        subprocess.run(
            [*script, *more], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout.strip()
        for more in ([], ["--conduct"])
    ]
    assert f"<!-- results -->\n{told[0]}\n<!-- /results -->" in README
    assert told[1] in (ROOT / "docs" / "bluffing.md").read_text("utf-8")
