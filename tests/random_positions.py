"""Random positions of the published games, and what a seat observes of one."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from conftest import GAMES, VARIANTS, Lottery, random_match
from positions import turned

from cheat_env import Rules, Tables, variants
from cheat_env import actions as act
from cheat_env.cards import Deck
from cheat_env.observations import MEMORY, Layout, encode
from cheat_env.state import PHASES, State


class Position(NamedTuple):
    """One random position: a state (1,), and what it is a position of."""

    variant: str
    state: State
    options: Any
    deck: Deck

    @property
    def table(self) -> Any:
        """The table."""
        return self.state[0]

    @property
    def kind(self) -> str:
        """Name the phase, and apart from it the middle of a play."""
        table = self.table
        return "picking" if table["picked_size"] else PHASES[table["phase"]]

    def turned(self, cards: np.ndarray) -> np.ndarray:
        """Return counts by rank of the deck as counts by relative rank."""
        return turned(cards, self.table, len(self.deck))


@cache
def positions() -> tuple[Position, ...]:
    """Return random positions of the games of the rule book, at most eight of a kind for each."""
    found = []
    for variant, players in GAMES:
        kept: Counter[str] = Counter()
        for seed in range(3):
            for number, (tables, _) in enumerate(random_match(variant, players, seed, deals=1)):
                if number > 1500:
                    break
                state = tables.state.copy()
                here = Position(variant, state, tables.options, tables.deck)
                rare = here.kind == "quads"
                if (number % 13 == 0 or rare) and kept[here.kind] < 3 * (seed + 1) + 6 * rare:
                    kept[here.kind] += 1
                    found.append(here)
    return tuple(found)


@cache
def family_positions() -> tuple[Position, ...]:
    """Return random positions of the eighteen other games, two of a kind for each."""
    found = []
    for variant in sorted(set(variants()) - set(VARIANTS)):
        players = Rules.load(variant).players[0] + 1
        kept: Counter[Any] = Counter()
        tables, lottery = Tables(variant, players, 1, seed=5), Lottery(5)
        for _ in range(4000):
            here = Position(variant, tables.state, tables.options, tables.deck)
            sizes = [here.table[name].sum() > 3 for name in ("pile", "burnt", "gone")]
            kind = (here.kind, *sizes, bool(here.table["passed"].any()))
            if kept[kind] < 2 and (lottery.word >> 40) % 20 == 0:
                kept[kind] += 1
                found.append(here._replace(state=tables.state.copy()))
            tables.step(np.array([often_honest(lottery, tables.action_mask[0])]))
    return tuple(found)


def often_honest(lottery: Lottery, mask: np.ndarray) -> int:
    """Return a random legal action, every other time one that is no lie and no challenge."""
    action = lottery.choose(mask)
    wanted = [other for other in (act.ACCEPT, act.PASS, act.BELIEVE, act.PICK) if mask[other]]
    return wanted[0] if wanted and (lottery.word >> 20) % 2 else action


def observed(here: Position, seat: int, chosen: Layout = MEMORY) -> np.ndarray:
    """Return what a seat observes of a position."""
    out = np.empty(chosen.size, np.int8)
    encode(here.table, here.options, seat, out)
    return out


def players_of(here: Position) -> range:
    """Return the seats of a position."""
    return range(int(here.options["players"]))
