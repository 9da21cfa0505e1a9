"""Where OpenSpiel is installed: its best responses against those of `train.solver`, to 1e-9.

A small game of the family is offered to OpenSpiel as one of its Python games, whose state is the
engine's and whose information states are told in words; nothing of `train.tree` is used for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sequence_forms import Decision, End, sequence_form
from test_exact import miniature

from cheat_env import Rules
from cheat_env import actions as act
from cheat_env.engine import apply, legal_actions
from cheat_env.state import OVER
from train.lines import deals
from train.solver import Game, Policy, exploitability, solve, uniform, value
from train.tree import write_out

pyspiel = pytest.importorskip("pyspiel")
openspiel = pytest.importorskip("open_spiel.python.algorithms.exploitability")
policies = pytest.importorskip("open_spiel.python.policy")
evaluation = pytest.importorskip("open_spiel.python.algorithms.expected_game_score")

#: Less of the miniature: shorter, and with a smaller deck.
SMALL = [miniature(max_plays=3), miniature(copies=1, max_plays=6)]

TYPE = pyspiel.GameType(
    short_name="cheat_miniature",
    long_name="Cheat, miniature",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=False,
    provides_observation_tensor=False,
)


class Miniature(pyspiel.Game):
    """A small game as OpenSpiel knows games."""

    def __init__(self, rules: Rules) -> None:
        self.roots, self.chance = deals(rules)
        self.options = np.array([rules.options(2)])
        about = pyspiel.GameInfo(
            num_distinct_actions=act.NUM_ACTIONS,
            max_chance_outcomes=len(self.roots),
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=3 * rules.max_plays,
        )
        super().__init__(TYPE, about, {})

    def new_initial_state(self) -> Deal:
        return Deal(self)


class Deal(pyspiel.State):
    """A deal in play; chance chooses it first."""

    def __init__(self, game: Miniature) -> None:
        super().__init__(game)
        self.roots, self.chance, self.options = game.roots, game.chance, game.options
        self.room: NDArray[np.void] | None = None
        self.told = ["", ""]

    def current_player(self) -> int:
        if self.room is None:
            return int(pyspiel.PlayerId.CHANCE)
        if self.room["phase"][0] == OVER:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(self.room["turn"][0])

    def is_terminal(self) -> bool:
        return self.room is not None and self.room["phase"][0] == OVER

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return list(enumerate(self.chance.tolist()))

    def _legal_actions(self, player: int) -> list[int]:
        mask = np.zeros(act.NUM_ACTIONS, np.int8)
        legal_actions(self.room[0], self.options[0], mask)
        return np.flatnonzero(mask).tolist()

    def _apply_action(self, action: int) -> None:
        if self.room is None:
            self.room = self.roots[action : action + 1].copy()
        else:
            seat, word = self.current_player(), act.name(action)
            apply(self.room[0], self.options[0], action)
            if action == act.CHALLENGE:
                word += f" of {self.room['turned_up'][0].tolist()}"
            self.told[seat] += f" I {word}"
            self.told[1 - seat] += " pick" if action < act.LAY else f" {word}"
        for seat in (0, 1):
            self.told[seat] += f" holding {self.room['hand'][0, seat].tolist()}"

    def _action_to_string(self, player: int, action: int) -> str:
        return str(action)

    def information_state_string(self, player: int | None = None) -> str:
        return self.told[self.current_player() if player is None else player]

    def returns(self) -> list[float]:
        won = float(self.room["reward"][0, 0]) if self.is_terminal() else 0.0
        return [won, -won]

    def __str__(self) -> str:
        return " | ".join(self.told)


def ends_of(state: Any, chance: float = 1.0, path: tuple[Decision, ...] = ()) -> list[End]:
    """Return all ends of an OpenSpiel game."""
    if state.is_terminal():
        return [(chance, state.returns()[0], list(path))]
    found = []
    if state.is_chance_node():
        for action, probability in state.chance_outcomes():
            found += ends_of(state.child(action), chance * probability, path)
        return found
    seat, legal = state.current_player(), state.legal_actions()
    told = state.information_state_string()
    for i, action in enumerate(legal):
        step = Decision(seat, told, i, len(legal))
        found += ends_of(state.child(action), chance, (*path, step))
    return found


def tabular(game: Any, policy: Policy, places: tuple[dict[str, int], dict[str, int]]) -> Any:
    """Return a policy as OpenSpiel's table."""
    table = policies.TabularPolicy(game)
    for own, found in zip(places, policy, strict=True):
        for told, place in own.items():
            row = table.policy_for_key(told)
            legal = table.legal_actions_mask[table.state_lookup[told]] == 1
            row[legal] = found[place : place + legal.sum()]
    return table


def compare(spiel: Any, game: Game, places: Any, policy: Policy) -> None:
    """Check the value and the exploitability of a policy."""
    table = tabular(spiel, policy, places)
    theirs = openspiel.nash_conv(spiel, table) / 2
    assert exploitability(game, policy) == pytest.approx(theirs, abs=1e-9)
    score = evaluation.policy_value(spiel.new_initial_state(), [table, table])
    assert value(game, policy) == pytest.approx(score[0], abs=1e-9)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_poker_is_solved_alike(name: str) -> None:
    """Its own small games: uniform play, and solutions of more and less iterations."""
    spiel = pyspiel.load_game(name)
    game, places = sequence_form(ends_of(spiel.new_initial_state()))
    for policy in (uniform(game), solve(game, 3), solve(game, 100)):
        compare(spiel, game, places, policy)


@pytest.mark.parametrize("rules", SMALL, ids=["short", "small deck"])
def test_a_small_game_is_solved_alike(rules: Rules) -> None:
    """OpenSpiel walks the engine by itself, and `train.tree` finds the same exploitabilities."""
    spiel = Miniature(rules)
    game, places = sequence_form(ends_of(spiel.new_initial_state()))
    for policy in (uniform(game), solve(game, 3), solve(game, 100)):
        compare(spiel, game, places, policy)
    written = write_out(rules).game
    for iterations in (1, 3, 100):
        ours, same = (solve(one, iterations) for one in (written, game))
        assert exploitability(written, ours) == pytest.approx(exploitability(game, same), abs=1e-9)
        assert value(written, ours) == pytest.approx(value(game, same), abs=1e-9)
    assert exploitability(written, uniform(written)) == pytest.approx(
        exploitability(game, uniform(game)), abs=1e-9
    )
