"""Who sits where: the learner in all seats of most tables, rules in the rest.

The mixture is what keeps self-play from forgetting how to play against the honest and the rash:
rules with habits drawn anew for every deal, and a few fixed ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.habits import DRAWS, Habits, act_by_habits
from agents.registry import RULES
from train.config import ConfigError, Opponents

SELF_PLAY, RANDOM_RULES, FIXED_RULES = range(3)
#: Share of tables of random rules in which all rules are alike.
ALIKE = 0.65


class Seating:
    """Which seats the learner plays, and the habits of the others.

    Attributes:
        kind: int8 (n,), SELF_PLAY, RANDOM_RULES or FIXED_RULES.
        learner: bool (n, seats), the seats that the learner plays.
        habits: float64 (n, seats, 8), the habits of the others.
        which: int64 (n,), place of the table's opponents in `names`.
        names: the fixed rules, then "random rules".
    """

    def __init__(
        self, opponents: Opponents, num_tables: int, num_players: int, rng: np.random.Generator
    ) -> None:
        unknown = [name for name in opponents.fixed if name not in RULES]
        if unknown:
            raise ConfigError(f"opponents.fixed {unknown[0]!r}: must be one of {', '.join(RULES)}")
        self.names = (*dict.fromkeys(opponents.fixed), "random rules")
        self._opponents = opponents
        self._fixed = np.array([RULES[name].habits for name in opponents.fixed])
        self.kind = np.full(num_tables, SELF_PLAY, np.int8)
        self.learner = np.ones((num_tables, num_players), np.bool_)
        self.habits = np.zeros((num_tables, num_players, len(Habits._fields)))
        self.which = np.full(num_tables, len(self.names) - 1)
        self._rng = rng
        self.redraw(np.arange(num_tables), 0.0)

    def redraw(self, tables: NDArray[np.int64], progress: float) -> None:
        """Seat the players of a new deal at these tables; `progress` of the training is done."""
        seats = self.learner.shape[1]
        self.kind[tables] = self._kinds(progress)[tables]
        self.learner[tables] = True
        for table in tables[self.kind[tables] != SELF_PLAY]:
            self.learner[table] = False
            self.learner[table, self._rng.integers(seats)] = True
            self.which[table] = len(self.names) - 1
            if self.kind[table] == FIXED_RULES:
                drawn = self._rng.integers(len(self._fixed))
                self.which[table] = self.names.index(self._opponents.fixed[drawn])
                self.habits[table] = self._fixed[drawn]
            elif self._rng.random() < ALIKE:
                self.habits[table] = draw_habits(self._rng)
            else:
                self.habits[table] = [draw_habits(self._rng) for _ in range(seats)]

    def _kinds(self, progress: float) -> NDArray[np.int8]:
        """Return what each table is for, (n,)."""
        late = progress >= self._opponents.turn
        shares = self._opponents
        random = shares.late_random_rules if late else shares.random_rules
        fixed = shares.late_fixed_rules if late else shares.fixed_rules
        first = round(len(self.kind) * random)
        last = first + (round(len(self.kind) * fixed) if len(self._fixed) else 0)
        kinds = np.full(len(self.kind), SELF_PLAY, np.int8)
        kinds[:first] = RANDOM_RULES
        kinds[first:last] = FIXED_RULES
        return kinds

    def act(
        self,
        observation: NDArray[np.int8],
        mask: NDArray[np.int8],
        seat: NDArray[np.int8],
        rules_act: NDArray[np.bool_],
        actions: NDArray[np.int64],
    ) -> None:
        """Write the actions of the rules, at the tables where one is to act."""
        habits = self.habits[np.arange(len(seat)), seat]
        draws = self._rng.random((len(seat), DRAWS))
        act_by_habits(observation, mask, habits, draws, rules_act, actions)


def draw_habits(rng: np.random.Generator) -> Habits:
    """Draw a rule: a third are nearly honest, the others lie and challenge by any measure."""
    u = rng.random(14)
    if u[0] < 0.35:
        return Habits(lie=0.12 * u[1], call=0.12 * u[2], guard=float(u[3] < 0.6))
    call = 0.0 if u[4] < 0.45 else 0.9 * u[5] ** 2 if u[4] < 0.9 else 1.0
    return Habits(
        lie=0.0 if u[6] < 0.4 else 0.9 * u[7],
        call=call,
        certain=float(u[8] < 0.85),
        guard=float(u[3] < 0.5),
        odds=1.0 if u[9] < 0.5 else 0.3 + 0.7 * u[10],
        extra=u[11] if u[0] < 0.7 else 0.0,
        mix=0.5 * u[12] if u[0] > 0.8 else 0.0,
        noise=u[13],
    )
