"""The one way this project compiles a function."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., object])

#: False under ``NUMBA_DISABLE_JIT=1``: the same functions then run as plain Python.
JIT = not cast(Any, numba).config.DISABLE_JIT


@cache
def _digest(folder: Path) -> str:
    """Return a hash of all sources of a package."""
    sources = sorted(folder.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def stamp(function: Callable[..., object]) -> str:
    """Return a hash of the packages that a function's compiled code comes from.

    Compiled code holds what it calls, but the compiler's cache only looks at a function's own file:
    after a change elsewhere it would go on with the old rules.
    """
    called = [v.py_func for v in function.__globals__.values() if hasattr(v, "py_func")]
    files = [__file__, *(inner.__code__.co_filename for inner in (function, *called))]
    folders = sorted({Path(file).parent for file in files})
    return hashlib.sha256("".join(map(_digest, folders)).encode()).hexdigest()


class _Cache(FunctionCache):
    """The compiler's cache on disk, where whatever goes wrong is a miss."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        index, sources = self._cache_file, stamp(function)
        index._source_stamp = (index._source_stamp, sources)
        # The index is written before the code: under a name of its own, code of other sources is
        # never taken for this one's by a process that starts between the two.
        index._data_name_pattern = f"{sources[:16]}.{index._data_name_pattern}"

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        """Go on without the cache where the disk is full or a file is damaged, and start it anew.

        The compiler loads and saves within this guard.
        """
        try:
            yield
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]


def compiled(function: F) -> F:
    """Compile `function` to machine code, cached on disk, free of the interpreter lock.

    Where no place for the cache can be written, every process compiles for itself.
    """
    inner = function.__name__.startswith("_")  # called by compiled code alone
    dispatcher = cast(Any, numba).njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=inner, no_cfunc_wrapper=True
    )(function)
    if JIT:
        try:
            dispatcher._cache = _Cache(function)
        except RuntimeError:
            return cast(F, dispatcher)
    return cast(F, dispatcher)
