"""Where OpenSpiel is installed: `python_cheat` is the same game, and OpenSpiel finds it sound."""

from __future__ import annotations

import itertools
import re
import runpy
import subprocess
import sys
import unittest
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FAMILY, random_match
from numpy.typing import NDArray

from cheat_env import IllegalAction, Rules, RulesError, RulesWarning, Tables, records, variants
from cheat_env import actions as act
from cheat_env.dealing import receiver
from cheat_env.options import MAX_SEATS
from train.tree import write_out

pyspiel = pytest.importorskip("pyspiel")
api_test = pytest.importorskip("open_spiel.integration_tests.api_test")
playthroughs = pytest.importorskip("open_spiel.python.algorithms.generate_playthrough")

from open_spiel_games import SMALL, at_random, deal, load, small_rules, source  # noqa: E402

from cheat_env.open_spiel import NAME, PARAMETERS  # noqa: E402

ROOT = Path(__file__).parent.parent
#: Fields of a table that say where its deals come from.
SOURCE = ("seed", "match", "number")

# --- OpenSpiel's own tests ------------------------------------------------------------------------


@pytest.mark.parametrize("variant", variants())
def test_openspiel_plays_every_game_at_random(variant: str) -> None:
    """Masks, clones, strings, tensors, serialisation, rewards, returns and lengths agree."""
    game = load(variant=variant, max_plays=12)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


def run_api_tests(base: Any, game: Any, *without: str) -> None:
    """Run OpenSpiel's tests of its API for a game, but for some."""
    case = type("ApiTest", (base,), {"game": game, "game_name": NAME})
    names = set(unittest.defaultTestLoader.getTestCaseNames(case)) - set(without)
    result = unittest.TestResult()
    unittest.TestSuite(map(case, sorted(names))).run(result)
    assert result.testsRun == len(names) >= 5
    assert [text for _, text in result.failures + result.errors] == []


@pytest.mark.parametrize("variant", ["english", "marquoir", "russian"])
def test_openspiel_finds_its_api_kept(variant: str) -> None:
    """So it does in samples of the big games."""
    run_api_tests(api_test.EnforceAPIOnPartialTreeBase, load(variant=variant, max_plays=30))


def test_openspiel_finds_perfect_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it does in all states of a small game, and they are as many as the engine reaches."""
    changes = SMALL | {"max_plays": 4}
    nodes = write_out(small_rules(changes)).nodes
    over = int((nodes["choices"] == 0).sum())
    chance = 1 + (1 + 2 + 3) + (3 + 3 + 3)  # the dealer, the cards of the leader, the others
    numbers = (chance, len(nodes) - over, over)
    monkeypatch.setitem(api_test.TOTAL_NUM_STATES, NAME, numbers)
    game = load(**changes)
    run_api_tests(api_test.EnforceAPIOnFullTreeBase, game, "test_game_is_perfect_recall")
    assert len(api_test._assert_is_perfect_recall(game)) > 100


def test_playthroughs_are_played_again() -> None:
    """OpenSpiel's text of a game is the same where its actions are played again."""
    string = str(load(variant="{base: russian, jokers: 2}", players=3, max_plays=10))
    text = playthroughs.playthrough(string, None, seed=3)
    actions = [int(action) for action in re.findall(r"^action: (\d+)$", text, re.MULTILINE)]
    assert playthroughs.playthrough(string, actions, seed=4) == text
    assert f"game: {string}" in text and "turned up" in text


# --- The same games -------------------------------------------------------------------------------


def dealt(tables: Tables) -> NDArray[np.int8]:
    """Return the hands as they were dealt, quads that were shown at once included (G12)."""
    table, players, copies = tables.state[0], tables.num_players, int(tables.options["copies"])
    hands = table["hand"][:players].copy()
    due = Counter(
        receiver(table, tables.options, i) for i in range(tables.rules.dealt_for(players))
    )
    for rank in np.flatnonzero(table["quads"]):
        short = max(range(players), key=lambda seat: due[seat] - hands[seat].sum())
        hands[short, rank] = copies
    return hands


def check_same(state: Any, tables: Tables) -> None:
    """Check that both are in one position, byte by byte, with the same choices."""
    ours, theirs = tables.state[0], state.table
    for name in set(tables.state.dtype.names) - set(SOURCE):
        assert np.array_equal(ours[name], theirs[name]), name
    assert state.rewards() == pytest.approx(tables.reward[0].tolist(), abs=1e-7)
    assert state.legal_actions() == np.flatnonzero(tables.action_mask[0]).tolist()


