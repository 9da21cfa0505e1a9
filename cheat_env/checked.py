"""`env()`: the environment with PettingZoo's usual guards built in.

It does what OrderEnforcingWrapper, AssertOutOfBoundsWrapper and TerminateIllegalWrapper do, with
their messages; the wrappers themselves forward every attribute, which costs more than the game.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from pettingzoo.utils import turn_based_aec_to_parallel
from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from cheat_env.actions import NUM_ACTIONS
from cheat_env.aec import Observation, as_number, raw_env
from cheat_env.pictures import Picture

#: What a seat gets that ends the game by an illegal action.
ILLEGAL_REWARD = -1.0
#: Attributes that there are from the first `reset` on.
OF_A_GAME = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos")


class CheckedEnv(raw_env):
    """`raw_env` for everybody's hands; arguments as there.

    An action outside the space is an AssertionError. A masked one ends the game for all, with
    reward -1 for the seat that took it and 0 for the others, and a warning. Calls before `reset`,
    and loops over `agent_iter` that do not step, are AssertionErrors.
    """

    def __getattr__(self, name: str) -> Any:
        """Say of what a game would have that there is none yet."""
        if name in OF_A_GAME:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _has_game(self) -> bool:
        return "agents" in self.__dict__

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a match; see `raw_env.reset`."""
        super().reset(seed, options)
        self.has_moved = True

    def step(self, action: int | None) -> None:
        """Play the selected agent's action, or None where it has terminated or truncated."""
        if not self._has_game:
            EnvLogger.error_step_before_reset()
        self.has_moved = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            super().step(action)
            return
        number = as_number(action)
        if not 0 <= number < NUM_ACTIONS:
            raise AssertionError("action is not in action space")
        if self.tables.action_mask[0, number]:
            super().step(number)
        else:
            self._end_illegally(agent)

    def _end_illegally(self, agent: str) -> None:
        EnvLogger.warn_on_illegal_move()
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0) | {agent: ILLEGAL_REWARD}
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """Return what the agent sees now."""
        if not self._has_game:
            EnvLogger.error_observe_before_reset()
        return super().observe(agent)

    def state(self) -> NDArray[np.int8]:
        """Return the whole truth; see `raw_env.state`."""
        if not self._has_game:
            EnvLogger.error_state_before_reset()
        return super().state()

    def render(self) -> str | Picture | None:
        """Return or print the table; see `raw_env.render`."""
        if not self._has_game:
            EnvLogger.error_render_before_reset()
        return super().render()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable:
        """Yield the agent to act; each turn of the loop must step."""
        if not self._has_game:
            EnvLogger.error_agent_iter_before_reset()
        return _Moves(self, max_iter)


class _Moves(AECIterable):
    def __iter__(self) -> Iterator[str]:
        return _MovesIterator(self.env, self.max_iter)


class _MovesIterator(AECIterator):
    def __next__(self) -> str:
        agent: str = super().__next__()
        if not self.env.has_moved:
            raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
        self.env.has_moved = False
        return agent


def env(
    variant: Any = "english",
    num_players: int | None = None,
    *,
    observation: str = "table",
    render_mode: str | None = None,
    **rule_options: Any,
) -> CheckedEnv:
    """Return the environment with PettingZoo's usual guards; arguments as for `raw_env`."""
    return CheckedEnv(
        variant, num_players, observation=observation, render_mode=render_mode, **rule_options
    )


def parallel_env(
    variant: Any = "english",
    num_players: int | None = None,
    *,
    observation: str = "table",
    render_mode: str | None = None,
    **rule_options: Any,
) -> ParallelEnv:
    """Return the environment by PettingZoo's turn-based conversion; only the seat to act acts."""
    made = env(
        variant, num_players, observation=observation, render_mode=render_mode, **rule_options
    )
    return turn_based_aec_to_parallel(made)
