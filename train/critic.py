"""The critic: it sees the whole table, in training only, and values what a seat will be paid.

A seat guesses at hidden cards; whoever teaches it need not. Advantages that know the cards are less
noisy, and what the policy reads stays what a seat may see (K1, K2).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from agents.learned import Dense
from cheat_env.cards import JOKER, SLOTS
from cheat_env.compiled import compiled
from cheat_env.engine import around, base_rank
from cheat_env.observations import OTHERS
from cheat_env.options import Options
from cheat_env.state import State, Table

#: What it sees beyond the observation, int8: the hands of the other seats from the next one on, the
#: group that can be challenged and the closed groups, (9, 14) by relative rank.
HIDDEN = (OTHERS + 2) * SLOTS
#: Usual size of these numbers, to scale by.
SCALE = 4.0
#: As the library has it for the policy.
ADAM_EPS = 1e-5
_GROUP, _PILE = OTHERS, OTHERS + 1


class Critic(nn.Module):
    """Dense layers on the observation and the hidden cards, and the value prior.

    Args:
        scale: float32 (D,), the usual size of each number of the observation.
        hidden: widths of the layers.
        value_prior: whether to begin from the value prior.
    """

    def __init__(
        self, scale: NDArray[np.float32], hidden: tuple[int, ...], value_prior: bool = True
    ) -> None:
        super().__init__()
        self._prior_weight = float(value_prior)
        self.dense = Dense(np.append(scale, np.full(HIDDEN, SCALE, np.float32)), hidden)
        self.value = nn.Linear(hidden[-1], 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)
        self.optimizer = torch.optim.Adam(self.parameters(), eps=ADAM_EPS, fused=True)

    def forward(
        self, seen: torch.Tensor, prior: torch.Tensor, columns: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return values (n,) of observations with the hidden cards behind them, (n, D + 126)."""
        features = self.dense(seen, columns).float()
        with torch.autocast("cpu", enabled=False):
            return self.value(features)[:, 0] + self._prior_weight * prior

    def save(self, path: Path) -> None:
        """Write the weights and the optimiser's state."""
        torch.save({"weights": self.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def restore(self, path: Path, optimizer: bool = True) -> None:
        """Take over what `save` wrote, with or without the optimiser's state."""
        saved = torch.load(path, weights_only=True)
        self.load_state_dict(saved["weights"])
        if optimizer:
            self.optimizer.load_state_dict(saved["optimizer"])


@compiled
def see_hidden(state: State, game: NDArray[np.void], hidden: NDArray[np.int8]) -> None:
    """Write what the seat to act at every table does not see, into `hidden`, int8 (n, HIDDEN)."""
    for t in range(len(state)):
        _see_table(state[t], game[0], hidden[t].reshape(OTHERS + 2, SLOTS))


@compiled
def _see_table(table: Table, options: Options, rows: NDArray[np.int8]) -> None:
    rows[:] = 0
    players, ranks, base = int(options.players), int(options.num_ranks), base_rank(table)
    for slot in range(SLOTS):
        if slot >= ranks and slot != JOKER:
            continue
        r = slot if slot == JOKER else around(slot - base, ranks)
        other = int(table.turn)
        rows[_PILE, r] = table.pile[other, slot]
        for i in range(players - 1):
            other = around(other + 1 - players, players)
            rows[i, r] = table.hand[other, slot]
            rows[_PILE, r] += table.pile[other, slot]
        rows[_GROUP, r] = table.group[slot]
