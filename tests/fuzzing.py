"""Mutations: good input made bad in many ways, the same ones for the same seed."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

#: Mutated inputs in all, over all kinds, in the fast suite and in the slow one.
FAST, SLOW = 500, 10_000
#: What a value can be replaced by.
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, -(2**63), 2**64, 10**30),
    *(0.5, -0.0, 1e308, float("nan"), float("inf"), "", " ", "0", "nan", "honest", "english"),
    *("A-K", "./..", "\x00", "☃", "x" * 5000, "=", "{", "[", "base", ".", "~"),
    *([], {}, [[]], [None], {"a": 1}, {"base": "english"}, [1, 2, 3], ["honest"], {1: 2}),
)
#: Parts of texts that mean something to a parser.
PIECES = (
    *("\n", "\t", " ", ":", "-", "- ", "[", "]", "{", "}", "'", '"', "#", "&a", "*a", "!!int"),
    *("null", "0x10", "1e9", "~", "\ufeff", "\x00", "☃", "%", "@", "`", "|", ">", "---", "..."),
)


def counts(parts: int) -> list[Any]:
    """Return how many inputs a kind of fuzzing tries, of `parts` kinds: fast, and marked slow."""
    return [FAST // parts, pytest.param(SLOW // parts, marks=pytest.mark.slow)]


def generators(number: int, seed: int) -> Iterator[np.random.Generator]:
    """Yield a generator for each input."""
    seed += int(os.environ.get("FUZZ_SEED", "0"))
    for i in range(number):
        yield np.random.default_rng([seed, i])


def mutated_text(text: str, rng: np.random.Generator) -> str:
    """Return a text with a few places cut, doubled, swapped or written over."""
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(text) + 1))
        end = min(len(text), at + int(rng.integers(1, 12)))
        other = int(rng.integers(len(text) + 1))
        piece = PIECES[rng.integers(len(PIECES))]
        text = [
            text[:at] + text[end:],
            text[:at] + piece + text[at:],
            text[:at] + piece + text[end:],
            text[:end] + text[at:],
            text[:at] + text[other : other + 20] + text[at:],
            text[:at],
        ][rng.integers(6)]
    return text


def mutated_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with a few places cut, flipped or written over."""
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data) + 1))
        end = min(len(data), at + int(rng.integers(1, 64)))
        data = [
            data[:at],
            data[:at] + data[end:],
            data[:at] + rng.bytes(end - at) + data[end:],
            data[:at] + rng.bytes(8) + data[at:],
        ][rng.integers(4)]
    return data


def mutated_document(document: Any, rng: np.random.Generator) -> Any:
    """Return a document of mappings, lists and values with a few of its places changed."""
    found = copy.deepcopy(document)
    for _ in range(rng.integers(1, 4)):
        found = _mutated(found, rng)
    return found


def _mutated(document: Any, rng: np.random.Generator) -> Any:
    """Return a document with one place changed: replaced, taken out, doubled or renamed."""
    inside = [*document] if isinstance(document, dict) else [*range(len(_items(document)))]
    if not inside or rng.random() < 0.1:
        return copy.deepcopy(JUNK[rng.integers(len(JUNK))])
    key = inside[rng.integers(len(inside))]
    value = document[key]
    if isinstance(value, dict | list) and rng.random() < 0.7:
        document[key] = _mutated(value, rng)
    elif rng.random() < 0.6:
        document[key] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
    elif rng.random() < 0.5:
        del document[key]
    elif isinstance(document, dict):
        document[mutated_text(str(key), rng)] = document.pop(key)
    else:
        document.insert(key, copy.deepcopy(value))
    return document


def _items(document: Any) -> list[Any]:
    return document if isinstance(document, list) else []
