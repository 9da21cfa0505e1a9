"""Tables with one learner's seat among agents, played on from one of its decisions to the next.

`agents.gym_env` and `agents.vec_env` are these in the dress of Gymnasium and Stable-Baselines3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from agents.base import NOBODY, Agent, AgentError, ask_all
from agents.registry import load
from cheat_env import RulesError, Tables
from cheat_env.chance import below, philox
from cheat_env.checked import ILLEGAL_REWARD
from cheat_env.checks import whole
from cheat_env.compiled import compiled
from cheat_env.dealing import LOT, match_winners
from cheat_env.observations import LAYOUTS, encode, layout
from cheat_env.render import ansi
from cheat_env.state import OVER, State
from cheat_env.tables import Arrays, Game, observe_table, start_tables, step_tables

#: Counter of the lots for the learner's seats, beside that of the first dealers (see `chance`).
SEATS = np.uint64(1)
Mask = NDArray[np.bool_]


@compiled
def draw_seats(state: State, players: int, where: Mask, seat: NDArray[np.int64]) -> None:
    """Draw the learner's seat: like the cards it depends on (seed, table, match) alone."""
    for t in range(len(where)):
        if where[t]:
            match, number = np.uint64(state[t].match), np.uint64(state[t].number)
            seat[t] = below(philox(state[t].seed, SEATS, LOT, match, number)[0], players)


@compiled
def start_where(state: State, game: Game, arrays: Arrays, where: Mask) -> None:
    """Deal the match that a table names, at some tables."""
    for t in range(len(where)):
        if where[t]:
            table = Arrays(
                arrays.observation[t : t + 1],
                arrays.action_mask[t : t + 1],
                arrays.seat[t : t + 1],
                arrays.reward[t : t + 1],
                arrays.terminated[t : t + 1],
                arrays.truncated[t : t + 1],
            )
            start_tables(state[t : t + 1], game, table, False)
            observe_table(state, game[0], arrays, t)


@compiled
def step_where(
    state: State,
    game: Game,
    arrays: Arrays,
    actions: NDArray[np.int64],
    where: Mask,
    seat: NDArray[np.int64],
    earned: NDArray[np.float64],
) -> None:
    """Play one legal action at some tables, and add what it pays the learner to `earned`."""
    for t in range(len(where)):
        if where[t]:
            step_tables(state, game, arrays, actions, False, t, t + 1)
            earned[t] += arrays.reward[t, seat[t]]


@compiled
def find_actors(
    state: State, seat: NDArray[np.int64], agent_at: NDArray[np.int64], actor: NDArray[np.int64]
) -> int:
    """Write the place of the agent to act at each table, or NOBODY; returns how many act."""
    acting, players = 0, len(agent_at)
    for t in range(len(actor)):
        offset = (int(state[t].turn) - seat[t] + players) % players
        actor[t] = NOBODY if state[t].phase == OVER else agent_at[offset]
        acting += 0 if actor[t] == NOBODY else 1
    return acting


@compiled
def show_ends(
    state: State, game: Game, arrays: Arrays, seat: NDArray[np.int64], ended: Mask
) -> None:
    """Let the learner see its tables where nothing is asked any more, and forbid nothing there."""
    for t in range(len(ended)):
        if ended[t] or state[t].phase == OVER:
            encode(state[t], game[0], seat[t], arrays.observation[t])
            arrays.action_mask[t] = 1