@pytest.mark.parametrize(("variant", "players"), FAMILY)
def test_the_same_game(variant: str, players: int) -> None:
    """Dealt the same cards, a match is the same as at a table, action by action, to its end."""
    game = load(variant=variant, players=players, max_plays=60)
    for seed in range(2):
        state, paid, actions = game.new_initial_state(), np.zeros(players), []
        for tables, action in random_match(variant, players, seed, max_plays=60):
            if state.is_chance_node():
                deal(state, dealt(tables), int(tables.state[0]["dealer"]))
            check_same(state, tables)
            paid += tables.reward[0]
            words_of = act.words(action, tables.deck, max(int(tables.state[0]["rank"]), 0))
            assert state.action_to_string(state.current_player(), action) == words_of
            state.apply_action(action)
            actions.append(action)
        assert state.is_terminal()
        check_same(state, tables)
        assert state.returns() == pytest.approx((paid + tables.reward[0]).tolist(), abs=1e-6)
        document = records.from_actions(variant, players, seed, actions, max_plays=60)
        replay = records.Replay(document)
        assert all(not faults for _, faults in replay.play())
        assert replay._checks()["rewards"] == tables.state[0]["reward"][:players].tolist()


def test_what_is_not_legal_is_refused() -> None:
    """An action, or what chance can't deal, is named and changes nothing."""
    state = load(**SMALL).new_initial_state()
    with pytest.raises(IllegalAction, match=re.escape("chance: 0 is not among [(1, 1.0)]")):
        state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(IllegalAction, match="chance: 2 is not among"):
        state.apply_action(2)
    while state.is_chance_node():
        state.apply_action(at_random(state, source(1)))
    before = state.table.tobytes(), state.history(), state.seen
    for action in (act.LAY, act.NUM_ACTIONS):
        with pytest.raises(IllegalAction, match=f"seat 0: action {action}.* is illegal; legal: "):
            state.apply_action(action)
        assert (state.table.tobytes(), state.history(), state.seen) == before


def test_rewards_are_paid_when_they_are_earned() -> None:
    """A deal's payment comes with the action that ends it, also where another deal follows."""
    game = load(variant="marquoir", max_plays=500)
    assert game.get_type().reward_model == pyspiel.GameType.RewardModel.REWARDS
    assert load().get_type().reward_model == pyspiel.GameType.RewardModel.TERMINAL
    rng, state, paid, deals = source(1), game.new_initial_state(), np.zeros(4), 0
    while not state.is_terminal():
        state.apply_action(at_random(state, rng))
        if not state.is_chance_node():
            deals += any(state.rewards())
            paid += state.rewards()
            assert state.returns() == pytest.approx(paid.tolist(), abs=1e-12)
    assert deals == 5 or state.table["truncated"]
    assert deals > 1


@pytest.mark.parametrize("variant", ["english", "marquoir", "russian", "chui_niu", "mogeln"])
def test_returns_lie_in_their_range(variant: str) -> None:
    """What is won is lost by others, to the last digit, and the bounds are those of the rules."""
    game = load(variant=variant, ranks=5, copies=2, players=4)
    rng, found = source(5), []
    for _ in range(30):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(at_random(state, rng))
        assert sum(state.returns()) == pytest.approx(0, abs=1e-14)
        assert len(state.full_history()) <= game.max_history_length()
        found += state.returns()
    assert game.min_utility() <= min(found) < 0 < max(found) <= game.max_utility()
    assert game.utility_sum() == 0


# --- Chance ---------------------------------------------------------------------------------------


def all_deals(state: Any, share: Fraction = Fraction(1)) -> Iterator[tuple[Any, float]]:
    """Yield every deal that chance can make, and its probability."""
    if not state.is_chance_node():
        yield state, float(share)
        return
    outcomes = state.chance_outcomes()
    assert sum(p for _, p in outcomes) == pytest.approx(1, abs=1e-12)
    assert all(p > 0 for _, p in outcomes)
    assert [action for action, _ in outcomes] == state.legal_actions()
    for action, p in outcomes:
        yield from all_deals(state.child(action), share * Fraction(p))


@pytest.mark.parametrize(
    "parameters",
    [
        {"players": 2, "ranks": 3, "copies": 2},
        {"variant": "russian", "players": 3, "ranks": 2, "copies": 3},
        {"variant": "{base: english; jokers: 2; deal: 2}", "players": 2, "ranks": 3, "copies": 1},
        {"variant": "liang", "players": 4, "ranks": 3, "copies": 2},
    ],
    ids=["all", "aside", "jokers", "four seats"],
)
def test_deals_have_their_probabilities(parameters: dict[str, Any]) -> None:
    """Each deal is as likely as among all orders of the deck, dealt one by one."""
    game = load(**parameters, dealer=1)
    expected: Counter[bytes] = Counter()
    counts = np.zeros(14, np.int64)
    counts[: len(game.deck)] = game.options["copies"]
    counts[13] = game.options["jokers"]
    deck = np.repeat(np.arange(14), counts).tolist()
    table = game.new_initial_state().table.copy()
    table["dealer"] = 1
    seats = [receiver(table, game.options, i) for i in range(int(game.options["dealt"]))]
    orders = list(itertools.permutations(deck))
    for order in orders:
        hands = np.zeros((game.num_players(), 14), np.int8)
        for seat, card in zip(seats, order, strict=False):
            hands[seat, card] += 1
        expected[hands.tobytes()] += 1
    found = {
        state.table["hand"][: game.num_players()].tobytes(): share
        for state, share in all_deals(game.new_initial_state())
    }
    assert found.keys() == expected.keys()
    for hands, share in found.items():
        assert share == pytest.approx(expected[hands] / len(orders), abs=1e-12)


