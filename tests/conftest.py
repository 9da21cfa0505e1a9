"""What the tests share: one thread a library, every legal game, and random legal play."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["NUMBA_NUM_THREADS"] = "1"

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cheat_env import Rules, Tables, variants

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
RECORDS = TESTS / "records"

#: The legal numbers of players of the three games of the rule book.
PLAYERS = {"english": range(3, 7), "marquoir": range(3, 9), "russian": range(2, 7)}
VARIANTS = tuple(PLAYERS)
#: Those three at every legal number of players.
GAMES = [(variant, players) for variant in VARIANTS for players in PLAYERS[variant]]
#: Every published game at its fewest and its most players.
FAMILY = [(name, players) for name in variants() for players in Rules.load(name).players]


class Lottery:
    """A small explicit generator (a 64-bit LCG): the same choices on every machine."""

    def __init__(self, seed: int) -> None:
        self.word = seed

    def choose(self, mask: np.ndarray) -> int:
        """Return one of the legal actions of a mask."""
        self.word = (self.word * 6364136223846793005 + 1442695040888963407) % 2**64
        legal = np.flatnonzero(mask)
        return int(legal[(self.word >> 33) % len(legal)])


def random_match(
    variant: Any, players: int, seed: int, **options: Any
) -> Iterator[tuple[Tables, int]]:
    """Play one random legal match; yields the table and the action that it takes next.

    The table stays as the match's end left it. `options` are those of `Tables`.
    """
    tables = Tables(variant, players, 1, seed=seed, auto_reset=False, **options)
    lottery = Lottery(seed)
    while not (tables.terminated[0] or tables.truncated[0]):
        action = lottery.choose(tables.action_mask[0])
        yield tables, action
        tables.step(np.array([action]))


@pytest.fixture(params=GAMES, ids=lambda game: f"{game[0]}-{game[1]}")
def game(request: pytest.FixtureRequest) -> tuple[str, int]:
    """Return each game of the rule book at every legal number of players."""
    return request.param
