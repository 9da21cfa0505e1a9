"""The one way this package compiles a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

#: False under ``NUMBA_DISABLE_JIT=1``: the same functions then run as plain Python.
JIT = not cast(Any, numba).config.DISABLE_JIT


def compiled(function: F) -> F:
    """Compile `function` to machine code, cached on disk, free of the interpreter lock."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
