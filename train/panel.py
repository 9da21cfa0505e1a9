"""The panel: what a policy in training takes from a few fixed opponents, time and again.

A training's own figures are of opponents that change with it; the panel's are not. The model whose
worst result is best is kept beside the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents import load
from agents.learned import CheatPolicy, LearnedAgent
from cheat_env import Rules
from train import evaluate
from train.config import Config, Game
from train.networks import OBSERVATION
from train.solver import exploitability
from train.tree import look, policy_of, write_out

#: The policy's name among the opponents.
OWN = "policy in training"
EXPLOITABILITY = "exploitability"


class Panel:
    """The opponents of `evaluation.panel` at every game and number of seats of a training.

    Attributes:
        names: of the results: the opponent, and the game and seats where there are several;
            and with `evaluation.exact` "exploitability".

    Raises `RulesError` where exploitability is asked for of a game that can't be written out.
    """

    def __init__(self, config: Config) -> None:
        asked, game = config.evaluation, config.game
        self._agents = {name: load(name) for name in asked.panel}
        self._evaluation = evaluate.Evaluation(evaluate.ONE_VS_REST, asked.seed, [], {})
        if asked.panel:
            self._evaluation = planned(game, OWN, asked.panel, asked.panel_deals, asked.seed)
        several = len(game.games()) > 1
        self.names = [
            cell.lineup[1] + f" {cell.variant} {cell.players}" * several
            for cell in self._evaluation.cells
        ]
        self._tree = None
        if asked.exact:
            self._tree = write_out(Rules.load(game.rooms()[0][0], **game.rules))
            self._seen = look(self._tree, OBSERVATION)
            self.names.append(EXPLOITABILITY)

    def measure(self, policy: CheatPolicy) -> dict[str, float]:
        """Return by name what the policy takes, in equal shares; truncated deals don't count."""
        own = LearnedAgent(OWN, policy)
        cells = evaluate.evaluate(self._evaluation, self._agents | {OWN: own})["cells"]
        found = [(cell["agents"][OWN]["share"]["mean"] or 0.0) / cell["equal"] for cell in cells]
        if self._tree:
            policies = policy_of(own, self._seen, draws=1, seed=0)  # its chances are exact
            found.append(exploitability(self._tree.game, policies))
        return dict(zip(self.names, found, strict=True))


def score(found: Mapping[str, float]) -> float:
    """Return what the best model has most of: its worst result, or of exploitability the least."""
    return -found[EXPLOITABILITY] if EXPLOITABILITY in found else min(found.values())


def planned(
    game: Game, name: str, against: Sequence[str], deals: int, seed: int
) -> evaluate.Evaluation:
    """Return an evaluation of one agent at every game and number of seats of a training."""
    plans = [
        evaluate.plan(
            evaluate.ONE_VS_REST, [variant], [seats], [name], against, deals, seed, game.rules
        )
        for variant, seats in game.games()
    ]
    cells = [cell for plan in plans for cell in plan.cells]
    return plans[0]._replace(cells=cells)
