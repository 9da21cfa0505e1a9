"""One learner's seat among agents as a Stable-Baselines3 `VecEnv`, with sb3-contrib's masks.

    from sb3_contrib import MaskablePPO
    from agents.vec_env import CheatVecEnv

    env = CheatVecEnv(64, "russian", num_players=4, opponents=["honest", "counter", "random"])
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=1024).learn(20_000)

Observations are counts and flags, int8 and mostly small; SB3's policies take them as floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from agents.gym_env import CheatVectorEnv
from cheat_env import RulesError


class CheatVecEnv(VecEnv):
    """`CheatVectorEnv` in SB3's dress; the arguments are its own.

    One generator serves all tables, so `seed` gives all of them one seed. At the end of an episode
    its info has the "terminal_observation", the learner's "seat", its "score" and whether the
    "match_won".
    """

    def __init__(self, num_envs: int = 1, *arguments: Any, **options: Any) -> None:
        self._env = CheatVectorEnv(num_envs, *arguments, **options)
        space = self._env.single_observation_space
        super().__init__(num_envs, space, self._env.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Let the next reset begin with the first match of a seed; None: of one drawn anew."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._seeds = [seed] * self.num_envs
        return self._seeds

    def reset(self) -> NDArray[np.int8]:
        """Begin an episode at every table and return what the learner sees, int8 (n, D).

        Of `set_options`, "deal" and "seat" are heeded; a mapping must name them for all tables.
        """
        names = set(self._options[0])
        if any(set(options) != names for options in self._options):
            raise RulesError("options: must name the same things for every table")
        options = {name: [options[name] for options in self._options] for name in names}
        seen, _ = self._env.reset(seed=self._seeds[0], options=options)
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take the learner's actions, int (n,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play them and return observations, rewards float32 (n,), ends bool (n,) and infos.

        Raises as `CheatVectorEnv.step`.
        """
        seen, earned, terminated, truncated, infos = self._env.step(self._actions)
        cut = (truncated & ~terminated).tolist()
        told: list[dict[str, Any]] = [{"TimeLimit.truncated": flag} for flag in cut]
        for t in np.flatnonzero(terminated | truncated).tolist():
            final = infos["final_info"]
            told[t]["terminal_observation"] = infos["final_obs"][t]
            told[t] |= {key: final[key][t].item() for key in ("seat", "score", "match_won")}
        return seen, earned.astype(np.float32), terminated | truncated, told

    def close(self) -> None:
        """Release nothing: there is nothing to release."""
        self._env.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the tables, which all share it."""
        value = getattr(self._env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: tables have nothing that could be set."""
        raise AttributeError(f"{attr_name}: the tables of a CheatVecEnv have nothing to set")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Return what a method gives for each table: "action_masks" or "render"."""
        found = getattr(self._env, method_name)(*method_args, **method_kwargs)
        return [found[t] for t in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: VecEnvIndices = None) -> list[bool]:
        """Return that no table is wrapped."""
        return [False for _ in self._get_indices(indices)]
