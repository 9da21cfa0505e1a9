"""What a player is: it sees observations and masks, and answers with actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cheat_env.actions import NUM_ACTIONS
from cheat_env.observations import layout
from cheat_env.tables import IllegalAction

#: No agent is to act at a table: its deal is over, or another is asked.
NOBODY = -1
#: Rule options that make single deals of whatever match a game is made.
SINGLE_DEALS: dict[str, Any] = {"deals": 1, "until": None}


class AgentError(ValueError):
    """A name that is no agent, or a file that holds none; the message says which and why."""


@runtime_checkable
class Agent(Protocol):
    """A player of any seat of any game; it never sees a state.

    Attributes:
        name: how it is called in tables.
        observation: which observation it reads, "table" or "memory".
    """

    name: str
    observation: str

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action (n,) for each observation (n, D) and mask (n, 46).

        All chance comes from `rng`, so that equal generators give equal actions.
        """
        ...


@runtime_checkable
class Mixing(Agent, Protocol):
    """A player that can tell with which probabilities it acts."""

    def probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Return the probability of each action, (n, 46), for observations (n, D), masks (n, 46).

        `act` draws from them. Those of a row add up to 1, and are 0 where the mask is.
        """
        ...


def ask(
    agent: Agent,
    observation: NDArray[np.int8],
    action_mask: NDArray[np.int8],
    rng: np.random.Generator,
    name: str | None = None,
) -> NDArray[np.int64]:
    """Return an agent's actions (n,), after a look whether it may take them.

    Args:
        agent: who acts.
        observation: int8 (n, D), what it reads or more: `table` is a prefix of `memory`.
        action_mask: int8 (n, 46).
        rng: what its chance comes from.
        name: how it is called where it is refused; None: by its own name.

    Raises `IllegalAction`, naming the agent, for anything but n legal actions.
    """
    seen = np.ascontiguousarray(observation[:, : layout(agent.observation).size])
    found = agent.act(seen, action_mask, rng)
    actions = np.asarray(found, dtype=None if isinstance(found, np.ndarray) else object)
    who, rows = f"agent {name or agent.name}", np.arange(len(action_mask))
    if actions.dtype.kind not in "iu" or actions.shape != rows.shape:
        raise IllegalAction(
            f"{who}: returned {actions.dtype} {actions.shape}: must be integers {rows.shape}"
        )
    known = (actions >= 0) & (actions < NUM_ACTIONS)
    chosen = np.where(known, actions, 0).astype(np.int64)
    legal = known & (action_mask[rows, chosen] == 1)
    if not legal.all():
        wrong = int(np.argmin(legal))
        allowed = np.flatnonzero(action_mask[wrong]).tolist()
        raise IllegalAction(f"{who}: action {actions[wrong]} is illegal; legal: {allowed}")
    return chosen


def ask_all(
    agents: Sequence[Agent],
    actor: NDArray[np.int64],
    observation: NDArray[np.int8],
    action_mask: NDArray[np.int8],
    rng: np.random.Generator,
    actions: NDArray[np.int64],
    names: Sequence[str] | None = None,
) -> None:
    """Write the actions of agents, each for all its rows at once; others stay as they are.

    Args:
        agents: who acts.
        actor: int64 (n,), the place in `agents` of who acts in a row; any other number: nobody.
        observation: int8 (n, D), as for `ask`.
        action_mask: int8 (n, 46).
        rng: what their chance comes from, in the order of `agents`.
        actions: int64 (n,), written to.
        names: how they are called where one is refused; None: by their own names.

    Raises what `ask` does.
    """
    for place, agent in enumerate(agents):
        rows = np.flatnonzero(actor == place)
        if len(rows):
            seen, mask = observation.take(rows, axis=0), action_mask.take(rows, axis=0)
            actions[rows] = ask(agent, seen, mask, rng, names[place] if names else None)
