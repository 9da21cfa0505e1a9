"""The miniature written out and solved: its size, value and exploitabilities, and the solver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sequence_forms import kuhn, sequence_form

from agents import Agent, load
from agents.base import Mixing
from cheat_env import Rules, RulesError, Tables
from cheat_env import actions as act
from cheat_env.engine import apply, legal_actions
from cheat_env.state import OVER
from train import exact
from train.command import parse
from train.lines import deals
from train.solver import exploitability, responses, solve, uniform, value
from train.tree import Seen, Tree, look, merge, policy_of, write_out

#: Options that leave little of the miniature.
SMALL = {"copies": 1, "max_plays": 6}


def miniature(**changes: Any) -> Rules:
    """Return the rules of the miniature, or a smaller game."""
    game = parse(["--config", "miniature.yaml"])[0].game
    return Rules.load(game.variant, **game.rules, **changes)


@pytest.fixture(scope="module")
def tree() -> Tree:
    """Return the miniature written out."""
    return write_out(miniature())


@pytest.fixture(scope="module")
def seen(tree: Tree) -> tuple[Seen, Seen]:
    """Return what each seat sees in the miniature by the longer observation."""
    return look(tree, "memory")


@pytest.fixture(scope="module")
def small() -> Tree:
    """Return a smaller game written out."""
    return write_out(miniature(**SMALL))


# --- The solver, on games of its own --------------------------------------------------------------


def test_kuhn_poker_is_solved() -> None:
    """The value is that of Kuhn (1950), -1/18 for the first seat; always passing is a gift."""
    game, _ = sequence_form(kuhn())
    policy = solve(game, 20_000)
    assert value(game, policy) == pytest.approx(-1 / 18, abs=1e-4)
    assert 0 <= exploitability(game, policy) < 1e-4
    assert exploitability(game, uniform(game)) == pytest.approx(11 / 24, abs=1e-12)
    passing = np.array([1.0, *[1.0, 0.0] * 6])
    assert responses(game, (passing, passing)) == pytest.approx((1.0, 1.0))


def test_merged_states_share_a_policy() -> None:
    """A seat that can't see its card plays all cards alike, and can be exploited for that."""
    game, places = sequence_form(kuhn())
    merged = tuple(
        np.array([next(at for other, at in own.items() if other[1:] == state[1:]) for state in own])
        for own in places
    )
    policy = solve(game, 2_000, (merged[0], merged[1]))
    for seat, groups, found in zip(game.seats, merged, policy, strict=True):
        assert all(found[s] == found[g] for s, g in zip(seat.start[:-1], groups, strict=True))
    assert exploitability(game, policy) > 0.1


# --- The miniature --------------------------------------------------------------------------------


def test_the_miniature_has_the_size_it_should(tree: Tree) -> None:
    """Twenty deals in seven kinds; laying the picked card, which is forced, adds nodes alone."""
    assert len(tree.chance) == 7
    assert tree.chance.sum() == pytest.approx(1)
    assert sorted(np.round(20 * tree.chance).astype(int)) == [2, 2, 2, 2, 2, 2, 8]
    assert np.count_nonzero(tree.nodes["action"] != act.LAY) == 838_033
    assert [len(met) for met in tree.met] == [95_858, 68_690]
    assert set(tree.nodes["payoff"]) == {-1, 0, 1}
    assert tree.roots["hand_size"][:, :2].tolist() == [[3, 3]] * 7


def test_the_leader_wins_two_fifths(tree: Tree) -> None:
    """CFR+ comes to +0.400 for who leads, and no best response gains a thousandth."""
    policy = solve(tree.game, 100)
    assert exploitability(tree.game, policy) < 0.001
    assert value(tree.game, policy) == pytest.approx(0.4, abs=1e-3)


def test_even_chances_are_exploitable(tree: Tree, seen: tuple[Seen, Seen]) -> None:
    """The figure of another implementation, also for the agent that plays so."""
    even = uniform(tree.game)
    assert exploitability(tree.game, even) == pytest.approx(0.8026, abs=5e-5)
    played = policy_of(load("random"), seen, 1, 0)
    assert np.allclose(played[0], even[0]) and np.allclose(played[1], even[1])


def test_what_an_observation_leaves_out_costs_nothing(tree: Tree, seen: tuple[Seen, Seen]) -> None:
    """Though `memory` tells few of the information states apart, it is enough for equilibrium."""
    counts = [len(own.first) for own in seen]
    assert all(count < len(met) / 4 for count, met in zip(counts, tree.met, strict=True))
    both = np.concatenate([own.observation for own in seen])
    assert len(np.unique(both, axis=0)) == sum(counts)  # so the seats are merged with nobody
    policy = solve(tree.game, 100, merge(tree, seen))
    assert exploitability(tree.game, policy) < 0.001


