"""`search`: plays every legal action out in sampled worlds, and leaves a rule for good reason only.

For each decision it deals the cards that it does not see anew, such that they agree with its memory
(`agents.worlds`). In each world it plays every legal action out to the end of the deal, by one rule
of thumb in all seats, its own included (`agents.habits`): others then challenge by what they hold
in that world. It takes the action that gained most over the rule's own, less SURE standard errors
of that gain, or the rule's where none gained surely: the best of a few noisy means is mostly noise,
and plain search lies far too often.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.base import AgentError
from agents.counting import Floats, Ints
from agents.habits import DRAWS, Habits, decide
from agents.reading import read_game, read_table
from agents.worlds import Unseen, deal_world, draw, find_unseen, new_unseen
from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env import state, values
from cheat_env.compiled import compiled
from cheat_env.engine import apply, legal_actions
from cheat_env.options import Options
from cheat_env.state import State, Table, allocate

#: Worlds for a decision, and the turns after which a playout is cut and pays nothing.
WORLDS, MOST_WORLDS, MOST_TURNS = 16, 100_000, 400
#: Standard errors by which an action must beat the rule's.
SURE = 1.5
#: Worlds after which only actions are still tried that have gained so far.
FIRST_LOOK = 5

_WORLD, _PLAYOUT = 0, 1
#: Equal steps of the golden section never fall close together.
_GOLDEN = (math.sqrt(5) - 1) / 2


class Space(NamedTuple):
    """Work space of an agent.

    Attributes:
        tables: the sampled world and the playout in it.
        unseen: what is to be dealt.
        word: uint64 (1,), the generator.
        seen, mask: int8, what a seat of a playout observes and may do.
        draws: float64 (4,), zeros: the rules leave nothing to chance.
        open: bool (46,), actions that are still tried.
        gain, square: float64 (46,), what actions gained over the rule's, summed, and the squares.
    """

    tables: State
    unseen: Unseen
    word: NDArray[np.uint64]
    seen: NDArray[np.int8]
    mask: NDArray[np.int8]
    draws: NDArray[np.float64]
    open: NDArray[np.bool_]
    gain: NDArray[np.float64]
    square: NDArray[np.float64]


class SearchAgent:
    """A player that looks ahead; it sees nothing but its observation.

    Args:
        name: how it is called in tables.
        bold: the rule of all playouts, and the one that it improves on where the first out wins.
        careful: the rule that it improves on where the last one loses.
        worlds: how many worlds are sampled for a decision.

    Raises `AgentError` where `worlds` is no whole number, or none that can be played.
    """

    observation = "memory"

    def __init__(self, name: str, bold: Habits, careful: Habits, worlds: Any = WORLDS) -> None:
        whole = isinstance(worlds, int | np.integer) and not isinstance(worlds, bool)
        if not whole or not 1 <= worlds <= MOST_WORLDS:
            raise AgentError(
                f"agent {name!r}: worlds={worlds}: must be a whole number from 1 to {MOST_WORLDS}"
            )
        self.name = name
        self.worlds = int(worlds)
        self._bold = np.array(bold, np.float64)
        self._careful = np.array(careful, np.float64)
        self._games: dict[bytes, NDArray[np.void]] = {}
        self._space = Space(
            tables=allocate(2),
            unseen=new_unseen(),
            word=np.zeros(1, np.uint64),
            seen=np.zeros(obs.MEMORY.size, np.int8),
            mask=np.zeros(act.NUM_ACTIONS, np.int8),
            draws=np.zeros(DRAWS),
            open=np.zeros(act.NUM_ACTIONS, np.bool_),
            gain=np.zeros(act.NUM_ACTIONS),
            square=np.zeros(act.NUM_ACTIONS),
        )

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`).

        Each row takes one number from `rng`, so the size of a batch changes nothing.
        """
        seeds = rng.integers(0, 2**64, len(observation), np.uint64)
        actions = np.argmax(action_mask, axis=1)
        for i in np.flatnonzero(np.sum(action_mask, axis=1) > 1):
            row, mask = np.array(observation[i]), np.array(action_mask[i])
            game = self._game(row)
            rule = self._bold if game[0]["end"] == values.FIRST_OUT else self._careful
            self._space.word[0] = seeds[i]
            actions[i] = search(row, mask, game, rule, self._bold, self.worlds, self._space)
        return actions

    def _game(self, row: NDArray[np.int8]) -> NDArray[np.void]:
        """Return the options of the game that an observation is of, an array (1,)."""
        flags = row[obs.AT_FLAGS : obs.AT_FLAGS + obs.NUM_FLAGS].tobytes()
        if flags not in self._games:
            self._games[flags] = read_game(row, MOST_TURNS)
        return self._games[flags]


