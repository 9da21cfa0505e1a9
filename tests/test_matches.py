"""Matches of several deals: who has won, and what the environment says at the end."""

from __future__ import annotations

import pytest
from conftest import Lottery

from cheat_env import Rules, raw_env
from cheat_env.dealing import match_winners
from cheat_env.state import allocate


@pytest.mark.parametrize(
    ("variant", "scores", "winners"),
    [
        ("marquoir", [2, 1, 1, 3], [False, True, True, False]),
        ("russian", [0, 1, 0, 0], [True, False, True, True]),
        ("english", [0, 1, 0, 0], [False, True, False, False]),
    ],
)
def test_b8_the_best_total_wins_and_ties_share_it(
    variant: str, scores: list[int], winners: list[bool]
) -> None:
    """B8: the lowest total wins where points are lost deals, the highest where they are won."""
    table = allocate(1)[0]
    table["score"][:4] = scores
    options = Rules.load(variant).options(4)
    assert match_winners(table, options).tolist() == winners
    table["truncated"] = True
    assert not match_winners(table, options).any()


def test_the_infos_at_the_end_tell_score_and_winners() -> None:
    """After a match of five deals each seat's info holds its total and whether it has won."""
    game, lottery = raw_env("marquoir", 3), Lottery(3)
    game.reset(seed=3)
    while not any(game.terminations.values()):
        assert game.infos[game.agent_selection] == {}
        game.step(lottery.choose(game.observe(game.agent_selection)["action_mask"]))
    scores = [game.infos[agent]["score"] for agent in game.agents]
    assert sum(scores) >= 5
    won = [game.infos[agent]["match_won"] for agent in game.agents]
    assert won == [score == min(scores) for score in scores]
