"""What a player is: it sees observations and masks, and answers with actions."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


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
