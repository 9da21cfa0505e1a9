"""Faults that others met in games like this one: plays, winners and deals, S01 to S05."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import PLAYERS
from playing import ALL_VARIANTS, UP_GAMES, Chooser, accept_all, ended, every, snapshot
from positions import hand, hands, legal, place, position, results, say, selected, table_of

from cheat_env import IllegalAction, RulesError, Tables, env, raw_env
from cheat_env import actions as act
from cheat_env.cards import NUM_RANKS


def last_card(card: str, variant: str, **rules: Any) -> Any:
    """Return a game in which seat 0 lays its only card, claimed as an eight."""
    start = position([card, "4 9 J", "2 5 6"], 0, "8", [(1, "Q 2")], variant, **rules)
    game = place(start)
    say(game, f"0 plays {card}")
    return game


@every(UP_GAMES)
@pytest.mark.parametrize("card", ["7", "8"])
def test_s01_laying_the_last_card_does_not_win_yet(variant: str, rules: Any, card: str) -> None:
    """S01, A14, B6: the last play can be challenged like any other."""
    game = last_card(card, variant, **rules)
    assert not ended(game)
    assert (selected(game), legal(game)) == (1, {act.ACCEPT, act.CHALLENGE})


@every(UP_GAMES)
def test_s01_a_last_lie_that_is_caught_puts_the_pile_back(variant: str, rules: Any) -> None:
    """S01, A14: the liar takes everything and the game goes on."""
    game = last_card("7", variant, **rules)
    say(game, "1 challenges")
    assert hands(game) == ["2 7 Q", "4 9 J", "2 5 6"]
    assert not ended(game)
    assert set(game.rewards.values()) == {0.0}


@every(UP_GAMES)
@pytest.mark.parametrize(
    ("card", "verdicts", "second_hand"),
    [("7", ["1 accepts", "2 accepts"], "4 9 J"), ("8", ["1 challenges"], "2 4 8 9 Q J")],
)
def test_s01_a_last_play_that_stands_wins(
    variant: str, rules: Any, card: str, verdicts: list[str], second_hand: str
) -> None:
    """S01, A14, A15: accepted by all, or challenged and true, it ends the deal."""
    game = last_card(card, variant, **rules)
    say(game, *verdicts)
    assert all(game.terminations.values())
    assert table_of(game)["out"][:3].tolist() == [1, 0, 0]
    assert sorted(hand(game, 1)) == sorted(second_hand)
    assert game.rewards["player_0"] > 0


@pytest.mark.parametrize(
    ("card", "reply", "out", "first_hand"),
    [
        ("7", "1 challenges", 0, "7 Q 2"),
        ("8", "1 challenges", 1, ""),
        ("7", "1 plays 4", 1, ""),
        ("8", "1 plays 4", 1, ""),
    ],
)
def test_s01_russian_waits_for_the_decision(
    card: str, reply: str, out: int, first_hand: str
) -> None:
    """S01, C11: trusted or true it is out, caught it stays; with three seats nothing ends."""
    game = place(position([card, "4 9 J", "2 5 6", "3"], 0, "8", [(1, "Q 2")], "russian"))
    say(game, f"0 plays {card}")
    assert table_of(game)["out"][0] == 0
    assert (selected(game), act.CHALLENGE in legal(game)) == (1, True)
    say(game, reply)
    assert table_of(game)["out"][0] == out
    assert sorted(hand(game, 0)) == sorted(first_hand)
    assert not ended(game)


def unaccounted(tables: Tables) -> np.ndarray:
    """Return, by table and rank, how many cards are missing (below 0) or too many (above)."""
    state, options, ranks = tables.state, tables.options, len(tables.deck)
    cards = state["hand"].sum(axis=1) + state["pile"].sum(axis=1) + state["group"] + state["aside"]
    cards[:, :NUM_RANKS] += state["quads"] * options["copies"]
    expected = np.where(np.arange(14) < ranks, int(options["copies"]), 0)
    return cards - expected


def test_s02_no_card_is_made_or_lost(game: tuple[str, int]) -> None:
    """S02: after every step the deck is whole, and a play moves just the cards picked."""
    tables, rng, deals = Tables(*game, 128, seed=2, observation="table"), Chooser(2), 0
    for _ in range(20_000):
        before = tables.state.copy()
        tables.step(rng.choose(tables.action_mask))
        after, rows = tables.state, np.arange(128)
        assert not unaccounted(tables).any()
        assert min(after[name].min() for name in ("hand", "pile", "group", "aside")) >= 0
        assert np.array_equal(after["hand"].sum(axis=2), after["hand_size"])
        on_table = after["pile"].sum(axis=(1, 2)) + after["group"].sum(axis=1)
        assert np.array_equal(on_table, after["pile_size"])
        laid = rows[after["plays"] == before["plays"] + 1]
        seat = before["turn"][laid]
        moved = before["hand"][laid, seat] - after["hand"][laid, seat]
        assert np.array_equal(moved, after["group"][laid])
        assert np.array_equal(moved, before["picked"][laid])
        deals += int((after["plays"] < before["plays"]).sum())
        if deals >= 70:
            break
    assert deals >= 70


def test_s03_only_held_cards_can_be_picked() -> None:
    """S03, A7, A17: ranks that are held, no more than are held, and at least one card."""
    game = place(position(["3 3 K", "A 2", "4 5"], 0, "5"))
    three, king = 11, 8  # counted from the five
    assert legal(game) == {three, king}
    game.step(three)
    assert legal(game) == {three, act.LAY}
    game.step(three)
    assert legal(game) == {act.LAY}


@every(ALL_VARIANTS)
def test_s03_a_play_has_a_greatest_size(variant: str, rules: Any) -> None:
    """S03, A7, C5: with the maximum picked nothing is left but to lay."""
    most = 3 if variant == "russian" else 4
    game = place(position(["9 9 9 9 10 J", "K", "Q"], 0, "9", (), variant, **rules))
    for _ in range(most):
        game.step(0)
    assert legal(game) == {act.LAY}


@every(ALL_VARIANTS)
def test_s03_illegal_actions_are_refused_and_change_nothing(variant: str, rules: Any) -> None:
    """S03: every masked action raises, and no byte of the table or the arrays is touched."""
    game = place(position(["9 9 K", "6 7", "8 10"], 0, "J", (), variant, **rules))
    tables = game.unwrapped.tables
    for action in set(range(-2, 50)) - legal(game):
        before = (tables.state.tobytes(), snapshot(game))
        with pytest.raises(IllegalAction, match=f"seat 0: action {action}"):
            game.step(action)
        assert (tables.state.tobytes(), snapshot(game)) == before


@pytest.mark.parametrize("players", range(2, 7))
def test_s04_the_winner_is_who_went_out(players: int) -> None:
    """S04, A15: for every seat k, k alone gets the win and the others share the loss."""
    for winner in range(players):
        cards = ["2 3", "4 5", "6 7", "8 9", "10 J", "Q K"][:players]
        cards[winner] = "A"
        game = place(position(cards, winner, "A", players=[2, 6]))
        say(game, f"{winner} plays A")
        say(game, *accept_all(game, winner))
        expected = {f"player_{s}": -1 / (players - 1) for s in range(players)}
        assert results(game) == pytest.approx(expected | {f"player_{winner}": 1.0})


@pytest.mark.parametrize("players", range(2, 7))
def test_s04_the_russian_loser_is_who_is_left(players: int) -> None:
    """S04, C13, C14: for every seat k left with cards, k alone loses."""
    for loser in range(players):
        before = (loser - 1) % players
        cards = ["6 7", "8 J", "Q", "K", "10", "A"][:players]
        cards[before] = "9"
        game = place(position(cards, before, None, (), "russian"))
        table = table_of(game)
        for seat in set(range(players)) - {before, loser}:  # the others are out
            table["hand"][seat], table["hand_size"][seat] = 0, 0
            table["num_out"] += 1
            table["out"][seat] = table["num_out"]
        say(game, f"{before} plays 9 as 9", f"{loser} accepts")
        expected = {f"player_{s}": 1 / (players - 1) for s in range(players)}
        assert results(game) == pytest.approx(expected | {f"player_{loser}": -1.0})


@pytest.mark.parametrize("players", range(3, 7))
def test_s04_the_marquoir_loser_is_the_fullest(players: int) -> None:
    """S04, B7: for every winner and every fullest hand, that seat alone loses."""
    for winner in range(players):
        for fullest in set(range(players)) - {winner}:
            cards = ["2"] * players
            cards[winner], cards[fullest] = "A", "3 4"
            game = place(position(cards, winner, "A", (), "marquoir", deals=1, decks=2))
            say(game, f"{winner} plays A")
            say(game, *accept_all(game, winner))
            expected = {f"player_{s}": 1 / (players - 1) for s in range(players)}
            assert results(game) == pytest.approx(expected | {f"player_{fullest}": -1.0})


def test_s04_an_illegal_move_wins_nothing(game: tuple[str, int]) -> None:
    """S04: who ends the wrapped game by an illegal move gets -1, the others 0."""
    variant, players = game
    for seed in range(players):
        wrapped = env(variant, players)
        wrapped.reset(seed=seed)
        guilty = wrapped.agent_selection
        wrapped.step(act.KEEP)
        assert results(wrapped) == {
            a: -1.0 if a == guilty else 0.0 for a in wrapped.possible_agents
        }


def test_s05_every_deck_is_dealt_in_full(game: tuple[str, int]) -> None:
    """S05, A3, C3: for 200 seeds hands differ by one card at most and the deck is whole."""
    tables = Tables(*game, 200, seed=5)
    sizes = tables.state["hand_size"][:, : game[1]]
    whole = len(tables.deck) * int(tables.options["copies"])
    dealt = whole - tables.rules.removed_cards
    assert dealt == tables.options["dealt"]
    assert (sizes.sum(axis=1, dtype=int) == dealt).all()
    assert (sizes.max(axis=1) - sizes.min(axis=1)).max() <= 1
    assert not unaccounted(tables).any()
    first, rows = (tables.state["dealer"] + 1) % game[1], np.arange(200)
    assert np.array_equal(sizes[rows, first], sizes.max(axis=1))


@pytest.mark.parametrize("variant", PLAYERS)
@pytest.mark.parametrize("make", [raw_env, env, Tables])
def test_s05_other_numbers_of_players_are_refused(variant: str, make: Any) -> None:
    """S05, A1, B1, C1: construction names the number and the range."""
    for wrong in (-1, 0, 1, min(PLAYERS[variant]) - 1, max(PLAYERS[variant]) + 1, 2.5, "4"):
        with pytest.raises(RulesError, match="num_players"):
            make(variant, wrong)
