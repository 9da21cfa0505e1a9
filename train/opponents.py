"""Who sits where: the learner in all seats of most tables, others in the rest.

The mixture is what keeps self-play from forgetting how to play against the honest and the rash:
rules with habits drawn anew for every deal, a few fixed ones, and whatever else plays without
learning (models too): a league seats past selves, an exploiter its one target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import Agent, load
from agents.base import ask_all
from agents.habits import DRAWS, Habits, act_by_habits
from agents.registry import RULES, HabitAgent, is_held_out
from train.config import Config, ConfigError, Opponents

SELF_PLAY, RANDOM_RULES, FIXED_RULES, AGENTS = range(4)
#: Share of tables of random rules in which all rules are alike.
ALIKE = 0.65
#: Names of opponents that are several agents.
MIXED, GUESTS = "mixed agents", "guests"
#: Who acts by the habits of its seat: all of these act in one compiled call.
BY_HABITS = -1


def refuse_held_out(config: Config) -> None:
    """Raise `ConfigError` for a rule that no training may meet (see `agents.registry`)."""
    named = {
        "opponents": (*config.opponents.fixed, *config.opponents.agents),
        "evaluation.panel": config.evaluation.panel,  # it chooses the best model
    }
    for key, names in named.items():
        for name in names:
            if is_held_out(name):
                raise ConfigError(f"{key} {name!r}: held out for evaluation, for no training")


class Seating:
    """Which seats the learner plays, and who plays the others.

    Attributes:
        kind: int8 (n,), SELF_PLAY, RANDOM_RULES, FIXED_RULES or AGENTS.
        learner: bool (n, seats), the seats that the learner plays.
        habits: float64 (n, seats, habits), the habits of the others.
        agent: int64 (n, seats), place in `agents` of who plays the seat, or BY_HABITS.
        agents: those of the config's agents that are more than habits.
        which: int64 (n,), place of the table's opponents in `names`.
        names: see `names_of`.

    Raises `ConfigError` or `AgentError` where a name is nobody's.
    """

    def __init__(
        self, opponents: Opponents, num_tables: int, num_players: int, rng: np.random.Generator
    ) -> None:
        unknown = [name for name in opponents.fixed if name not in RULES]
        if unknown:
            raise ConfigError(f"opponents.fixed {unknown[0]!r}: must be one of {', '.join(RULES)}")
        self._random = len(dict.fromkeys(opponents.fixed))
        self.names = names_of(opponents)
        self._guests = self.names.index(GUESTS) if GUESTS in self.names else -1
        self._opponents = opponents
        self._fixed = np.array([RULES[name].habits for name in opponents.fixed])
        self._rng = rng
        self._take_in({name: load(name) for name in opponents.agents})
        self.kind = np.full(num_tables, SELF_PLAY, np.int8)
        self.learner = np.ones((num_tables, num_players), np.bool_)
        self.habits = np.zeros((num_tables, num_players, len(Habits._fields)))
        self.agent = np.full((num_tables, num_players), BY_HABITS)
        self.which = np.full(num_tables, self._random)
        self.redraw(np.arange(num_tables), 0.0)

    def _take_in(self, loaded: dict[str, Agent]) -> None:
        """Note of each entry of `opponents.agents` its habits, or its place in `agents`."""
        rules = {n: agent.habits for n, agent in loaded.items() if isinstance(agent, HabitAgent)}
        self.agents = [agent for name, agent in loaded.items() if name not in rules]
        places = {name: place for place, name in enumerate(n for n in loaded if n not in rules)}
        asked, none = self._opponents.agents, np.array(Habits())
        self._agent_of = np.array([places.get(name, BY_HABITS) for name in asked], np.int64)
        self._habits_of = np.array([rules.get(name, none) for name in asked])

    def drawn(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a training goes on from, by name."""
        names = ("kind", "learner", "habits", "agent", "which")
        return {name: getattr(self, name) for name in names}

    def alone(self, tables: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the one seat (m, seats) of the learner among others, or of a guest among learners.

        Of tables (m,) where not every seat is a learner's.
        """
        guests = self.which[tables] == self._guests
        return self.learner[tables] ^ guests[:, None]

    def redraw(self, tables: NDArray[np.int64], progress: float) -> None:
        """Seat the players of a new deal at these tables; `progress` of the training is done."""
        seats = self.learner.shape[1]
        self.kind[tables] = self._kinds(progress)[tables]
        self.learner[tables] = True
        for table in tables[self.kind[tables] != SELF_PLAY]:
            self.learner[table] = False
            self.learner[table, self._rng.integers(seats)] = True
            self.agent[table] = BY_HABITS
            if self.kind[table] == AGENTS:
                self._seat_agents(table)
            elif self.kind[table] == FIXED_RULES:
                drawn = self._rng.integers(len(self._fixed))
                self.which[table] = self.names.index(self._opponents.fixed[drawn])
                self.habits[table] = self._fixed[drawn]
            else:
                self.which[table] = self._random
                if self._rng.random() < ALIKE:
                    self.habits[table] = draw_habits(self._rng)
                else:
                    self.habits[table] = [draw_habits(self._rng) for _ in range(seats)]

    def _seat_agents(self, table: int) -> None:
        """Seat copies of one agent, or one drawn for every seat; or one alone among learners."""
        alike = self._rng.random() < self._opponents.agents_alike
        seats = 1 if alike else self.learner.shape[1]
        drawn = self._rng.integers(len(self._agent_of), size=seats)
        self.agent[table] = self._agent_of[drawn]
        self.habits[table] = self._habits_of[drawn]
        name = self._opponents.agents[drawn[0]] if alike else MIXED
        self.which[table] = self.names.index(name)
        if self._opponents.guests and self._rng.random() < self._opponents.guests:
            self.learner[table] ^= True
            self.which[table] = self._guests

    def _kinds(self, progress: float) -> NDArray[np.int8]:
        """Return what each table is for, (n,)."""
        shares = self._opponents
        late = progress >= shares.turn
        asked = (
            (RANDOM_RULES, shares.late_random_rules if late else shares.random_rules),
            (FIXED_RULES, shares.late_fixed_rules if late else shares.fixed_rules),
            (AGENTS, shares.late_agent_share if late else shares.agent_share),
        )
        kinds = np.full(len(self.kind), SELF_PLAY, np.int8)
        first = 0
        for kind, share in asked:
            if kind != FIXED_RULES or len(self._fixed):
                last = first + round(len(kinds) * share)
                kinds[first:last] = kind
                first = last
        return kinds

    def act(
        self,
        observation: NDArray[np.int8],
        mask: NDArray[np.int8],
        seat: NDArray[np.int8],
        others_act: NDArray[np.bool_],
        actions: NDArray[np.int64],
    ) -> None:
        """Write the actions of those who do not learn, at the tables where one is to act."""
        everywhere = np.arange(len(seat))
        habits = self.habits[everywhere, seat]
        draws = self._rng.random((len(seat), DRAWS))
        if not self.agents:
            act_by_habits(observation, mask, habits, draws, others_act, actions)
            return
        acting = self.agent[everywhere, seat]
        by_habits = others_act & (acting == BY_HABITS)
        act_by_habits(observation, mask, habits, draws, by_habits, actions)
        actor = np.where(others_act, acting, BY_HABITS)
        ask_all(self.agents, actor, observation, mask, self._rng, actions)


def names_of(opponents: Opponents) -> tuple[str, ...]:
    """Return the names of opponents by which a training keeps its record.

    The fixed rules, "random rules", the agents, "mixed agents" if they sit together, and "guests".
    """
    mixed = (MIXED,) if opponents.agents and opponents.agents_alike < 1 else ()
    guests = (GUESTS,) if opponents.agents and opponents.guests else ()
    rules = (*opponents.fixed, "random rules")
    return tuple(dict.fromkeys((*rules, *opponents.agents, *mixed, *guests)))


def draw_habits(rng: np.random.Generator) -> Habits:
    """Draw a rule: a third are nearly honest, the others lie and challenge by any measure.

    Some challenge where they lack the rank that they must claim next, so that a claim of theirs
    says more than one of the rest. They lie at times: `prudent`, which never does, is held out.
    """
    u = rng.random(15)
    if u[0] < 0.35:
        return Habits(lie=0.12 * u[1], call=0.12 * u[2], guard=float(u[3] < 0.6))
    needs = u[14] < 0.2
    call = 0.0 if u[4] < 0.45 else 0.9 * u[5] ** 2 if u[4] < 0.9 else 1.0
    return Habits(
        lie=0.0 if u[6] < 0.4 and not needs else 0.1 + 0.8 * u[7],
        call=call,
        certain=float(u[8] < 0.85),
        guard=float(u[3] < 0.5),
        odds=1.0 if u[9] < 0.5 else 0.3 + 0.7 * u[10],
        extra=u[11] if u[0] < 0.7 else 0.0,
        mix=0.5 * u[12] if u[0] > 0.8 else 0.0,
        noise=u[13],
        needs=float(needs),
    )
