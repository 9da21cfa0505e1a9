"""Compiled code is kept on disk wherever that can be, and never stands in the way of a game.

One small function stands for all: each test calls it from a copy of the package, whose cache is
empty at first, in processes of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cheat_env
from cheat_env.chance import philox

DRAWS = 50
#: Seconds after which a process is taken to hang.
PATIENCE = 120

#: Draws, and says what came of it. A process that had to compile says so, and waits for a line
#: before it saves, so that several can be made to save at the same time.
DRAW = f"""
import hashlib, json, sys
import numpy as np
from cheat_env.chance import philox

cache = philox._cache
save = cache.save_overload

def save_when_told(*compiled):
    print("compiled", flush=True)
    sys.stdin.readline()
    save(*compiled)

cache.save_overload = save_when_told
words = [philox(*[np.uint64(i + j) for j in range(5)]) for i in range({DRAWS})]
hits = sum(philox.stats.cache_hits.values())
print(json.dumps([hashlib.sha256(np.array(words).tobytes()).hexdigest(), hits]))
"""
#: What `DRAW` prints before its result where it found nothing in the cache.
COMPILED = "compiled\n"


def words() -> str:
    """Return the hash of what `DRAW` draws, as this process draws it."""
    drawn = [philox(*[np.uint64(i + j) for j in range(5)]) for i in range(DRAWS)]
    return hashlib.sha256(np.array(drawn).tobytes()).hexdigest()


class Home:
    """A copy of the package, in a home of its own, whose compiled code nobody has made yet."""

    def __init__(self, path: Path) -> None:
        self.package = path / "cheat_env"
        self.home = path / "home"
        self.named = path / "named"
        source = Path(cheat_env.__file__).parent
        shutil.copytree(source, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        (self.package / "__init__.py").write_text("")
        self.home.mkdir()
        self.room = resource.RLIM_INFINITY
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
        self.environment = inherited | {
            "PYTHONPATH": str(path),
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
        }

    def close_package(self) -> None:
        """Let nobody write compiled code to the package, not even the superuser."""
        (self.package / "__pycache__").write_text("")

    def close_home(self) -> None:
        """Let nobody write to the home, not even the superuser."""
        self.home.rmdir()
        self.home.write_text("")

    def fill_disk(self) -> None:
        """Let no process write a byte to any file."""
        self.room = 0

    def start(self) -> subprocess.Popen[str]:
        """Start a process that draws."""
        pipe, room = subprocess.PIPE, self.room
        return subprocess.Popen(
            [sys.executable, "-c", DRAW],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            cwd=self.package.parent,
            env=self.environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        )

    def draw(self, processes: int = 1) -> Iterator[tuple[bool, str, int]]:
        """Draw in processes of the same time; yields whether each compiled, its hash, its hits."""
        started, said = [self.start() for _ in range(processes)], []
        for process in started:
            assert process.stdout is not None
            said.append(process.stdout.readline())
        for process, line in zip(started, said, strict=True):
            if line == COMPILED:  # as has every other by now
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
        for process, line in zip(started, said, strict=True):
            rest, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, errors
            drawn, hits = json.loads(rest if line == COMPILED else line)
            yield line == COMPILED, drawn, hits

    def files(self, ending: str) -> list[Path]:
        """Return the files of compiled code that were made, of one ending."""
        return sorted(self.package.parent.rglob(f"*.{ending}"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A copy of the package whose cache is empty."""
    return Home(tmp_path)


def test_two_processes_may_fill_an_empty_cache_at_once(home: Home) -> None:
    """Both compile, both save, both draw alike; whoever comes later finds it compiled."""
    assert list(home.draw(processes=2)) == [(True, words(), 0)] * 2
    assert list(home.draw()) == [(False, words(), 1)]
    assert len(home.files("nbi")) == len(home.files("nbc")) == 1


@pytest.mark.parametrize("place", ["home", "named"])
def test_a_package_that_cannot_be_written_is_compiled_elsewhere(home: Home, place: str) -> None:
    """It is kept in the user's home, or where NUMBA_CACHE_DIR says, and found there again."""
    home.close_package()
    if place == "named":
        home.close_home()
        home.environment["NUMBA_CACHE_DIR"] = str(home.named)
    assert list(home.draw()) == [(True, words(), 0)]
    assert list(home.draw()) == [(False, words(), 1)]
    (index,), (code,) = home.files("nbi"), home.files("nbc")
    assert index.is_relative_to(getattr(home, place))
    assert code.parent == index.parent


def test_where_nothing_can_be_written_every_process_compiles(home: Home) -> None:
    """Neither the package nor the home takes compiled code: it plays all the same."""
    home.close_package()
    home.close_home()
    assert list(home.draw()) == [(True, words(), 0)]
    assert not home.files("nbi") and not home.files("nbc")


def test_an_index_without_its_code_is_no_hindrance(home: Home) -> None:
    """Whoever was stopped while saving leaves one behind: the code is compiled and saved anew."""
    assert list(home.draw()) == [(True, words(), 0)]
    (code,) = home.files("nbc")
    code.unlink()
    assert list(home.draw()) == [(True, words(), 0)]
    assert home.files("nbc") == [code]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_file_is_made_anew(home: Home, ending: str) -> None:
    """What a full disk or a crash left is a miss, and mended by the next that compiles."""
    assert list(home.draw()) == [(True, words(), 0)]
    home.files(ending)[0].write_bytes(b"")
    assert list(home.draw()) == [(True, words(), 0)]
    assert list(home.draw()) == [(False, words(), 1)]


def test_on_a_full_disk_every_process_compiles(home: Home) -> None:
    """Where no byte can be written it plays all the same."""
    home.fill_disk()
    assert list(home.draw()) == [(True, words(), 0)]
    assert not any(file.stat().st_size for file in home.files("nb?"))


def test_code_of_other_sources_is_never_taken(home: Home) -> None:
    """An index whose code was not saved any more does not lead to that of the sources before."""
    assert list(home.draw()) == [(True, words(), 0)]
    (old,) = home.files("nbc")
    source = home.package / "chance.py"
    source.write_text(source.read_text().replace("ROUNDS = 10", "ROUNDS = 9"))
    ((compiled, drawn, _),) = home.draw()
    assert compiled and drawn != words()
    (new,) = set(home.files("nbc")) - {old}
    new.unlink()
    assert list(home.draw()) == [(True, drawn, 0)]
