"""The one way this project compiles a function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

#: False under ``NUMBA_DISABLE_JIT=1``: the same functions then run as plain Python.
JIT = not cast(Any, numba).config.DISABLE_JIT


def _digest() -> str:
    """Return a hash of all sources of this package."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


#: Compiled code holds what it calls, but the compiler's cache only looks at a function's own file:
#: after a change elsewhere it would go on with the old rules. So the whole package is part of the
#: stamp that a cached function must bear.
SOURCES = _digest()


def compiled(function: F) -> F:
    """Compile `function` to machine code, cached on disk, free of the interpreter lock.

    Where no place for the cache can be written, every process compiles for itself.
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    if JIT:
        try:
            dispatcher.enable_caching()
        except RuntimeError:
            return cast(F, dispatcher)
        index = cast(Any, dispatcher)._cache._cache_file
        index._source_stamp = (index._source_stamp, SOURCES)
    return cast(F, dispatcher)