# --- Agents ---------------------------------------------------------------------------------------


def first_wins(agent: Agent, rules: Rules, deals: int) -> np.ndarray:
    """Return what who leads wins in deals that an agent plays with itself."""
    tables = Tables(rules, 2, deals, seed=3, auto_reset=False)
    leader, wins = tables.seat.astype(int), np.zeros(deals)
    rng = np.random.default_rng(0)
    while not (tables.terminated | tables.truncated).all():
        over = tables.terminated | tables.truncated
        mask = np.where(over[:, None], 1, tables.action_mask).astype(np.int8)
        tables.step(agent.act(tables.observation, mask, rng))
        wins += tables.reward[np.arange(deals), leader]
    return wins


@pytest.mark.parametrize("name", ["bluffer", "counter(lie=0.3)"])
def test_a_policy_wins_what_the_agent_wins(tree: Tree, seen: tuple[Seen, Seen], name: str) -> None:
    """The value agrees with deals that are played at tables."""
    policy = policy_of(load(name), seen, 1, 0)
    wins = first_wins(load(name), miniature(), 4_000)
    error = wins.std() / np.sqrt(len(wins))
    assert value(tree.game, policy) == pytest.approx(wins.mean(), abs=4 * error)


def test_conduct_is_that_of_the_agent(tree: Tree, seen: tuple[Seen, Seen]) -> None:
    """The honest never lie where they could tell the truth, and callers always challenge."""
    honest, caller = (policy_of(load(name), seen, 1, 0) for name in ("honest", "caller"))
    assert tree.conduct(honest)["lies"] == 0 < tree.conduct(honest)["free"]
    conduct = tree.conduct(caller)
    assert conduct["challenges"] == pytest.approx(conduct["asked"])
    assert conduct["right"] == pytest.approx(conduct["claims"] - conduct["free"])
    ends = tree.nodes["choices"] == 0
    assert tree.reached(caller)[ends].sum() == pytest.approx(1)


class OnlyActs:
    """An agent that can't tell its probabilities."""

    def __init__(self, agent: Agent) -> None:
        self.name, self.observation, self.act = agent.name, agent.observation, agent.act


def test_an_agent_that_only_acts_is_asked_often(small: Tree) -> None:
    """Its policy comes close to the exact one, and is the same for the same seed."""
    agent = load("bluffer")
    only = OnlyActs(agent)
    assert isinstance(agent, Mixing) and not isinstance(only, Mixing)
    seen = look(small, "memory")
    sharp, blurred, again = (policy_of(a, seen, 2000, 1) for a in (agent, only, only))
    for seat in (0, 1):
        assert np.array_equal(blurred[seat], again[seat])
        assert np.allclose(sharp[seat], blurred[seat], atol=0.05)
        assert not np.array_equal(sharp[seat], blurred[seat])


@pytest.mark.parametrize("variant", ["english", "chui_niu"])
@pytest.mark.parametrize(
    "name",
    ["random", "honest", "bluffer", "skeptic(lie=0.3, call=0.2)", "caller(extra=0.4, mix=0.7)"],
)
def test_probabilities_are_those_of_acting(variant: str, name: str) -> None:
    """Many actions of an agent are distributed as it tells, where ranks are announced too."""
    agent, rng = load(name), np.random.default_rng(2)
    tables = Tables(variant, 3, 40, seed=1, observation=agent.observation)
    for _ in range(60):
        tables.step(load("random").act(tables.observation, tables.action_mask, rng))
    told = agent.probabilities(tables.observation, tables.action_mask)
    assert told.sum(axis=1) == pytest.approx(1)
    assert not told[tables.action_mask == 0].any()
    counts, draws = np.zeros(told.shape), 1000
    for _ in range(draws):
        actions = agent.act(tables.observation, tables.action_mask, rng)
        counts[np.arange(len(actions)), actions] += 1
    error = np.sqrt(np.maximum(told * (1 - told), 0) / draws)
    assert (abs(counts / draws - told) <= 5 * error + 1e-9).all()


# --- Information states ---------------------------------------------------------------------------


def lines(tree: Tree) -> Iterator[tuple[int, list[int]]]:
    """Yield the deal and the actions of every end."""
    for end in np.flatnonzero(tree.nodes["choices"] == 0):
        row, actions = tree.nodes[end], []
        while row["depth"] > 0:
            actions.insert(0, int(row["action"]))
            row = tree.nodes[row["parent"]]
        yield int(row["deal"]), actions


