"""Checks of what users give: one line that names the thing, its value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class RulesError(ValueError):
    """Rules or settings that can't be played; the message names what, its value and the allowed."""


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number in its range; raises `RulesError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise RulesError(f"{name} {value!r}: give a whole number from {low} to {high}")
    if not low <= value <= high:
        raise RulesError(f"{name} {value}: must be from {low} to {high}")
    return int(value)


def pair(name: str, value: Any, low: int, high: int) -> tuple[int, int]:
    """Return a fewest and a most, both in the range; raises `RulesError`."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise RulesError(f"{name} {value!r}: give the fewest and the most, like [{low}, {low + 2}]")
    fewest, most = (whole(name, number, low, high) for number in value)
    if fewest > most:
        raise RulesError(f"{name} {list(value)}: the fewest is more than the most")
    return fewest, most


def one_of(name: str, value: Any, allowed: tuple[str, ...], aliases: Mapping[str, str]) -> str:
    """Return one of the allowed values, in its standard spelling; raises `RulesError`."""
    standard = aliases.get(value, value) if isinstance(value, str) else value
    if standard not in allowed:
        raise RulesError(f"{name} {value!r}: must be one of {', '.join(allowed)}")
    return str(standard)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts; raises `RulesError`."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise RulesError(f"{name} {value!r}: give a list of texts")
    return tuple(value)
