"""One learner's seat among agents as Gymnasium environments, a single one and many at once.

import cheat_env, gymnasium

env = gymnasium.make("cheat_env/Cheat-v0", variant="russian", opponents="counter")
many = gymnasium.make_vec("cheat_env/Cheat-v0", num_envs=64, variant="russian")
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from agents.single_seat import SingleSeat
from cheat_env import IllegalAction
from cheat_env.actions import NUM_ACTIONS
from cheat_env.aec import as_number
from cheat_env.checks import whole


def _refuse_mode(mode: str | None, modes: list[str]) -> None:
    """Raise ValueError for a render_mode that there is not."""
    if mode is not None and mode not in modes:
        raise ValueError(f"render_mode {mode!r}: must be None or one of {', '.join(modes)}")


class CheatEnv(gymnasium.Env[NDArray[np.int8], int]):
    """One seat of a game as a Gymnasium environment; episodes and arguments as of `SingleSeat`.

    Observations are int8 (D,), actions 0 .. 45; infos hold the "action_mask", int8 (46,), and the
    learner's "seat", at the end also its "score" and whether the "match_won".

    Args:
        variant: name of a game, mapping of house rules, or `Rules`.
        num_players: seats; None: the game's default.
        opponents: one for all other seats, or one for each, clockwise from the learner.
        seat: the learner's; None: drawn for every match.
        observation: "table" or "memory".
        render_mode: "ansi" (`render` returns text), "human" (prints it) or None; both show what
            the learner sees.
        **rule_options: options of `Rules` to change.

    Raises `RulesError` or `AgentError` where rules or arguments can't be played.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["human", "ansi"], "render_fps": 1}

    def __init__(
        self,
        variant: Any = "english",
        num_players: int | None = None,
        opponents: Any = "honest",
        seat: int | None = None,
        *,
        observation: str = "memory",
        render_mode: str | None = None,
        **rule_options: Any,
    ) -> None:
        _refuse_mode(render_mode, self.metadata["render_modes"])
        self.play = SingleSeat(
            variant, num_players, 1, opponents, seat, observation, **rule_options
        )
        self.render_mode = render_mode
        self.observation_space = self.play.layout.space()
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Begin an episode and return what the learner sees first, and the info.

        With a seed the seed's first match; without one the next, so that a seeded environment
        plays the same sequence. `options={"deal": k}` picks match k, `{"seat": s}` the seat.
        """
        super().reset(seed=seed)
        self.play.begin(seed, options, self.np_random)
        self._over = False
        if self.render_mode == "human":
            self.render()
        return self.play.observe()[0], self._info()

    def step(self, action: int) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Play the learner's action, and on to its next decision or the end.

        An illegal action ends the episode, with reward -1 and a warning. Raises `IllegalAction`
        for what is no action at all, and `ResetNeeded` where no episode is going on.
        """
        number = as_number(action)
        if not 0 <= number < NUM_ACTIONS:
            raise IllegalAction(f"action {action!r}: must be a whole number from 0 to 45")
        if self._over:
            raise ResetNeeded("step: there is no episode, or it is over: call reset")
        earned = self.play.step(np.array([number]), self.np_random)
        terminated, truncated = bool(self.play.terminated[0]), bool(self.play.truncated[0])
        self._over = terminated or truncated
        if self.render_mode == "human":
            self.render()
        info = self._info() | (self.play.result(0) if self._over else {})
        return self.play.observe()[0], float(earned[0]), terminated, truncated, info

    def _info(self) -> dict[str, Any]:
        infos = self.play.infos()
        return {"action_mask": infos["action_mask"][0], "seat": int(infos["seat"][0])}

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal now, bool (46,), as sb3-contrib asks for it."""
        return self.play.tables.action_mask[0] == 1

    def render(self) -> str | None:
        """Return what the learner sees as text ("ansi") or print it ("human")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode: give one to make()")
            return None
        picture = self.play.picture(0)
        if self.render_mode == "ansi":
            return picture
        print(picture)
        return None


class CheatVectorEnv(VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """One seat at each of n tables as a Gymnasium vector environment, with same-step autoreset.

    Arguments as of `CheatEnv`, before them `num_envs`. Table i of a seed plays the matches of
    table i of `Tables`; with one table this is `CheatEnv`. All agents act at all tables at
    once and draw from one generator, so what they do depends on how many tables there are.

    Where an episode ends, observation and info are those of the next one already; the last ones
    are in infos["final_obs"] and infos["final_info"], as in Gymnasium's own vector environments.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["ansi"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        variant: Any = "english",
        num_players: int | None = None,
        opponents: Any = "honest",
        seat: int | None = None,
        *,
        observation: str = "memory",
        render_mode: str | None = None,
        **rule_options: Any,
    ) -> None:
        _refuse_mode(render_mode, self.metadata["render_modes"])
        self.num_envs = whole("num_envs", num_envs, 1, 2**31)
        self.play = SingleSeat(
            variant, num_players, num_envs, opponents, seat, observation, **rule_options
        )
        self.render_mode = render_mode
        self.single_observation_space = self.play.layout.space()
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Begin an episode at every table; see `CheatEnv.reset`.

        The options "deal" and "seat" are one number, or one for each table.
        """
        super().reset(seed=seed)
        self.play.begin(seed, options, self.np_random)
        self._begun = True
        return self.play.observe(), self._with_infos({})

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Play the learner's action at every table, and on; see `CheatEnv.step`."""
        chosen = np.asarray(actions)
        if chosen.dtype.kind not in "iu" or chosen.shape != (self.num_envs,):
            raise IllegalAction(
                f"actions {chosen.dtype} {chosen.shape}: must be integers {(self.num_envs,)}"
            )
        outside = np.flatnonzero((chosen < 0) | (chosen >= NUM_ACTIONS))
        if len(outside):
            raise IllegalAction(
                f"action {chosen[outside[0]]} of table {outside[0]}: must be from 0 to 45"
            )
        if not self._begun:
            raise ResetNeeded("step: there is no episode: call reset")
        play = self.play
        earned = play.step(chosen.astype(np.int64), self.np_random)
        terminated, truncated = play.terminated, play.truncated
        ended = terminated | truncated
        infos: dict[str, Any] = {}
        if ended.any():
            infos = self._final_infos(ended)
            play.begin_next(ended, self.np_random)
        return play.observe(), earned, terminated, truncated, self._with_infos(infos)

    def _final_infos(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the last observations and infos of episodes, laid out by Gymnasium."""
        found: dict[str, Any] = {}
        seen, infos = self.play.observe(), self.play.infos()
        for t in np.flatnonzero(ended).tolist():
            info = {key: values[t] for key, values in infos.items()} | self.play.result(t)
            found = self._add_info(found, {"final_obs": seen[t], "final_info": info}, t)
        return found

    def _with_infos(self, infos: dict[str, Any]) -> dict[str, Any]:
        for key, values in self.play.infos().items():
            infos |= {key: values, f"_{key}": np.ones(self.num_envs, np.bool_)}
        return infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal now, bool (n, 46)."""
        return self.play.tables.action_mask == 1

    def render(self) -> tuple[str, ...] | None:
        """Return what the learner sees at every table, as text."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode: give one to make_vec()")
            return None
        return tuple(map(self.play.picture, range(self.num_envs)))
