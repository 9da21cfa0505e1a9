"""The compiler's cache never outlives the rules that it was made from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cheat_env
from agents.habits import act_by_habits
from cheat_env.compiled import JIT, stamp
from cheat_env.tables import step_tables


def digest(folder: Path) -> str:
    """Return the stamp of a function in a folder's package, as a process of its own sees it."""
    code = "from cheat_env.chance import philox; from cheat_env.compiled import stamp;"
    code += "print(stamp(philox.py_func))"
    made = [sys.executable, "-c", code]
    return subprocess.run(made, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_change_anywhere_in_the_package_is_another_stamp(tmp_path: Path) -> None:
    """Compiled code holds what it calls, so every source is part of what the cache is good for."""
    source = Path(cheat_env.__file__).parent
    copy = tmp_path / "cheat_env"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").write_text("")
    before = digest(tmp_path)
    engine = copy / "engine.py"
    engine.write_text(engine.read_text() + "\n# changed\n")
    assert digest(tmp_path) != before


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize("function", [step_tables, act_by_habits], ids=lambda f: f.__name__)
def test_compiled_functions_bear_the_stamp(function: Any) -> None:
    """The index of a cached function names the sources of all packages that it comes from."""
    assert function._cache._cache_file._source_stamp[1] == stamp(function.py_func)


def test_a_change_in_a_package_above_is_another_stamp(tmp_path: Path) -> None:
    """A function of another package bears the stamp of its own package too."""
    module = tmp_path / "above.py"
    module.write_text("def function() -> None:\n    pass\n")
    stamps = []
    for line in ("", "# changed\n"):
        with (tmp_path / "beside.py").open("a") as beside:
            beside.write(line)
        code = "from above import function; from cheat_env.compiled import stamp;"
        made = [sys.executable, "-c", f"{code} print(stamp(function))"]
        run = subprocess.run(made, cwd=tmp_path, capture_output=True, text=True, check=True)
        stamps.append(run.stdout)
    assert stamps[0] != stamps[1]