def test_information_states_are_what_a_seat_has_seen(small: Tree) -> None:
    """Played line by line and told in words, a seat's views number as many as its states."""
    met: list[set[str]] = [set(), set()]
    for deal, actions in lines(small):
        room, mask = small.roots[deal : deal + 1].copy(), np.zeros(act.NUM_ACTIONS, np.int8)
        table, told = room[0], ["", ""]
        for action in actions:
            seat = int(table["turn"])
            told = [f"{text} holds {table['hand'][i].tolist()}" for i, text in enumerate(told)]
            legal_actions(table, small.options[0], mask)
            if mask.sum() > 1:
                met[seat].add(told[seat])
            apply(table, small.options[0], action)
            words = act.name(action)
            if action == act.CHALLENGE:
                words += f" of {table['turned_up'].tolist()}"
            told[seat] += f" own {words}"
            told[1 - seat] += " picks" if action < act.LAY else f" their {words}"
    assert [len(states) for states in met] == [len(states) for states in small.met]


def test_a_deal_that_is_cut_pays_nobody(small: Tree) -> None:
    """Every end pays the leader 1 or -1, but where the engine says that it was truncated."""
    for (deal, actions), payoff in zip(
        lines(small), small.nodes["payoff"][small.nodes["choices"] == 0], strict=True
    ):
        room = small.roots[deal : deal + 1].copy()
        for action in actions:
            apply(room[0], small.options[0], action)
        assert room["phase"][0] == OVER
        assert abs(payoff) == (0 if room["truncated"][0] else 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"jokers": 1}, "all cards are dealt"),
        ({"quads": "optional"}, "all cards are dealt"),
        ({"removed_cards": 2}, "all cards are dealt"),
        ({"copies": 16}, "copies 16"),
        ({"max_plays": 1000}, "too large"),
        ({"players": (3, 3)}, "num_players 2"),
    ],
)
def test_what_is_no_miniature_is_refused(changes: dict[str, Any], said: str) -> None:
    """The rules that can't be written out are told, before anything takes long."""
    with pytest.raises(RulesError, match=said):
        write_out(miniature(**changes))


def test_deals_of_unequal_hands() -> None:
    """With one card of each rank the leader holds two of three."""
    roots, chance = deals(miniature(copies=1))
    assert chance.tolist() == pytest.approx([1 / 3] * 3)
    assert roots["hand"][:, :2].sum(axis=(0, 1))[:3].tolist() == [3, 3, 3]
    assert (roots["hand"].sum(axis=2) == roots["hand_size"]).all()


# --- The command line -----------------------------------------------------------------------------

COMMAND = ["--rules", "copies=1", "max_plays=6", "--iterations", "50"]


def test_the_command_tells_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two tables on the screen, and the same bytes in the file for the same words."""
    texts = []
    for name in ("one.json", "other.json"):
        words = [
            "--agent",
            "honest",
            "bluffer",
            "--merged",
            "memory",
            "--out",
            str(tmp_path / name),
        ]
        assert exact.main([*COMMAND, *words]) == 0
        texts.append((tmp_path / name).read_text("utf-8"))
    assert texts[0] == texts[1]
    found = json.loads(texts[0])
    assert list(found["policies"]) == ["equilibrium", "by memory alone", "honest", "bluffer"]
    assert found["rules"]["copies"] == 1 and found["draws"] == {}
    for policy in found["policies"].values():
        assert policy["response_leads"] >= policy["value"] >= -policy["response_follows"]
    shown = capsys.readouterr().out
    for word in ("equilibrium", "exploitability", "lies/free", "bluffer"):
        assert word in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--agent", "nobody"], "error: agent 'nobody'"),
        (["--agent", "no.zip"], "error: agent 'no.zip': there is no such file"),
        (["--config", "no.yaml"], "error: config 'no.yaml'"),
        (["--config", "english.yaml"], "error: num_players 2"),
        (["--rules", "copies"], "error: --rules 'copies'"),
        (["--rules", "cheat=1"], "error: rule option 'cheat'"),
        (["--iterations", "0"], "error: --iterations 0"),
        (["--draws", "0"], "error: --draws 0"),
        (["--seed", "-1"], "error: --seed -1"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that names what is wrong, and the exit code for bad input."""
    assert exact.main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith(said) and told.count("\n") == 1


def test_a_place_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures are shown all the same."""
    assert exact.main([*COMMAND, "--out", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
