"""The compiler's cache never outlives the rules that it was made from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import cheat_env
from cheat_env.compiled import JIT, SOURCES
from cheat_env.tables import step_tables


def digest(folder: Path) -> str:
    """Return the stamp of the package in a folder, as a process of its own sees it."""
    code = "from cheat_env.compiled import SOURCES; print(SOURCES)"
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


def test_compiled_functions_bear_the_stamp() -> None:
    """The index of a cached function names the sources of the whole package."""
    assert not JIT or step_tables._cache._cache_file._source_stamp[1] == SOURCES