@compiled
def search(
    o: Ints,
    mask: Ints,
    game: NDArray[np.void],
    rule: Floats,
    playing: Floats,
    worlds: int,
    space: Space,
) -> int:
    """Return the action that surely beats the rule's by most, or the rule's.

    `rule` and `playing` are the habits of the rule and of the seats in playouts.
    """
    options, table = game[0], space.tables[_WORLD]
    read_table(o, options, table)
    find_unseen(o, options, table, space.unseen)
    ruled = decide(o, mask, rule, space.draws)
    for action in range(act.NUM_ACTIONS):
        space.open[action] = mask[action] == 1 and action != ruled
        space.gain[action] = 0
        space.square[action] = 0
    luck = draw(space.word)
    for world in range(worlds):
        deal_world(options, table, space.unseen, luck, space.word)
        luck = (luck + _GOLDEN) % 1.0
        _try_actions(options, space, ruled, playing)
        if world + 1 >= FIRST_LOOK and not _keep_gaining(space):
            break
    return _surest(space, ruled, worlds)


@compiled
def _try_actions(options: Options, space: Space, ruled: int, playing: Floats) -> None:
    """Play every open action out in the dealt world, and add what it gains over the rule's."""
    by_the_rule = _play_out(options, space, ruled, playing)
    for action in range(act.NUM_ACTIONS):
        if space.open[action]:
            gain = _play_out(options, space, action, playing) - by_the_rule
            space.gain[action] += gain
            space.square[action] += gain * gain


@compiled
def _keep_gaining(space: Space) -> bool:
    """Give up the actions that have not gained so far; says whether any is left."""
    left = False
    for action in range(act.NUM_ACTIONS):
        space.open[action] = space.open[action] and space.gain[action] > 0
        left = left or space.open[action]
    return left


@compiled
def _surest(space: Space, ruled: int, worlds: int) -> int:
    """Return the open action that gained most, less its uncertainty, or the rule's if none did."""
    best, most = ruled, 0.0
    for action in range(act.NUM_ACTIONS):
        if space.open[action]:
            mean = space.gain[action] / worlds
            variance = max(space.square[action] / worlds - mean * mean, 0.0)
            gain = mean - SURE * math.sqrt(variance / worlds)
            if gain > most:
                best, most = action, gain
    return best


@compiled
def _play_out(options: Options, space: Space, action: int, playing: Floats) -> float:
    """Play an action and then by habits in the world that is dealt, and return what it paid."""
    space.tables[_PLAYOUT] = space.tables[_WORLD]
    table = space.tables[_PLAYOUT]
    apply(table, options, action)
    while table.phase != state.OVER:
        apply(table, options, _next_action(options, space, table, playing))
    return float(table.reward[0])


@compiled
def _next_action(options: Options, space: Space, table: Table, playing: Floats) -> int:
    """Return what the seat to act does by its habits, of all that it observes."""
    legal, only = 0, 0
    legal_actions(table, options, space.mask)
    for action in range(act.NUM_ACTIONS):
        if space.mask[action] == 1:
            legal += 1
            only = action
    if legal == 1:
        return only
    obs.encode(table, options, int(table.turn), space.seen)
    return decide(space.seen, space.mask, playing, space.draws)
