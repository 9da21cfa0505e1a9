"""`Tables`: n tables of one game stepped together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cheat_env import actions as act
from cheat_env.checks import RulesError, whole
from cheat_env.compiled import compiled
from cheat_env.dealing import match_over, next_deal, start_match
from cheat_env.engine import apply, legal_actions
from cheat_env.observations import AT_PICKED, encode, layout
from cheat_env.options import Options
from cheat_env.rules import Rules
from cheat_env.state import OVER, State, Table, allocate, records

#: Found by `first_illegal` where every action is legal.
ALL_LEGAL = -1
#: The largest number of a deal or a table.
MOST_NUMBER = 2**32 - 1
#: The rule options as an array of one record, which a compiled call takes eight times as fast as
#: the record itself (0.23 against 1.8 microseconds).
Game: TypeAlias = NDArray[np.void]


class IllegalAction(ValueError):  # noqa: N818  (the name users catch)
    """An action that the rules do not allow; nothing was changed by it."""


def refuse(action: Any, seat: int, mask: NDArray[np.int8], where: str = "") -> IllegalAction:
    """Return the error for an illegal action: who, what, and what was legal instead."""
    known = isinstance(action, int | np.integer) and 0 <= action < act.NUM_ACTIONS
    name = f" ({act.name(int(action))})" if known else ""
    legal = ", ".join(f"{a} {act.name(int(a))}" for a in np.flatnonzero(mask))
    return IllegalAction(
        f"{where}seat {seat}: action {action!s}{name} is illegal; legal: {legal or 'none'}"
    )


class Arrays(NamedTuple):
    """What `Tables` shows its caller; described there."""

    observation: NDArray[np.int8]
    action_mask: NDArray[np.int8]
    seat: NDArray[np.int8]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


@compiled
def observe_table(state: State, options: Options, arrays: Arrays, t: int) -> None:
    """Write what the seat to act at table `t` sees and may do."""
    table = state[t]
    arrays.seat[t] = table.turn
    legal_actions(table, options, arrays.action_mask[t])
    encode(table, options, int(table.turn), arrays.observation[t])


@compiled
def observe_pick(state: State, options: Options, arrays: Arrays, t: int, picked: int) -> None:
    """Bring the arrays from before a pick to after it: the seat stays, and sees one card move."""
    legal_actions(state[t], options, arrays.action_mask[t])
    arrays.observation[t, AT_PICKED + picked] += 1


@compiled
def observe_tables(state: State, game: Game, arrays: Arrays) -> None:
    """Write what the seat to act at every table sees and may do."""
    for t in range(len(state)):
        observe_table(state, game[0], arrays, t)


@compiled
def first_illegal(state: State, arrays: Arrays, actions: NDArray[np.int64]) -> int:
    """Return the first table with an illegal action, or ALL_LEGAL; none where a deal is over."""
    mask = arrays.action_mask
    for t in range(len(actions)):
        legal = 0 <= actions[t] < mask.shape[1] and mask[t, actions[t]] == 1
        if not legal and state[t].phase != OVER:
            return t
    return ALL_LEGAL


@compiled
def deal_on(table: Table, options: Options, reward: NDArray[np.float32]) -> bool:
    """Deal on where a deal is over; says whether its match is over instead.

    What deals pay that are over as soon as they are dealt (G12) is added to `reward`, (seats,).
    """
    while table.phase == OVER:
        if match_over(table, options):
            return True
        next_deal(table, options)
        for s in range(len(reward)):
            reward[s] += table.reward[s]
    return False


@compiled
def start_tables(state: State, game: Game, arrays: Arrays, auto_reset: bool) -> None:
    """Deal the match that each table names, or with `auto_reset` the first that is not over."""
    options = game[0]
    for t in range(len(state)):
        table, reward = state[t], arrays.reward[t]
        start_match(table, options)
        arrays.truncated[t] = False
        arrays.terminated[t] = _pay_and_deal_on(table, options, reward)
        while arrays.terminated[t] and auto_reset:
            next_deal(table, options)
            arrays.terminated[t] = _pay_and_deal_on(table, options, reward)


@compiled
def _pay_and_deal_on(table: Table, options: Options, reward: NDArray[np.float32]) -> bool:
    """Write what the deal just dealt pays, mostly nothing, and `deal_on`."""
    for s in range(len(reward)):
        reward[s] = table.reward[s]
    return deal_on(table, options, reward)


@compiled
def step_tables(
    state: State,
    game: Game,
    arrays: Arrays,
    actions: NDArray[np.int64],
    auto_reset: bool,
    first: int,
    last: int,
) -> None:
    """Play one legal action at the tables `first` .. `last - 1`; deal where one ended."""
    options, reward = game[0], arrays.reward
    for t in range(first, last):
        table = state[t]
        if table.phase == OVER:  # only without auto_reset
            reward[t] = 0
            continue
        apply(table, options, int(actions[t]))
        for s in range(reward.shape[1]):
            reward[t, s] = table.reward[s]
        ended = deal_on(table, options, reward[t])
        arrays.truncated[t] = ended and bool(table.truncated)
        arrays.terminated[t] = ended and not bool(table.truncated)
        while table.phase == OVER and auto_reset:
            next_deal(table, options)
        if actions[t] <= act.PICK_JOKER:
            observe_pick(state, options, arrays, t, int(actions[t]))
        else:
            observe_table(state, options, arrays, t)


@compiled
def check_and_step(
    state: State, game: Game, arrays: Arrays, actions: NDArray[np.int64], auto_reset: bool
) -> int:
    """Step every table if all actions are legal; returns what `first_illegal` found."""
    wrong = first_illegal(state, arrays, actions)
    if wrong == ALL_LEGAL:
        step_tables(state, game, arrays, actions, auto_reset, 0, len(actions))
    return wrong


class Tables:
    """Tables of one game, stepped together; the next deal is dealt at once where one ended.

    Deal k of table t depends on (seed, t, k) alone: not on how many tables there are, on threads
    or on what was played before.

    Args:
        variant: name of a game, mapping of house rules, or `Rules`.
        num_players: seats at every table; None: the game's default.
        num_tables: how many tables, n.
        seed: what the deals are drawn from, 0 .. 2**64-1.
        observation: "table" or "memory" (see `cheat_env.observations`).
        threads: how many threads step the tables; the results are the same.
        auto_reset: deal the next match where one ended. Without it a table whose match is over
            stays as it is: its flags stay, its mask is empty, its actions are ignored.
        **rule_options: options of `Rules` to change.

    Attributes, read-only for the caller and overwritten by every step:
        observation: int8 (n, D), what the seat to act sees.
        action_mask: int8 (n, 46), 1 for its legal actions.
        seat: int8 (n,), the seat to act.
        reward: float32 (n, seats), paid by the last step.
        terminated: bool (n,), the last step ended a match by the rules.
        truncated: bool (n,), the last step ended a deal at `max_plays`, and its match with it.

    Raises `RulesError` where rules or arguments can't be played.
    """

    def __init__(
        self,
        variant: Any = "english",
        num_players: int | None = None,
        num_tables: int = 1,
        seed: int = 0,
        observation: str = "memory",
        threads: int = 1,
        *,
        auto_reset: bool = True,
        **rule_options: Any,
    ) -> None:
        self.rules = Rules.load(variant, **rule_options)
        self.num_players = self.rules.default_players if num_players is None else num_players
        self.options = self.rules.options(self.num_players)
        self.game = records(np.array([self.options]))
        self.deck = self.rules.deck_for(self.num_players)
        self.layout = layout(observation)
        self.state = allocate(whole("num_tables", num_tables, 1, 2**31))
        self.arrays = Arrays(
            observation=np.zeros((num_tables, self.layout.size), np.int8),
            action_mask=np.zeros((num_tables, act.NUM_ACTIONS), np.int8),
            seat=np.zeros(num_tables, np.int8),
            reward=np.zeros((num_tables, self.num_players), np.float32),
            terminated=np.zeros(num_tables, np.bool_),
            truncated=np.zeros(num_tables, np.bool_),
        )
        self._hand_out()
        self.threads = whole("threads", threads, 1, 1024)
        self.auto_reset = auto_reset
        self._pool = _pool(threads)
        self.reset(seed)

    def _hand_out(self) -> None:
        """Show the arrays read-only: a step relies on what the one before it wrote."""
        self.observation = self.arrays.observation.view()
        self.action_mask = self.arrays.action_mask.view()
        self.seat = self.arrays.seat.view()
        self.reward = self.arrays.reward.view()
        self.terminated = self.arrays.terminated.view()
        self.truncated = self.arrays.truncated.view()
        for name in Arrays._fields:
            getattr(self, name).flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: everything but the threads."""
        return self.__dict__ | {"_pool": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a copied state, with threads of its own."""
        self.__dict__.update(state)
        self._pool = _pool(self.threads)
        self._hand_out()

    @property
    def num_tables(self) -> int:
        """How many tables there are."""
        return len(self.state)

    def reset(
        self,
        seed: int | None = None,
        deals: ArrayLike | None = None,
        numbers: ArrayLike | None = None,
    ) -> None:
        """Deal anew at every table.

        Args:
            seed: what deals are drawn from; None: as before.
            deals: number of the match to deal, one or (n,); None: 0. Where a match is one deal,
                this is the deal's number.
            numbers: the table's own number that is part of what deals are drawn from, one or
                (n,); None: 0 .. n-1. Equal seed, deal and number give equal cards.
        """
        if seed is not None:
            self.state["seed"] = whole("seed", seed, 0, 2**64 - 1)
        self.state["match"] = 0 if deals is None else _numbers("deals", deals)
        own = np.arange(self.num_tables)
        self.state["number"] = own if numbers is None else _numbers("numbers", numbers)
        start_tables(self.state, self.game, self.arrays, self.auto_reset)
        observe_tables(self.state, self.game, self.arrays)

    def take_over(self, state: State) -> None:
        """Put every table into a position copied from the `state` of other tables of this game."""
        self.state[:] = state
        self.arrays.reward[:] = 0
        self.arrays.terminated[:] = False
        self.arrays.truncated[:] = False
        observe_tables(self.state, self.game, self.arrays)

    def step(self, actions: NDArray[np.integer[Any]]) -> None:
        """Play one action at every table, int (n,).

        Raises `IllegalAction` and changes nothing where any of them is illegal.
        """
        actions = np.ascontiguousarray(actions)
        if actions.shape != self.seat.shape or actions.dtype.kind not in "iu":
            raise IllegalAction(
                f"actions {actions.dtype} {actions.shape}: must be integers {self.seat.shape}"
            )
        chosen = actions.astype(np.int64, copy=False)
        if self._pool is None:
            wrong = check_and_step(self.state, self.game, self.arrays, chosen, self.auto_reset)
        else:
            wrong = self._step_by_threads(self._pool, chosen)
        if wrong != ALL_LEGAL:
            seat, mask = int(self.seat[wrong]), self.action_mask[wrong]
            raise refuse(int(chosen[wrong]), seat, mask, f"table {wrong}, ")

    def _step_by_threads(self, pool: ThreadPoolExecutor, actions: NDArray[np.int64]) -> int:
        """Step every table if all actions are legal, each thread its share of the tables."""
        wrong = first_illegal(self.state, self.arrays, actions)
        if wrong == ALL_LEGAL:
            whole_step = (self.state, self.game, self.arrays, actions, self.auto_reset)
            bounds = [self.num_tables * i // self.threads for i in range(self.threads + 1)]
            mine, *others = pairwise(bounds)
            parts = [pool.submit(step_tables, *whole_step, *ends) for ends in others]
            step_tables(*whole_step, *mine)
            for part in parts:
                part.result()
        return wrong


def _numbers(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return numbers of deals or tables, refused where a 32-bit counter can't hold them."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or (array < 0).any() or (array > MOST_NUMBER).any():
        raise RulesError(f"{name} {values!r}: give whole numbers from 0 to {MOST_NUMBER}")
    return array


def _pool(threads: int) -> ThreadPoolExecutor | None:
    """Return the threads beside the caller's own, or None where it steps alone."""
    return ThreadPoolExecutor(threads - 1) if threads > 1 else None
