"""How long the deals of every published game are, and what three players do in them, as Markdown.

    python benchmarks/variants.py

All seats of a table are taken by the same player. Deal number k is dealt from (seed, k), so all
players meet the same cards; of a match only the first deal is played.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from agents import load
from cheat_env import Rules, RulesWarning, Tables, variants
from cheat_env import actions as act
from cheat_env.state import CLAIM_OUTCOME, LIE, OVER

PLAYERS = ("honest", "counter", "random")
COLUMNS = (
    *("game", "seats", "plays", "longest", "truncated", "decisions"),
    *("challenges", "right", "passes", "believes"),
)


class Played(NamedTuple):
    """What was counted in the deals of one game: lists by deal, and sums."""

    plays: list[int]
    truncated: int
    decisions: int
    challenges: int
    right: int
    passes: int
    believes: int

    def row(self, game: str, seats: int) -> tuple[str, ...]:
        """Return a row of the table: means a deal, and shares."""
        deals = len(self.plays)
        return (
            f"`{game}`",
            f"{seats}",
            f"{sum(self.plays) / deals:.1f}",
            f"{max(self.plays)}",
            f"{self.truncated / deals:.1%}",
            f"{self.decisions / deals:.0f}",
            f"{self.challenges / deals:.1f}",
            f"{self.right / self.challenges:.0%}" if self.challenges else "",
            f"{self.passes / deals:.1f}",
            f"{self.believes / deals:.1f}",
        )


def play(game: str, seats: int, player: str, deals: int, seed: int) -> Played:
    """Play deals 0 .. deals - 1 of a game, with one player in all seats."""
    agent, rng = load(player), np.random.default_rng(seed)
    options = {"observation": agent.observation, "auto_reset": False, "deals": 1, "until": None}
    tables = Tables(game, seats, deals, seed, **options)
    actions, taken, right = np.zeros(deals, np.int64), np.zeros(act.NUM_ACTIONS, np.int64), 0
    while (going := np.flatnonzero(tables.state["phase"] != OVER)).size:
        chosen = agent.act(tables.observation[going], tables.action_mask[going], rng)
        actions[going] = chosen
        tables.step(actions)
        taken += np.bincount(chosen, minlength=act.NUM_ACTIONS)
        challenged = going[chosen == act.CHALLENGE]
        right += int((tables.state["recent"][challenged, 0, CLAIM_OUTCOME] == LIE).sum())
    return Played(
        plays=tables.state["plays"].tolist(),
        truncated=int(tables.state["truncated"].sum()),
        decisions=int(taken.sum()),
        challenges=int(taken[act.CHALLENGE]),
        right=right,
        passes=int(taken[act.PASS]),
        believes=int(taken[act.BELIEVE]),
    )


def report(deals: int, seed: int, seats: int | None) -> Iterator[str]:
    """Yield the lines of the tables, one table a player."""
    for player in PLAYERS:
        yield from (f"**{player}**", "", _line(COLUMNS), _line(["---"] * len(COLUMNS)))
        for game in variants():
            rules = Rules.load(game)
            here = rules.default_players if seats is None else seats
            if rules.players[0] <= here <= rules.players[1]:
                yield _line(play(game, here, player, deals, seed).row(game, here))
        yield ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deals", type=int, default=200, help="deals of each game (200)")
    parser.add_argument("--seed", type=int, default=0, help="what deals are drawn from (0)")
    parser.add_argument(
        "--players",
        type=int,
        help="seats; games not made for so many are left out (four, or what comes nearest)",
    )
    chosen = parser.parse_args(arguments)
    # A match cut to one deal is a house rule, and some of the games share the warned property.
    warnings.simplefilter("ignore", RulesWarning)
    for line in report(chosen.deals, chosen.seed, chosen.players):
        print(line, flush=True)


if __name__ == "__main__":
    main()