def test_the_first_dealer_is_drawn_by_lot() -> None:
    """Every seat is as likely, unless one is named; the engine says who leads and who has more."""
    state = load(players=5).new_initial_state()
    assert state.chance_outcomes() == [(seat, 0.2) for seat in range(5)]
    assert state.action_to_string(-1, 3) == "dealer 3"
    state = load(players=5, dealer=3).new_initial_state()
    assert state.chance_outcomes() == [(3, 1.0)]
    rng = source(2)
    state.apply_action(3)
    assert state.action_to_string(-1, 2) == "2 x A to seat 0"
    while state.is_chance_node():
        state.apply_action(at_random(state, rng))
    assert state.current_player() == 4
    assert state.table["hand_size"][:5].tolist() == [11, 10, 10, 10, 11]


def test_hands_with_quads_are_dealt_anew() -> None:
    """G12: chance deals again until nobody holds a complete set."""
    game = load(variant="dubito_two_left", players=3, ranks=3, copies=2)
    for seed in range(20):
        rng, state = source(seed), game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(at_random(state, rng))
        assert not (state.table["hand"][:, :3] == 2).any()


# --- Parameters -----------------------------------------------------------------------------------


def test_parameters_make_the_game() -> None:
    """What is not given is the game's own; a game is found again by its text."""
    game = load()
    assert (game.rules, game.num_players()) == (Rules.load("english"), 4)
    assert str(game) == f"{NAME}()"
    game = load(variant="russian", players=3)
    assert game.rules == Rules.load("russian")
    assert " ".join(game.deck) == "6 7 8 9 10 J Q K A"
    game = load(variant="russian", players=2, ranks=3, copies=2, most=1, max_plays=9)
    rules = {"deck": "6 7 8", "copies": 2, "cards_per_play": [1, 1], "max_plays": 9}
    assert game.rules == Rules.load("russian", players=[2, 2], **rules)
    game = load(variant="{base: russian, jokers: 2, pass: allowed}", players=3)
    assert game.rules == Rules.load({"base": "russian", "jokers": 2, "pass": "allowed"})
    assert game.max_chance_outcomes() == 5 and game.slots == [*range(9), 13]
    again = pyspiel.load_game(str(game))
    assert (again.rules, str(again)) == (game.rules, str(game))
    assert {*game.get_type().parameter_specification} == {*PARAMETERS}
    assert game.num_distinct_actions() == act.NUM_ACTIONS
    assert game.get_type().max_num_players == MAX_SEATS


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variant": "poker"}, "variant 'poker': unknown"),
        ({"variant": "{base: english; jokers: x}"}, "jokers 'x': give a whole number"),
        ({"variant": "{base: english"}, "give a name or house rules"),
        ({"variant": "{jokers: 1}"}, "`base: NAME`"),
        ({"players": 9}, "players 9: must be from 2 to 8"),
        ({"players": 1}, "players 1: must be from 2 to 8"),
        ({"variant": "russian", "players": 7}, "no value for 7 players"),
        ({"ranks": 14}, "ranks 14: must be from 1 to 13"),
        ({"ranks": 0}, "ranks 0: must be"),
        ({"copies": 0}, "copies 0: must be"),
        ({"ranks": 1, "copies": 2}, "can't be dealt to 4 players"),
        ({"most": 0}, "cards_per_play 0: must be"),
        ({"max_plays": 0}, "max_plays 0: must be"),
        ({"max_plays": 10**9}, "more than OpenSpiel counts"),
        ({"dealer": 4}, "dealer 4: must be from 0 to 3"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    """One line names the thing, its value and what is allowed."""
    with pytest.raises(RulesError, match=message) as refused:
        load(**parameters)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("player=3", "Unknown parameter 'player'"), ("players=two", "Wrong type for parameter")],
)
def test_openspiel_refuses_what_is_no_parameter(text: str, message: str) -> None:
    """Unknown names and wrong types are named by OpenSpiel itself."""
    with pytest.raises(pyspiel.SpielError, match=message):
        pyspiel.load_game(f"{NAME}({text})")


def test_ranks_that_never_come_round_are_warned_of() -> None:
    """House rules of which a seat is asked for half of the ranks are told so, as elsewhere."""
    with pytest.warns(RulesWarning, match="share a factor"):
        load(players=2, ranks=4)


# --- The house ------------------------------------------------------------------------------------


def test_the_environment_needs_no_openspiel() -> None:
    """Nothing is loaded of OpenSpiel until its room is asked for."""
    code = "import cheat_env, sys; print('pyspiel' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_the_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CFR+ makes its policy harder to exploit."""
    example = ROOT / "examples" / "openspiel_cfr.py"
    monkeypatch.setattr(sys, "argv", [str(example), "--iterations", "4"])
    runpy.run_path(str(example), run_name="__main__")
    told = capsys.readouterr().out.split("exploitability ")[1:]
    start, end = (float(text.split()[0]) for text in told)
    assert end < start / 2
