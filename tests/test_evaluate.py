"""The evaluation: seats, deals, chance and who is credited (S22-S28)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GAMES
from evaluating import Fixed, Illegal, Watcher, mixed, versus

from agents import load
from cheat_env import Rules, Tables
from cheat_env.observations import MEMORY
from cheat_env.state import OVER
from train import jobs, matches
from train.config import Config, Game, Learner
from train.evaluate import ONE_VS_REST, Evaluation, evaluate, plan
from train.matches import Cell, game, outcome, play_chunk, seating
from train.selfplay import SelfPlay

TWO, RANDOM = ("one", "rest"), load("random")
UNTRAINED = Config(
    game=Game("english", 4), learner=Learner(tables=4, steps=4, hidden=(16, 16), threads=1)
)


def cell_of(variant: Any, players: int, lineup: tuple[str, ...], deals: int, seed: int = 1) -> Cell:
    """Return a cell of one game."""
    return Cell(*game(variant, {}), players, lineup, deals, seed)


# --- Seats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "players"), GAMES)
def test_one_policy_in_all_seats_has_an_equal_share(variant: str, players: int) -> None:
    """S27: with every rotation of the seats no seat's luck is left: exactly 1/n wins."""
    cell = versus(variant, players, Fixed(), Fixed(), 12, 3, max_plays=5000)
    equal = (players - 1) / players if variant == "russian" else 1 / players
    assert cell["truncated"] == 0 and cell["finished"] == 12 * players
    for agent in cell["agents"].values():
        assert list(agent["share"].values()) == pytest.approx([equal] * 3)
        assert agent["reward"]["mean"] == pytest.approx(0, abs=1e-6)
        assert agent["place"]["mean"] == pytest.approx((players + 1) / 2)


@pytest.mark.parametrize("players", [3, 4, 6])
def test_each_name_sits_in_each_seat_equally_often(players: int) -> None:
    """S27: over the rotations of a deal every agent of a lineup has every seat once."""
    names = tuple(f"agent {i}" for i in range(players))
    seats = seating(cell_of("english", players, names, 5), 5)
    assert seats.shape == (5 * players, players)
    for deal in seats.reshape(5, players, players):
        assert (np.sort(deal, axis=0) == np.arange(players)[:, None]).all()
        assert (np.sort(deal, axis=1) == np.arange(players)).all()
    assert seats[0].tolist() == list(range(players))
    assert seats[1].tolist() == [players - 1, *range(players - 1)]


def rig(monkeypatch: pytest.MonkeyPatch, winner: Any) -> None:
    """Let every deal end at once, won by the seat `winner(rotation)` of its table."""

    class Rigged(Tables):
        def step(self, actions: np.ndarray) -> None:
            rows = np.arange(self.num_tables)
            seats = winner(rows % self.num_players)
            self.state["phase"] = OVER
            self.state["out"][rows, seats] = 1
            self.state["num_out"] = 1
            self.state["reward"][:, : self.num_players] = -1 / (self.num_players - 1)
            self.state["reward"][rows, seats] = 1

    monkeypatch.setattr(matches, "Tables", Rigged)


