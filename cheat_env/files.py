"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write(path: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a temporary file beside `path` and rename it once it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        fill(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write(path, lambda unfinished: unfinished.write_text(text, "utf-8"))
