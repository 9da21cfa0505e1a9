"""A cell of an evaluation: a lineup of agents at one game, and how its deals are played.

The unit is the deal: each is played with every rotation of the seats. A cell is played in chunks of
deals, and each chunk's chance comes from the seed, the cell and the chunk's number alone.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import Agent
from agents.base import NOBODY, SINGLE_DEALS, ask_all
from cheat_env import Rules, RulesWarning, Tables
from cheat_env.compiled import compiled
from cheat_env.state import OVER, State
from cheat_env.values import ENDS, LAST, MOST_CARDS, SCORINGS, TWO_LEFT
from train.measures import Measures

#: Deals played at once; part of what chance the agents meet, so it is no option.
CHUNK = 128

#: What a chunk or a whole cell came to, made of what JSON knows.
Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """Some agents at one table of a game, and the deals they play.

    Attributes:
        variant: name of the game.
        changed: its options that are changed, as files spell them.
        rules: the game with those options, for single deals.
        players: seats.
        lineup: the agents' names by seat at rotation 0; at rotation k each sits k seats further.
        deals: distinct deals; each is played `players` times.
        seed: what the deals are drawn from.
    """

    variant: str
    changed: dict[str, Any]
    rules: Rules
    players: int
    lineup: tuple[str, ...]
    deals: int
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct agents, in the order of the lineup."""
        return tuple(dict.fromkeys(self.lineup))

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.deals // CHUNK)

    def numbers(self, chunk: int) -> NDArray[np.int64]:
        """Return the numbers of a chunk's deals."""
        return np.arange(chunk * CHUNK, min((chunk + 1) * CHUNK, self.deals))

    def key(self) -> str:
        """Return what tells this cell from others of a seed: all but the number of deals."""
        key = [self.variant, self.changed, self.players, self.lineup]
        return json.dumps(key, sort_keys=True)

    def generator(self, chunk: int) -> np.random.Generator:
        """Return the generator from which the agents of a chunk draw."""
        words = np.frombuffer(hashlib.sha256(self.key().encode()).digest(), "<u4")
        entropy = [self.seed, *map(int, words), chunk]
        return np.random.default_rng(np.random.SeedSequence(entropy))


def game(variant: Any, changed: Mapping[str, Any]) -> tuple[str, dict[str, Any], Rules]:
    """Return a game's name, the options in which it differs from the published one, and its rules.

    House rules with a name of their own go by it, and name their base among the options. Raises
    `RulesError`.
    """
    rules = Rules.load(variant, **{**changed, **SINGLE_DEALS})
    base: Any = variant
    while isinstance(base, Mapping):
        base = base["base"]
    published = Rules.load(base, **SINGLE_DEALS).as_options()
    differs = {k: v for k, v in rules.as_options().items() if v != published[k]}
    name = str(variant.get("name", base)) if isinstance(variant, Mapping) else base
    return name, differs if name == base else {"base": base} | differs, rules


def play_chunk(cell: Cell, agents: Mapping[str, Agent], chunk: int) -> Result:
    """Play a chunk of a cell's deals with every rotation of the seats; `agents` by name.

    Raises `IllegalAction`, naming the agent, where one does not keep to the rules.
    """
    numbers, players = cell.numbers(chunk), cell.players
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)  # that was said when the cell was planned
        tables = Tables(cell.rules, players, len(numbers) * players, cell.seed, auto_reset=False)
    tables.reset(deals=np.repeat(numbers, players), numbers=0)
    agent_at = seating(cell, len(numbers))
    measures = Measures(*agent_at.shape)
    _play(tables, agent_at, [agents[name] for name in cell.names], cell, chunk, measures)
    return _summary(cell, tables.state, agent_at, measures)


def seating(cell: Cell, deals: int) -> NDArray[np.int64]:
    """Return the place in `cell.names` of the agent in each seat: (deals x rotations, seats)."""
    rotation, seat = np.ogrid[: cell.players, : cell.players]
    lineup = np.array([cell.names.index(name) for name in cell.lineup])
    return np.tile(lineup[(seat - rotation) % cell.players], (deals, 1))


def _play(
    tables: Tables,
    agent_at: NDArray[np.int64],
    agents: Sequence[Agent],
    cell: Cell,
    chunk: int,
    measures: Measures,
) -> None:
    """Play every table to the end of its deal; each agent acts for all its tables at once."""
    rng = cell.generator(chunk)
    actions = np.zeros(tables.num_tables, np.int64)
    actor = np.zeros(tables.num_tables, np.int64)
    while find_actors(tables.state, agent_at, actor):
        ask_all(agents, actor, tables.observation, tables.action_mask, rng, actions, cell.names)
        measures.count(tables.state, tables.game, tables.action_mask, actions)
        tables.step(actions)


@compiled
def find_actors(state: State, agent_at: NDArray[np.int64], actor: NDArray[np.int64]) -> int:
    """Write the place of the agent to act at each table, or NOBODY; returns how many act."""
    acting = 0
    for t in range(len(actor)):
        over = state[t].phase == OVER
        actor[t] = NOBODY if over else agent_at[t, int(state[t].turn)]
        acting += 0 if over else 1
    return acting


# --- What it came to ------------------------------------------------------------------------------


def outcome(state: State, rules: Rules, players: int) -> dict[str, NDArray[Any]]:
    """Return by table and seat what became of deals that are over; all (tables, seats).

    `won`: the first out, or where the seats left lose all others. `lost`: named as a loser by the
    game. `place`: in the order of going out; seats still in share the mean of the places left.
    """
    out, lost = state["out"][:, :players], state["loser"][:, :players] == 1
    left = (state["num_out"].astype(np.float64)[:, None] + 1 + players) / 2
    return {
        "won": ~lost if rules.scoring == SCORINGS[LAST] else out == 1,
        "lost": lost,
        "reward": state["reward"][:, :players].astype(np.float64),
        "place": np.where(out > 0, out, left),
    }


def names_losers(rules: Rules) -> bool:
    """Say whether the game names losers."""
    return rules.scoring in (SCORINGS[LAST], SCORINGS[MOST_CARDS])


def equal_share(rules: Rules, players: int) -> float:
    """Return the share of the finished deals that each of so many equal players wins."""
    if rules.scoring != SCORINGS[LAST]:
        return 1 / players
    return (players - (2 if rules.end == ENDS[TWO_LEFT] else 1)) / players


def _summary(cell: Cell, state: State, agent_at: NDArray[np.int64], measures: Measures) -> Result:
    """Return what a chunk came to: by deal where intervals are to be told, else summed.

    Truncated games count as nothing but that.
    """
    finished = ~state["truncated"]
    by_seat = outcome(state, cell.rules, cell.players)
    agents: dict[str, Result] = {}
    for place, name in enumerate(cell.names):
        own = (agent_at == place) & finished[:, None]
        agents[name] = {
            what: _by_deal((values * own).sum(axis=1), cell.players)
            for what, values in by_seat.items()
        }
        for what in measures.counts.dtype.names or ():
            agents[name][what] = measures.counts[what][own].sum(axis=0).tolist()
    return {
        "finished": _by_deal(finished, cell.players),
        "plays": int(state["plays"][finished].sum()),
        "decisions": int(measures.decisions[finished].sum()),
        "agents": agents,
    }


def _by_deal(values: NDArray[Any], rotations: int) -> list[Any]:
    """Return sums over the rotations of each deal."""
    found: list[Any] = values.reshape(-1, rotations).sum(axis=1).tolist()
    return found