def test_a_seat_that_always_wins_is_no_skill(monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: seat 0 always wins: every name's share is exactly 1/n, in every format."""
    rig(monkeypatch, lambda rotation: 0 * rotation)
    cell = mixed("english", dict.fromkeys("ABCD", "random"), 30)
    assert [a["share"]["mean"] for a in cell["agents"].values()] == [0.25] * 4
    assert [a["counts"]["won"] for a in cell["agents"].values()] == [30] * 4
    cell = versus("english", 4, "random", "random", 30)
    assert [a["share"]["mean"] for a in cell["agents"].values()] == [0.25] * 2
    assert cell["agents"]["one"]["reward"]["mean"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", list("ABCD"))
def test_an_agent_that_always_wins_has_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: A always wins, wherever it sits: A 100 %, the others 0 %, never transposed."""
    rig(monkeypatch, lambda rotation: ("ABCD".index(name) + rotation) % 4)
    cell = mixed("english", dict.fromkeys("ABCD", "random"), 30)
    for other, agent in cell["agents"].items():
        assert agent["share"]["mean"] == (1 if other == name else 0)
        assert agent["place"]["mean"] == (1 if other == name else 3)
        assert agent["reward"]["mean"] == pytest.approx(1 if other == name else -1 / 3)
        assert agent["counts"]["games"] == 120
    assert cell["agents"][name]["share"]["high"] == 1


def test_the_agents_are_never_mixed_up() -> None:
    """An agent that lays true cards beats three that never do; turned round it is the other way."""
    strong = versus("english", 4, "honest", "random", 20)
    weak = versus("english", 4, "random", "honest", 20)
    assert strong["agents"]["one"]["share"]["mean"] > 0.7
    assert strong["agents"]["rest"]["share"]["mean"] < 0.1
    assert weak["agents"]["one"]["share"]["mean"] < 0.1
    assert weak["agents"]["rest"]["share"]["mean"] > 0.3


# --- Who is credited ------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["english", "marquoir", "russian", "dubito_two_left"])
def test_the_figures_are_those_of_single_games(variant: str) -> None:
    """S22, S23: each seat has its own sum of rewards and its own end, as in games played singly.

    With players that do not draw, the evaluation is compared to one table at a time.
    """
    players = {"one": load("honest_guard"), "rest": Fixed()}
    cell = cell_of(variant, 4, ("one", *["rest"] * 3), 10)
    found = play_chunk(cell, players, 0)
    table = Tables(variant, 4, 1, seed=1, auto_reset=False, deals=1, until=None)
    for deal in range(10):
        sums = {name: Counter[str]() for name in players}
        for rotation in range(4):
            seats = [players["one" if seat == rotation else "rest"] for seat in range(4)]
            reward = _play_one(table, deal, seats)
            for seat in range(4):
                own = sums["one" if seat == rotation else "rest"]
                own["reward"] += reward[seat]
                own["won"] += int(reward[seat] > 0)
                own["lost"] += int(table.state["loser"][0, seat])
        for name in players:
            for what in ("reward", "lost", "won"):
                if what != "won" or variant != "marquoir":  # there going out first may pay nothing
                    assert found["agents"][name][what][deal] == pytest.approx(sums[name][what])


def _play_one(table: Tables, deal: int, seats: list[Any]) -> np.ndarray:
    """Play one deal at one table; returns the sum of all rewards by seat."""
    table.reset(deals=deal, numbers=0)
    reward = table.reward[0].copy()
    while table.action_mask.any():
        agent = seats[table.seat[0]]
        observation = table.observation
        if agent.observation == "table":
            observation = np.ascontiguousarray(observation[:, :143])
        table.step(agent.act(observation, table.action_mask, np.random.default_rng(0)))
        reward += table.reward[0]
    return reward


def test_a_game_that_ends_before_an_agent_acts_is_a_loss() -> None:
    """S23: one card each: the leader lays it, the next seat challenges, the third never acts."""
    cell = versus({"base": "english", "deal": 1, "opening": "free"}, 3, "honest", "caller", 30)
    assert cell["finished"] == 90 and cell["plays"] == 1
    for agent in cell["agents"].values():
        assert agent["share"]["mean"] == pytest.approx(1 / 3)
    one, rest = (cell["agents"][name]["counts"] for name in ("one", "rest"))
    assert (one["games"], rest["games"]) == (90, 180)
    assert (one["claims"], rest["claims"]) == (30, 60)
    assert (one["asked"], rest["asked"]) == (30, 90)  # where it is asked it accepts, and they don't
    assert (one["challenges"], rest["challenges"]) == (0, 60 + 30)


def test_a_deal_that_is_over_when_it_is_dealt_counts() -> None:
    """Quads discarded from the dealt hands can end a deal before anybody acts."""
    rules = {
        "base": "russian",
        "quads": "mandatory_also_on_deal",
        "deck": "A-2",
        "removed_cards": 0,
    }
    tables = Tables(rules, 2, 200, seed=1, auto_reset=False)
    tables.reset(deals=range(200), numbers=0)
    (over,) = np.nonzero(tables.state["phase"] == OVER)
    assert len(over) > 0
    found = play_chunk(cell_of(rules, 2, ("one", "rest"), 200), dict.fromkeys(TWO, RANDOM), 0)
    for deal in over[over < matches.CHUNK]:
        assert found["finished"][deal] == 2
        assert [found["agents"][name]["won"][deal] for name in TWO] == [1, 1]


@pytest.mark.parametrize("variant", ["english", "marquoir", "russian"])
def test_what_is_won_and_lost(variant: str) -> None:
    """Marquoir is won by going out first and lost by the fullest hand; russian is not to lose."""
    cell = versus(variant, 4, "random", "counter", 30, 2)
    agent = cell["agents"]["one"]
    won, lost, reward = (agent[what]["mean"] for what in ("share", "lost", "reward"))
    if variant == "english":
        assert lost is None
        assert reward == pytest.approx(won - (1 - won) / 3)
        assert agent["place"]["mean"] == pytest.approx(won + 3 * (1 - won))
    elif variant == "russian":
        assert lost == pytest.approx(1 - won)
        assert reward == pytest.approx(-lost + won / 3)
    else:
        assert 0 < lost < 1 - won


def test_places_are_the_order_of_going_out() -> None:
    """Seats that are still in share the mean of the places left."""
    tables = Tables("dubito_two_left", 5, 1)
    tables.state["out"][0, :5] = [0, 2, 1, 0, 3]
    tables.state["num_out"] = 3
    tables.state["loser"][0, :5] = [1, 0, 0, 1, 0]
    found = outcome(tables.state, tables.rules, 5)
    assert found["place"].tolist() == [[4.5, 2, 1, 4.5, 3]]
    assert found["won"].tolist() == [[False, True, True, False, True]]


# --- Masks ----------------------------------------------------------------------------------------


def test_each_agent_sees_its_own_rows_alone() -> None:
    """S24: each agent is given the layout that it says it reads, and the mask of each row."""

    class Sized(Fixed):
        def __init__(self, observation: str, size: int) -> None:
            self.observation, self.size = observation, size

        def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
            assert observation.shape == (len(mask), self.size)
            assert (mask.sum(axis=1) > 0).all()
            assert (mask[:, :13] <= (observation[:, :13] > 0)).all()  # picks of its own cards
            return super().act(observation, mask, rng)

    tables = Tables("english", 3, observation="table")
    short = Sized("table", tables.layout.size)
    assert versus("english", 3, short, Sized("memory", MEMORY.size), 3)["deals"] == 3


def test_an_illegal_action_is_never_replaced() -> None:
    """S25: an agent that does not look at the mask ends the evaluation, by its name."""
    with pytest.raises(ValueError, match=r"agent rest: .*illegal"):
        versus("english", 4, "honest", Illegal(), 2)
    with pytest.raises(ValueError, match=r"agent one: .*illegal"):
        versus("english", 4, Illegal(), "honest", 2)


def test_an_untrained_model_plays_by_the_rules(tmp_path: Path) -> None:
    """S25: 300 games without an illegal action; saved and loaded in a new process, again."""
    model = SelfPlay(UNTRAINED).model
    model.save(tmp_path / "model.zip")
    names = [str(tmp_path / "model.zip")]
    asked = plan(ONE_VS_REST, ["english"], [4], names, ["random"], 75, 1, {"max_plays": 30})
    here = evaluate(asked, {name: load(name) for name in asked.sources})
    assert here["cells"][0]["finished"] + here["cells"][0]["truncated"] == 300
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "ALONE_SECONDS", 0)
        assert evaluate(asked, {}, workers=2) == here


# --- Deals ----------------------------------------------------------------------------------------


def test_deals_differ() -> None:
    """S28: every deal of a cell has other cards, and each rotation of a deal has the same."""
    agent, others = Watcher(), Watcher()
    cell = versus("english", 4, agent, others, 200)
    assert cell["deals"] == 200 and cell["finished"] == 800
    assert len(agent.hands) == len(set(agent.hands)) == 200
    assert sorted(others.hands) == sorted(3 * agent.hands)


def test_a_deal_depends_on_the_seed_and_its_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """More deals, or other chunks, deal the same hands to the deals before; S28: no other seed."""
    few, many, other = Watcher(), Watcher(), Watcher()
    versus("english", 4, few, few, 3)
    versus("english", 4, other, other, 7, seed=2)
    monkeypatch.setattr(matches, "CHUNK", 2)
    versus("english", 4, many, many, 7)
    assert set(few.hands) < set(many.hands)
    assert not set(other.hands) & set(many.hands)


def test_more_deals_leave_the_earlier_chunks_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk's chance is its own: whatever was played before it, it comes to the same."""
    monkeypatch.setattr(matches, "CHUNK", 4)
    agents = {"a": load("bluffer"), "b": load("random")}
    long = cell_of("english", 4, ("a", "b", "b", "b"), 8)
    short = cell_of("english", 4, ("a", "b", "b", "b"), 4)
    assert play_chunk(long, agents, 0) == play_chunk(short, agents, 0)
    again = play_chunk(long, agents, 1)
    assert play_chunk(long, agents, 1) == again != play_chunk(long, agents, 0)


def test_chance_is_another_in_every_cell_and_chunk() -> None:
    """What agents draw depends on the seed, the game, the lineup and the chunk."""
    cells = [
        cell_of("english", 3, ("a", "b", "b"), 9),
        cell_of("english", 3, ("a", "b", "b"), 9, seed=2),
        cell_of("english", 3, ("b", "a", "a"), 9),
        cell_of("english", 4, ("a", "b", "b", "b"), 9),
        cell_of("russian", 3, ("a", "b", "b"), 9),
        cell_of({"base": "english", "jokers": 2}, 3, ("a", "b", "b"), 9),
    ]
    draws = [cell.generator(chunk).integers(2**60) for cell in cells for chunk in (0, 1)]
    assert len(set(draws)) == 2 * len(cells)
    assert cells[0].generator(0).integers(2**60) == draws[0]


def test_chance_is_the_same_on_every_machine() -> None:
    """The generator of a cell hangs on no hash that Python salts."""
    cell = cell_of("english", 3, ("a", "b", "b"), 9)
    assert cell.key() == '["english", {}, 3, ["a", "b", "b"]]'
    assert cell.generator(0).integers(2**60) == 785265034482757616


def test_the_order_of_cells_changes_no_result() -> None:
    """A cell does not depend on which were played before it."""
    agents = {name: load(name) for name in ("bluffer", "random", "honest")}
    both, turned = (
        evaluate(plan(ONE_VS_REST, ["english"], [4], ["bluffer"], against, 5, 1), agents)["cells"]
        for against in (["random", "honest"], ["honest", "random"])
    )
    assert both == turned[::-1]


@pytest.mark.parametrize("variant", ["marquoir", {"base": "russian", "until": {"losses": 3}}])
def test_single_deals_are_played_of_any_match(variant: Any) -> None:
    """A match of many deals is evaluated deal by deal."""
    assert Rules.load(variant).deals > 1 or Rules.load(variant).until
    cell = versus(variant, 3, "honest", "honest_guard", 4)
    assert cell["finished"] == 12
    assert cell["plays"] < 150
    assert cell["rules"] == {}


def test_truncated_deals_are_apart() -> None:
    """Callers among callers never end: no share, all truncated, and nothing counted."""
    cell = versus("english", 4, "caller", "caller", 3, max_plays=60)
    agent = cell["agents"]["one"]
    assert (cell["finished"], cell["truncated"], agent["truncated"]) == (0, 12, 1.0)
    assert (cell["plays"], cell["decisions"]) == (None, None)
    for what in ("share", "lost", "reward", "place"):
        assert set(agent[what].values()) == {None}
    assert not any(agent["counts"].values())
    assert not np.any(agent["lies_by_hand"]) and not np.any(agent["challenges_by_size"])


@pytest.mark.parametrize(("variant", "max_plays"), [("english", 60), ("russian", 40)])
def test_truncated_games_are_neither_won_nor_lost(variant: str, max_plays: int) -> None:
    """Where only some end, the share counts these alone."""
    cell = versus(variant, 4, "honest", "random", 20, max_plays=max_plays)
    agent = cell["agents"]["one"]
    won = agent["share"]["mean"]
    assert 0 < agent["truncated"] < 1
    assert cell["finished"] + cell["truncated"] == 80
    others = won - (1 - won) / 3
    if variant == "russian":
        assert agent["lost"]["mean"] == pytest.approx(1 - won)
        others = won / 3 - agent["lost"]["mean"]
    assert agent["reward"]["mean"] == pytest.approx(others)


def test_an_evaluation_names_where_agents_come_from() -> None:
    """By default each agent is loaded by its name."""
    asked = plan(ONE_VS_REST, ["english"], [], ["honest"], ["random"], 5, 1)
    assert isinstance(asked, Evaluation)
    assert asked.sources == {"honest": "honest", "random": "random"}
    assert [cell.players for cell in asked.cells] == [4]
