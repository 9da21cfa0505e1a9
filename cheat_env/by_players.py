"""Values that depend on the number of players, written as a mapping like {3-6: 1, 7-8: 2}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from cheat_env.checks import RulesError


class ForPlayers(NamedTuple):
    """The value of an option for `low` to `high` players."""

    low: int
    high: int
    value: Any


ByPlayers: TypeAlias = tuple[ForPlayers, ...]
#: Of a value for everybody.
ANY_NUMBER = (2, 8)


def by_players(name: str, value: Any) -> ByPlayers:
    """Return a value for everybody, or a mapping, as ranges; raises `RulesError`.

    A list, of the ranks of a deck, is the same as its items in one text.
    """
    if isinstance(value, tuple) and value and isinstance(value[0], ForPlayers):
        return value
    if not isinstance(value, Mapping):
        return (ForPlayers(*ANY_NUMBER, _plain(value)),)
    ranges = []
    for key, item in value.items():
        first, _, last = str(key).partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise RulesError(f"{name} {key!r}: the keys are numbers of players, like 3-6 or 2")
        ranges.append(ForPlayers(int(first), int(last or first), _plain(item)))
    return tuple(ranges)


def _plain(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def as_mapping(ranges: ByPlayers) -> Any:
    """Return ranges in the form that YAML files use."""
    if len(ranges) == 1:
        return ranges[0].value
    return {f"{low}-{high}": value for low, high, value in ranges}


def value_for(ranges: ByPlayers, name: str, num_players: int) -> Any:
    """Return the value for a number of players; raises `RulesError` where there is none."""
    for low, high, value in ranges:
        if low <= num_players <= high:
            return value
    raise RulesError(f"{name}: no value for {num_players} players")
