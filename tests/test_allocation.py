"""A step allocates nothing, and a table takes no more than 4 KB."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from conftest import VARIANTS
from numba.core.runtime import _nrt_python, rtsys
from playing import ARRAYS

from cheat_env import Tables
from cheat_env.bench import choose_random
from cheat_env.compiled import JIT

#: Bytes that the steps may have in use at any time: the objects of a call of Python, and names
#: that Numba looks up, of which the interpreter's method cache keeps up to a few hundred. It is
#: less than the smallest object for each of 10,000 steps, or four bytes for each of 20,000 tables.
MOST_USED = 64 * 1024
#: Bytes of a table, all in all.
MOST_A_TABLE = 4096

pytestmark = pytest.mark.skipif(not JIT, reason="plain Python allocates as it goes")


class Play:
    """Random legal play at some tables, by steps whose actions always lie in the same array."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.actions = np.zeros(tables.num_tables, np.int64)
        self.word = np.uint64(88172645463325252)

    def play(self, steps: int) -> None:
        """Play on."""
        for _ in range(steps):
            self.word = np.uint64(choose_random(self.tables.action_mask, self.word, self.actions))
            self.tables.step(self.actions)


@contextmanager
def traced() -> Iterator[None]:
    """Trace what Python and NumPy allocate."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@pytest.fixture
def counted() -> Iterator[None]:
    """Count what compiled code allocates, which Python can't see."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.parametrize("variant", ["english", "russian"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("num_tables", "steps"), [(16, 10_000), (20_000, 30)])
def test_steps_leave_nothing_behind_and_need_no_room(
    variant: str, threads: int, num_tables: int, steps: int
) -> None:
    """The most in use at any time of any step grows neither with the steps nor with the tables."""
    play = Play(Tables(variant, 4, num_tables, seed=1, threads=threads))
    play.play(10)
    with traced():
        play.play(steps)
        _, most = tracemalloc.get_traced_memory()
    assert 0 < most < MOST_USED


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_steps_allocate_nothing(variant: str, counted: None) -> None:
    """Each compiled call wraps the arrays it is handed; nothing comes to that, and all of it goes.

    So it is the same number for every step, whatever is played and at however many tables.
    """
    made = []
    for num_tables in (1, 64):
        play = Play(Tables(variant, 4, num_tables, seed=1))
        play.play(1)
        before = rtsys.get_allocation_stats()
        play.play(1000)
        after = rtsys.get_allocation_stats()
        made.append(after.alloc - before.alloc)
        assert after.alloc - before.alloc == after.free - before.free
        assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    choosing, stepping = 2, len(["state", "game", *ARRAYS, "actions"])
    assert made == [1000 * (choosing + stepping)] * 2


@pytest.mark.parametrize("observation", ["table", "memory"])
def test_a_table_takes_4_kb(game: tuple[str, int], observation: str) -> None:
    """The state and everything shown, at every legal number of seats."""
    tables = Tables(*game, 8, observation=observation)
    shown = sum(getattr(tables, name).nbytes for name in ARRAYS)
    assert shown == sum(array.nbytes for array in tables.arrays)
    assert (tables.state.nbytes + shown) / 8 <= MOST_A_TABLE


@pytest.mark.parametrize("observation", ["table", "memory"])
@pytest.mark.parametrize(("variant", "players"), [("marquoir", 8), ("russian", 2)])
def test_tables_hold_nothing_else(variant: str, players: int, observation: str) -> None:
    """All that `Tables` keep, arrays that nobody is shown included, and all they need to start."""
    Tables(variant, players, observation=observation)
    with traced():
        tables = Tables(variant, players, 1000, observation=observation)
        _, most = tracemalloc.get_traced_memory()
    assert tables.state.nbytes < most < 1000 * MOST_A_TABLE