class SingleSeat:
    """Tables at which the learner has one seat and agents the others.

    An episode is a match. Cards and the learner's seat in match k of table t depend on
    (seed, t, k) alone; all the agents' chance comes from one generator. What the learner earns
    between two of its decisions, and until the end of a match that it is out of, is paid by the
    step between. Where no decision is left the mask forbids nothing, so that it is never empty:
    so at the end, and in a match that is over before the learner is asked, whose only step ends it.

    Args:
        variant: name of a game, mapping of house rules, or `Rules`.
        num_players: seats; None: the game's default.
        num_tables: how many tables, n.
        opponents: an agent for all other seats, or one for each, clockwise from the learner: a name
            or path for `agents.load`, or an `Agent`.
        seat: the learner's; None: drawn for every match.
        observation: what the learner sees, "table" or "memory".
        **rule_options: options of `Rules` to change.

    Attributes, of the last step:
        seat: int64 (n,), the learner's seat.
        illegal: bool (n,), its action was illegal: the match is left.
        terminated: bool (n,), the match ended by the rules, or was left.
        truncated: bool (n,), the match ended at `max_plays`.

    Raises `RulesError` or `AgentError` where rules or arguments can't be played.
    """

    def __init__(
        self,
        variant: Any,
        num_players: int | None,
        num_tables: int,
        opponents: Any,
        seat: int | None,
        observation: str,
        **rule_options: Any,
    ) -> None:
        asked = _agents(opponents)
        reads = {observation, *(agent.observation for agent in asked)}
        self.layout = layout(observation)
        self.tables = Tables(
            variant,
            num_players,
            num_tables,
            observation=max(reads, key=lambda name: LAYOUTS[name].size),
            auto_reset=False,
            **rule_options,
        )
        others = self.tables.num_players - 1
        if len(asked) not in (1, others):
            raise AgentError(
                f"opponents: {len(asked)} given: must be one, or one for each of {others} seats"
            )
        self._agents = {id(agent): agent for agent in asked}
        places = [list(self._agents).index(id(agent)) for agent in asked]
        self._agent_at = np.array([NOBODY, *places * (others // len(places))])
        self._fixed = self._seats(seat)
        self._dealt = False
        self._rows = np.arange(num_tables)
        self._actor = np.zeros(num_tables, np.int64)
        self._actions = np.zeros(num_tables, np.int64)
        self._earned = np.zeros(num_tables)
        self.seat = np.zeros(num_tables, np.int64)
        self.illegal, self.terminated, self.truncated = np.zeros((3, num_tables), np.bool_)

    def _seats(self, seat: Any) -> NDArray[np.int64] | None:
        """Return a seat asked for, or one for each table; None: to be drawn."""
        if seat is None:
            return None
        most = self.tables.num_players - 1
        if np.ndim(seat) == 0:
            return np.array(whole("seat", seat, 0, most))
        return _each("seat", [whole("seat", one, 0, most) for one in seat], self.tables.num_tables)

    def begin(
        self, seed: int | None, options: dict[str, Any] | None, rng: np.random.Generator
    ) -> None:
        """Begin an episode at every table: the first of a seed, or the one after the last.

        Args:
            seed: what matches are drawn from; None: as before, at first drawn from `rng`.
            options: may name the match ("deal") and the learner's "seat", one or (n,).
            rng: what the agents' chance comes from.
        """
        state, asked = self.tables.state, options or {}
        seats = self._fixed if asked.get("seat") is None else self._seats(asked["seat"])
        deals = asked.get("deal")
        if deals is not None:
            deals = _each("deal", deals, len(state))
        elif seed is None and self._dealt:
            deals = state["match"] + 1
        if seed is None and not self._dealt:
            seed = int(rng.integers(2**64, dtype=np.uint64))
        self.tables.reset(seed, deals)
        self._dealt = True
        self._open(np.ones(len(state), np.bool_), seats, rng)

    def begin_next(self, where: Mask, rng: np.random.Generator) -> None:
        """Begin the next episode at some tables."""
        tables = self.tables
        tables.state["match"][where] += 1
        start_where(tables.state, tables.game, tables.arrays, where)
        self._open(where, self._fixed, rng)

    def _open(self, where: Mask, seats: NDArray[np.int64] | None, rng: np.random.Generator) -> None:
        """Seat the learner where a match was dealt, and play up to its first decision."""
        if seats is None:
            draw_seats(self.tables.state, self.tables.num_players, where, self.seat)
        else:
            self.seat[where] = np.broadcast_to(seats, where.shape)[where]
        dealt = self.tables.reward[self._rows, self.seat]  # a deal can be over at once (G12)
        self._earned[where] = dealt[where]
        self.illegal[where] = False
        self._play_on(rng)

    def step(self, actions: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Play the learner's actions (n,), all in the space, and on; returns what was earned (n,).

        An illegal one is not played: the match is left, with reward -1 and a warning.
        """
        tables = self.tables
        legal = tables.action_mask[self._rows, actions] == 1
        self.illegal = ~legal
        if not legal.all():
            gymnasium.logger.warn(
                "an illegal action ends the episode, with reward -1: info['action_mask'] has the"
                " legal ones"
            )
        self._step(actions, legal)
        self._play_on(rng)
        over = tables.state["phase"] == OVER
        self.truncated = over & tables.state["truncated"]
        self.terminated = self.illegal | (over & ~self.truncated)
        earned = self._earned + ILLEGAL_REWARD * self.illegal
        self._earned[:] = 0
        return earned

    def _play_on(self, rng: np.random.Generator) -> None:
        """Let the agents act until the learner is to act everywhere, or its match is over."""
        tables, actor = self.tables, self._actor
        while find_actors(tables.state, self.seat, self._agent_at, actor):
            seen, mask = tables.observation, tables.action_mask
            ask_all(list(self._agents.values()), actor, seen, mask, rng, self._actions)
            self._step(self._actions, actor != NOBODY)
        show_ends(tables.state, tables.game, tables.arrays, self.seat, self.illegal)

    def _step(self, actions: NDArray[np.int64], where: Mask) -> None:
        tables = self.tables
        step_where(
            tables.state, tables.game, tables.arrays, actions, where, self.seat, self._earned
        )

    def observe(self) -> NDArray[np.int8]:
        """Return what the learner sees at every table, a new array (n, D)."""
        return self.tables.observation[:, : self.layout.size].copy()

    def infos(self) -> dict[str, NDArray[Any]]:
        """Return the learner's mask and seat at every table, new arrays (n, 46) and (n,)."""
        return {"action_mask": self.tables.action_mask.copy(), "seat": self.seat.copy()}

    def result(self, t: int) -> dict[str, Any]:
        """Return the learner's points in a match, and whether it has won; not if it left."""
        table, seat = self.tables.state[t], int(self.seat[t])
        won = match_winners(table, self.tables.options)[seat] and not self.illegal[t]
        return {"score": int(table["score"][seat]), "match_won": bool(won)}

    def picture(self, t: int) -> str:
        """Return a table as the learner sees it, as text."""
        tables = self.tables
        return ansi(tables.state[t], tables.options, tables.deck, int(self.seat[t]))


def _agents(opponents: Any) -> list[Agent]:
    """Return the agents asked for, each name's one and the same; raises `AgentError`."""
    given = list(opponents) if isinstance(opponents, list | tuple) else [opponents]
    names = [str(entry) if isinstance(entry, str | Path) else None for entry in given]
    loaded = {name: load(name) for name in dict.fromkeys(names) if name is not None}
    agents = [
        entry if name is None else loaded[name] for entry, name in zip(given, names, strict=True)
    ]
    for agent in agents:
        if not isinstance(agent, Agent) or agent.observation not in LAYOUTS:
            raise AgentError(
                f"opponent {agent!r}: must be the name of an agent, the path of a model, or an"
                f" Agent whose observation is {' or '.join(LAYOUTS)}"
            )
    return agents


def _each(name: str, values: Any, n: int) -> NDArray[Any]:
    """Return one value, or one for each table; raises `RulesError`."""
    array = np.asarray(values)
    if array.shape not in ((), (n,)):
        raise RulesError(f"{name} {values!r}: give one, or one for each of {n} tables")
    return array
