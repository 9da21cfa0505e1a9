"""One table dressed as a PettingZoo AEC environment; no rule of the game lives here."""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from cheat_env import actions as act
from cheat_env.dealing import match_winners
from cheat_env.observations import TRUTH, encode, truth
from cheat_env.pictures import Picture, need_pillow, picture
from cheat_env.render import ansi
from cheat_env.state import OVER
from cheat_env.tables import Tables, refuse

Observation = dict[str, NDArray[np.int8]]


class raw_env(AECEnv):  # noqa: N801  (PettingZoo's name)
    """A game of the Cheat family as an AEC environment.

    An episode is a match of `deals` deals. Agents are `player_0` ... by seat, all terminate
    together at its end, and their infos then hold the `score` and whether the `match_won`. A reward
    is paid when it is earned. A seat that is out is never selected. A deal cut at `max_plays`
    truncates the match and pays nothing.

    Observations are `{"observation": int8 (D,), "action_mask": int8 (46,)}`; the mask of a seat
    that is not to act is empty. The arrays are the caller's own.

    Args:
        variant: name of a game, mapping of house rules, or `Rules`.
        num_players: seats; None: the game's default.
        observation: "table" or "memory" (see `cheat_env.observations`).
        render_mode: "ansi" (`render` returns text), "human" (prints it), "rgb_array" (`render`
            returns a picture, uint8 (800, 1024, 3); needs the extra `pictures`) or None. All show
            everybody's hands.
        **rule_options: options of `Rules` to change.

    Raises `RulesError` where the rules can't be played, and gymnasium's `DependencyNotInstalled`
    for "rgb_array" without Pillow. `step` raises `IllegalAction` for an action that is not legal,
    and changes nothing.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 1,
        "name": "cheat_v0",
        "is_parallelizable": False,
    }

    def __init__(
        self,
        variant: Any = "english",
        num_players: int | None = None,
        *,
        observation: str = "table",
        render_mode: str | None = None,
        **rule_options: Any,
    ) -> None:
        super().__init__()
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"render_mode {render_mode!r}: must be None or one of {modes}")
        if render_mode == "rgb_array":
            need_pillow()
        self.tables = Tables(
            variant, num_players, observation=observation, auto_reset=False, **rule_options
        )
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(self.tables.num_players)]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.state_space = TRUTH.space()
        self._observation_spaces = {agent: self._new_space() for agent in self.possible_agents}
        self._action_spaces = {
            agent: spaces.Discrete(act.NUM_ACTIONS) for agent in self.possible_agents
        }
        self._seed: int | None = None
        self._deal = 0
        self._action = np.zeros(1, np.int64)

    def _new_space(self) -> spaces.Dict:
        mask = spaces.Box(0, 1, (act.NUM_ACTIONS,), np.int8)
        return spaces.Dict({"observation": self.tables.layout.space(), "action_mask": mask})

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the agent's observation space, always the same object."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the agent's action space, always the same object."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a match.

        With a seed its first match; without one the seed's next match, so that a seeded
        environment always plays the same sequence. `options={"deal": k}` picks match k.
        """
        if seed is not None:
            following = 0
        elif self._seed is None:
            seed, following = int(np.random.SeedSequence().generate_state(1, np.uint64)[0]), 0
        else:
            seed, following = self._seed, self._deal + 1
        deal = (options or {}).get("deal", following)
        self.tables.reset(seed, deal)
        self._seed, self._deal = seed, int(deal)
        self.actions_played: list[int] = []
        self.agents = self.possible_agents[:]
        paid = self.tables.reward[0].tolist()  # a match can be over as soon as it is dealt (G12)
        self.rewards = dict(zip(self.agents, paid, strict=True))
        self._cumulative_rewards = dict(self.rewards)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._select()

    def observe(self, agent: str) -> Observation:
        """Return what the agent sees now."""
        tables = self.tables
        over = self.terminations.get(agent, True) or self.truncations.get(agent, True)
        if agent == self.agent_selection and not over:
            observation, mask = tables.observation[0].copy(), tables.action_mask[0].copy()
        else:
            observation = np.empty(tables.layout.size, np.int8)
            encode(tables.state[0], tables.options, self._seat_of[agent], observation)
            mask = np.zeros(act.NUM_ACTIONS, np.int8)
        return {"observation": observation, "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play the selected agent's action, or None where it has terminated or truncated."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        tables = self.tables
        number = as_number(action)
        if not (0 <= number < act.NUM_ACTIONS and tables.action_mask[0, number]):
            raise refuse(action, self._seat_of[agent], tables.action_mask[0])
        self._action[0] = number
        tables.step(self._action)
        self.actions_played.append(number)
        self._cumulative_rewards[agent] = 0.0
        for name, reward in zip(self.agents, tables.reward[0].tolist(), strict=True):
            self.rewards[name] = reward
            self._cumulative_rewards[name] += reward
        self._select()
        if self.render_mode == "human":
            self.render()

    def _select(self) -> None:
        """Select the seat to act, or end the match for all."""
        table = self.tables.state[0]
        if table["phase"] != OVER:
            self.agent_selection = self.agents[table["turn"]]
            return
        truncated = bool(table["truncated"])
        self.terminations = dict.fromkeys(self.agents, not truncated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.agent_selection = self.agents[0]
        winners = match_winners(table, self.tables.options)
        for name, score, won in zip(self.agents, table["score"].tolist(), winners, strict=False):
            self.infos[name] = {"score": score, "match_won": bool(won)}

    def state(self) -> NDArray[np.int8]:
        """Return the whole truth, int8 (TRUTH.size,), for critics: no seat may see it."""
        return truth(self.tables.state[0], self.tables.options)

    def render(self) -> str | Picture | None:
        """Return the table as text ("ansi") or a picture ("rgb_array"), or print it ("human")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode: give one to env()")
            return None
        seen = self.tables.state[0], self.tables.options, self.tables.deck
        if self.render_mode == "rgb_array":
            return picture(*seen)
        if self.render_mode == "ansi":
            return ansi(*seen)
        print(ansi(*seen))
        return None

    def close(self) -> None:
        """Release nothing: there is nothing to release."""


def as_number(action: Any) -> int:
    """Return an action as an int; -1, which no action is, for what is no whole number."""
    try:
        return -1 if isinstance(action, bool | np.bool_) else operator.index(action)
    except TypeError:
        return -1
