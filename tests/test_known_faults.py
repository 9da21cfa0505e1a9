"""Faults that others met in games like this one, as tests: S01 to S21."""

from __future__ import annotations

import copy
import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import GAMES, PLAYERS, Lottery, random_match
from positions import (
    hand,
    hands,
    legal,
    mask,
    place,
    position,
    results,
    same,
    say,
    selected,
    table_of,
)

from cheat_env import IllegalAction, RulesError, Tables, env, raw_env
from cheat_env import actions as act
from cheat_env.cards import NUM_RANKS, format_cards
from cheat_env.observations import MEMORY, TABLE
from cheat_env.records import Replay, event, from_actions
from cheat_env.state import ANNOUNCE, PLAY, QUADS, WINDOW

UP_GAMES = [("english", {}), ("marquoir", {"deals": 1})]
ALL_VARIANTS = [*UP_GAMES, ("russian", {})]
PLAYS = set(range(act.LAY + 1))


def every(variants: Any) -> Any:
    """Run a test for several games, with options that make a match one deal."""
    return pytest.mark.parametrize(("variant", "rules"), variants, ids=[v for v, _ in variants])


def ended(game: Any) -> bool:
    """Say whether any flag of any agent is set."""
    return any(game.terminations.values()) or any(game.truncations.values())


def drain(game: Any, choose: Any) -> dict[str, float]:
    """Play a game through agent_iter and return what every agent's `last` paid in all."""
    paid: dict[str, float] = dict.fromkeys(game.possible_agents, 0.0)
    for agent in game.agent_iter():
        observation, reward, terminated, truncated, _ = game.last()
        paid[agent] += reward
        game.step(None if terminated or truncated else choose(observation["action_mask"]))
    return paid


def trace(game: Any, choose: Any, steps: int) -> list[Any]:
    """Play on and return everything that everybody could see of it."""
    found = []
    for _ in range(steps):
        if not game.agents:
            break
        found.append(snapshot(game))
        game.step(None if ended(game) else choose(mask(game)))
    return found


def snapshot(game: Any) -> tuple[Any, ...]:
    """Return all that an environment shows, in comparable form."""
    seen = [game.observe(agent) for agent in game.agents]
    return (
        game.agent_selection,
        [(o["observation"].tobytes(), o["action_mask"].tobytes()) for o in seen],
        dict(game.unwrapped._cumulative_rewards),
        dict(game.rewards),
        dict(game.terminations),
        dict(game.truncations),
    )


# --- Rules of the game ----------------------------------------------------------------------------


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


class Chooser:
    """Random legal actions for many tables at once."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choose(self, masks: np.ndarray) -> np.ndarray:
        """Return one legal action a table, int (n,)."""
        return (masks * self.rng.random(masks.shape)).argmax(axis=1)


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
        say(game, *[f"{(winner + 1 + i) % players} accepts" for i in range(players - 1)])
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
            say(game, *[f"{(winner + 1 + i) % players} accepts" for i in range(players - 1)])
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
    dealt = len(tables.deck) * int(tables.options["copies"]) - int(tables.options["removed_cards"])
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


@every(UP_GAMES)
def test_s06_the_first_clockwise_challenge_counts(variant: str, rules: Any) -> None:
    """S06, A10, B5: seats are asked from the claimant's left and nobody after a challenge."""
    start = position(["A 2", "3 4", "5 6", "7 8"], 2, "9", [(0, "K")], variant, **rules)
    game = place(start)
    say(game, "2 plays 5")
    asked = []
    while table_of(game)["phase"] == WINDOW:
        asked.append(selected(game))
        game.step(act.ACCEPT)
    assert asked == [3, 0, 1]
    game = place(start)
    say(game, "2 plays 5", "3 challenges")
    assert hands(game) == ["A 2", "3 4", "5 6 K", "7 8"]
    assert (selected(game), table_of(game)["phase"]) == (3, PLAY)
    assert act.CHALLENGE not in legal(game)


@pytest.mark.parametrize("variant", ["english", "marquoir"])
def test_s06_every_seat_is_asked_first_equally_often(variant: str) -> None:
    """S06: over random games each seat's share of first questions is 1/n."""
    tables, rng, asked = Tables(variant, 4, 256, seed=6), Chooser(6), Counter[int]()
    for _ in range(400):
        plays = tables.state["plays"].copy()
        tables.step(rng.choose(tables.action_mask))
        asked.update(tables.seat[tables.state["plays"] == plays + 1].tolist())
    for seat in range(4):
        assert asked[seat] / asked.total() == pytest.approx(1 / 4, abs=0.02)


@every(UP_GAMES)
@pytest.mark.parametrize("card", ["A", "9"], ids=["true", "lie"])
@pytest.mark.parametrize("claimant", range(4))
def test_s07_the_claimants_left_plays_next(
    variant: str, rules: Any, card: str, claimant: int
) -> None:
    """S07, A13, B5: whoever was right, the next rank is played from the claimant's left."""
    cards = ["3 4 5"] * 4
    cards[claimant] += f" {card}"
    game = place(position(cards, claimant, "A", (), variant, **rules))
    left, challenger = (claimant + 1) % 4, (claimant + 2) % 4
    say(game, f"{claimant} plays {card}", f"{left} accepts", f"{challenger} challenges")
    table = table_of(game)
    assert selected(game) == left
    assert game.unwrapped.tables.deck[table["rank"]] == "2"
    assert table["pile_size"] == 0
    assert legal(game) & PLAYS
    assert act.CHALLENGE not in legal(game)


@pytest.mark.parametrize(("card", "step"), [("8", 2), ("9", 1)], ids=["true", "lie"])
@pytest.mark.parametrize("claimant", range(4))
def test_s07_russian_leads_follow_the_verdict(card: str, step: int, claimant: int) -> None:
    """S07, C8, C9: the challenger leads after a lie, else the seat after it; the rank is free."""
    cards = ["J Q K"] * 4
    cards[claimant] += f" {card}"
    game = place(position(cards, claimant, None, (), "russian"))
    say(game, f"{claimant} plays {card} as 8", f"{(claimant + 1) % 4} challenges")
    assert selected(game) == (claimant + step) % 4
    assert table_of(game)["pile_size"] == 0
    assert legal(game) == {act.ANNOUNCE_RANK + r for r in range(13)}


@every(UP_GAMES)
def test_s08_the_liar_pays(variant: str, rules: Any) -> None:
    """S08, A12: those who only accepted keep their hands."""
    start = position(["7 8", "2 3", "4 5", "J Q"], 0, "9", [(1, "K"), (2, "6")], variant, **rules)
    game = place(start)
    say(game, "0 plays 7", "1 accepts", "2 accepts", "3 challenges")
    assert hands(game) == ["6 7 8 K", "2 3", "4 5", "J Q"]


def test_s08_russian_liar_pays_for_its_own_group_only() -> None:
    """S08, C6, C8: a closed lie costs nothing, the last group's author takes the table."""
    game = place(position(["7 8", "9 10", "J Q"], 0, None, (), "russian"))
    say(game, "0 plays 7 as 6", "1 plays 9", "2 challenges")
    assert hands(game) == ["8", "7 9 10", "J Q"]


@every(UP_GAMES)
def test_s09_ranks_rise_and_wrap(variant: str, rules: Any) -> None:
    """S09, A6, B3: 27 plays claim A to K twice and an ace again, each as it was shown."""
    game = place(position(["2 3"] * 3, 0, "A", (), variant, **rules, decks=2))
    table, claims = table_of(game), []
    table["hand"][:3, 1], table["hand_size"][:3] = 20, 21
    for play in range(27):
        shown = TABLE.view(mask_and_observation(game))
        due = int(np.flatnonzero(shown["rank"])[0])
        game.step(int(np.flatnonzero(mask(game))[0]))
        game.step(act.LAY)
        assert table["claim"] == due
        assert shown["in_force"] == 1
        claims.append(due)
        seat = play % 3
        say(game, f"{(seat + 1) % 3} accepts", f"{(seat + 2) % 3} accepts")
    assert claims == [play % 13 for play in range(27)]


def mask_and_observation(game: Any) -> np.ndarray:
    """Return what the selected agent observes."""
    return game.observe(game.agent_selection)["observation"]


@every(UP_GAMES)
@pytest.mark.parametrize("card", ["K", "4"], ids=["true", "lie"])
def test_s09_a_challenge_does_not_reset_the_rank(variant: str, rules: Any, card: str) -> None:
    """S09, A6: after a challenged king an ace is due."""
    game = place(position([f"{card} 2", "5 6", "7 8"], 0, "K", (), variant, **rules))
    say(game, f"0 plays {card}", "1 challenges")
    assert table_of(game)["rank"] == 0
    assert TABLE.view(mask_and_observation(game))["rank"].tolist() == [1] + [0] * 12


@pytest.mark.parametrize("players", PLAYERS["russian"])
def test_s09_the_russian_rank_stays_until_a_challenge(players: int) -> None:
    """S09, C6: every follower claims the leader's rank."""
    game = place(position(["6 7 8"] * 2 + ["9 10 J"] * (players - 2), 0, None, (), "russian"))
    claims = []
    for _ in range(2 * players):
        if min(legal(game)) >= act.LAY + 3:
            game.step(act.ANNOUNCE_RANK + 5)
            rank = int(table_of(game)["rank"])
        game.step(min(legal(game)))
        game.step(act.LAY)
        claims.append(int(table_of(game)["claim"]))
    assert set(claims) == {rank}


@every(UP_GAMES)
def test_s10_an_emptied_hand_is_not_asked(variant: str, rules: Any) -> None:
    """S10, A14: who has laid its last card waits until the window is closed."""
    game = place(position(["2 3", "9", "4 5", "6 7"], 1, "9", (), variant, **rules))
    say(game, "1 plays 9")
    asked = []
    while not ended(game):
        asked.append(selected(game))
        game.step(act.ACCEPT)
    assert asked == [2, 3, 0]


@pytest.mark.parametrize(
    ("cards", "order"),
    [
        (["6 7 8", "", "", "9 10 J"], [0, 3, 0, 3]),  # both between them out
        (["", "6 7 8", "", "9 10 J"], [1, 3, 1, 3]),  # both neighbours out
        (["6 7 8", "9 10 J", "Q K A", ""], [0, 1, 2, 0]),  # the last seat out
        (["", "9 10 J", "Q K A", "6 7 8"], [1, 2, 3, 1]),  # the first seat out
    ],
)
def test_s10_seats_that_are_out_are_skipped(cards: list[str], order: list[int]) -> None:
    """S10, C13: the turn goes to the next seat that is still in."""
    game = place(position(cards, order[0], "5", (), "russian"))
    found = []
    for _ in order:
        found.append(selected(game))
        game.step(min(legal(game)))
        game.step(act.LAY)
    assert found == order


def test_s10_the_seat_that_would_lead_is_out() -> None:
    """S10, C9, C11: the author of a true last group, next to lead, is out and skipped."""
    game = place(position(["9", "6 7", "", "J Q"], 0, "9", (), "russian"))
    say(game, "0 plays 9", "1 challenges")
    assert (table_of(game)["out"][0], selected(game)) == (2, 3)
    game = place(position(["J Q", "", "9", "6 7"], 2, "9", (), "russian"))
    table_of(game)["hand"][0, 10] += 1  # one more queen, no quad
    table_of(game)["hand_size"][0] += 1
    say(game, "2 plays 9", "3 challenges")
    assert selected(game) == 0


def test_s10_no_empty_hand_ever_plays(game: tuple[str, int]) -> None:
    """S10: whoever is asked is in, and whoever may play holds cards."""
    tables, rng, rows = Tables(*game, 64, seed=10), Chooser(10), np.arange(64)
    for _ in range(600):
        sizes = tables.state["hand_size"][rows, tables.seat]
        assert not tables.state["out"][rows, tables.seat].any()
        assert not tables.action_mask[sizes == 0][:, : act.LAY + 1].any()
        tables.step(rng.choose(tables.action_mask))


def test_s11_the_record_tells_what_was_played() -> None:
    """S11: player, claim, count, challenger, verdict, pile size and taker are those of the play."""
    cards = ["5 9 2", "3 4", "6 7"]
    replay = Replay(position(cards, 0, "5", [(1, "K Q"), (2, "J 10")]))
    assert replay.move("0 plays 5 9") is None
    assert replay.move("1 accepts") is None
    before = replay.state.copy()
    assert replay.move("2 challenges") is None
    told = event(before, replay.state, replay.deck)
    assert told == ("seat 0 claimed 2 x 5: lie, challenged by seat 2 [5 9]; seat 0 takes 6 cards")
    assert format_cards(replay.table["hand"][0], replay.deck) == "2 5 9 10 J Q K"


def test_s11_a_games_record_replays_every_hand(game: tuple[str, int]) -> None:
    """S11: the record made of a game's actions, played again, ends in the same table."""
    variant, players = game
    played = raw_env(variant, players, max_plays=60)
    played.reset(seed=11)
    drain(played, Lottery(11).choose)
    document = from_actions(variant, players, 11, played.actions_played, max_plays=60)
    replay = Replay(document)
    assert [faults for _, faults in replay.play() if faults] == []
    assert same(replay.table, table_of(played))


def _challenge(allowed: np.ndarray) -> int:
    return act.CHALLENGE if allowed[act.CHALLENGE] else int(np.flatnonzero(allowed)[-1])


def _never_end(allowed: np.ndarray) -> int:
    """Lie where possible, and challenge whatever was laid."""
    if allowed[act.CHALLENGE]:
        return act.CHALLENGE
    return act.LAY if allowed[act.LAY] else int(np.flatnonzero(allowed)[-1])


def test_s12_a_policy_that_never_ends_meets_the_cap(game: tuple[str, int]) -> None:
    """S12: whatever is played, a game ends by the rules or at the cap, and is never stuck."""
    variant, players = game
    played = raw_env(variant, players, max_plays=50, deals=1)
    played.reset(seed=12)
    for _ in range(50 * (players + 8)):
        if ended(played):
            break
        assert mask(played).any()
        played.step(_never_end(mask(played)))
    assert ended(played)
    assert table_of(played)["plays"] <= 50


# --- What agents see ------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", PLAYERS)
def test_s13_hand_sizes_are_kept_apart(variant: str) -> None:
    """S13: opponents with 1 and 9, 5 and 5, 9 and 1 cards make three observations."""
    many = "7 7 8 8 9 9 10 10 J"
    splits = [("6", many), ("6 7 7 8 8", "9 9 10 10 J"), (many, "6")]
    seen = {}
    for others in splits:
        game = place(position(["Q K", *others], 0, "A", (), variant))
        for seat in range(3):
            observation = game.observe(f"player_{seat}")["observation"]
            sizes = [len(cards.split()) for cards in ("Q K", *others)]
            relative = [sizes[(seat + i) % 3] for i in range(3)]
            assert TABLE.view(observation)["hand_sizes"][:3].tolist() == relative
        seen[others] = mask_and_observation(game).tobytes()
    assert len(set(seen.values())) == 3


@every(ALL_VARIANTS)
@pytest.mark.parametrize("observation", ["table", "memory"])
def test_s14_the_play_just_made_is_seen(variant: str, rules: Any, observation: str) -> None:
    """S14: the next seat sees claim, count, claimant and pile of the play before it."""
    start = position(["K K J 2", "3 4", "5 6", "7 8"], 0, "K", (), variant, **rules)
    seen = []
    for cards in ("K", "J K K"):
        game = place(start, observation=observation)
        say(game, f"0 plays {cards}")
        count = len(cards.split())
        for seat in (1, 2, 3) if variant != "russian" else (1,):
            assert selected(game) == seat
            fields = TABLE.view(mask_and_observation(game)[: TABLE.size])
            assert fields["group_size"] == fields["pile_size"] == count
            assert np.flatnonzero(fields["rank"]).tolist() == [12]
            assert np.flatnonzero(fields["claimant"]).tolist() == [4 - seat]
            seen.append(mask_and_observation(game).tobytes())
            if variant != "russian" and seat < 3:
                game.step(act.ACCEPT)
    assert len(set(seen)) == len(seen)


def test_s14_everybody_sees_its_own_hand(game: tuple[str, int]) -> None:
    """S14: at every step each seat's own hand is its own, and only who acts has a mask."""
    variant, players = game
    played = raw_env(variant, players, max_plays=30, deals=1)
    played.reset(seed=14)
    lottery = Lottery(14)
    while not ended(played):
        table, ranks = table_of(played), len(played.tables.deck)
        for seat, agent in enumerate(played.agents):
            seen = played.observe(agent)
            own = TABLE.view(seen["observation"])["own_hand"]
            turned = np.roll(table["hand"][seat][:ranks], -max(int(table["rank"]), 0))
            assert np.array_equal(own[:ranks], turned)
            assert seen["action_mask"].any() == (agent == played.agent_selection)
        played.step(lottery.choose(mask(played)))


# --- The AEC interface ----------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS["english"])
@pytest.mark.parametrize("variant", ["english", "marquoir"])
@pytest.mark.parametrize("make", [env, raw_env])
def test_s15_the_cap_truncates(make: Any, variant: str, players: int) -> None:
    """S15: the tenth play's window is settled, then all are truncated, unpaid, and none ended."""
    game = make(variant, players, max_plays=10)
    game.reset(seed=15)
    lottery, verdicts = Lottery(15), 0
    while not game.truncations[game.agent_selection]:
        table = table_of(game)
        assert not any(game.terminations.values())
        assert table["plays"] < 10 or table["phase"] == WINDOW
        verdicts += table["plays"] == 10
        allowed = mask(game)
        game.step(act.ACCEPT if allowed[act.ACCEPT] else lottery.choose(allowed))
    assert (table_of(game)["plays"], verdicts) == (10, players - 1)
    assert set(game.truncations.values()) == {True}
    assert set(game.terminations.values()) == {False}
    assert results(game) == dict.fromkeys(game.possible_agents, 0.0)
    assert game.agents == []


@pytest.mark.parametrize("players", PLAYERS["russian"])
def test_s15_the_cap_truncates_russian(players: int) -> None:
    """S15: neither nine nor eleven plays, but ten."""
    game = raw_env("russian", players, max_plays=10)
    game.reset(seed=15)
    while not ended(game):
        allowed = mask(game).copy()
        allowed[act.CHALLENGE] = 0
        game.step(int(np.flatnonzero(allowed)[0]))
    assert table_of(game)["plays"] == 10
    assert set(game.truncations.values()) == {True}
    assert set(game.terminations.values()) == {False}
    assert set(results(game).values()) == {0.0}


def test_s15_an_end_on_the_last_play_is_an_end() -> None:
    """S15: a deal won by the very last play allowed is won, not truncated."""
    for variant in ("english", "marquoir"):
        game = place(position(["8", "2 3", "4 5"], 0, "8", (), variant, deals=1, max_plays=1))
        say(game, "0 plays 8", "1 accepts", "2 accepts")
        assert set(game.terminations.values()) == {True}
        assert set(game.truncations.values()) == {False}
    game = place(position(["8", "2 3"], 0, "8", (), "russian", deck="2-A", max_plays=1))
    say(game, "0 plays 8", "1 accepts")
    assert set(game.terminations.values()) == {True}


@pytest.mark.parametrize("make", [env, raw_env])
def test_s16_last_pays_every_reward_once(game: tuple[str, int], make: Any) -> None:
    """S16: sums of `last` are the table's own, each agent has one dead visit, and none is left."""
    variant, players = game
    played = make(variant, players, max_plays=200, deals=3)
    lottery = Lottery(16)
    for seed in range(3):
        played.reset(seed=seed)
        paid, earned = Counter[str](), np.zeros(players)
        dead: Counter[str] = Counter()
        for agent in played.agent_iter():
            observation, reward, terminated, truncated, _ = played.last()
            paid[agent] += reward
            if terminated or truncated:
                dead[agent] += 1
                played.step(None)
            else:
                played.step(lottery.choose(observation["action_mask"]))
                earned += played.unwrapped.tables.reward[0]
        assert played.agents == []
        assert dead == Counter(played.possible_agents)
        assert [paid[a] for a in played.possible_agents] == pytest.approx(earned.tolist())
        assert earned.sum() == pytest.approx(0, abs=1e-5)


def test_s16_a_dead_agent_takes_only_none() -> None:
    """S16: an action for an agent that is done raises."""
    game = place(position(["8", "2 3", "4 5"], 0, "8"))
    say(game, "0 plays 8", "1 accepts", "2 accepts")
    with pytest.raises(ValueError, match="None"):
        game.step(act.ACCEPT)


def test_s16_a_reward_waits_for_the_next_last() -> None:
    """S16: what a deal inside a match pays is found once, at each agent's next `last`."""
    game = place(position(["8", "2 3", "4 5 6"], 0, "8", (), "marquoir", deals=2))
    say(game, "0 plays 8", "1 accepts", "2 accepts")
    assert not ended(game)
    lottery, paid = Lottery(0), {}
    while len(paid) < 3:
        agent = game.agent_selection
        reward = game.last()[1]
        assert reward == (0.0 if agent in paid else {"player_2": -1.0}.get(agent, 0.5))
        paid[agent] = reward
        game.step(lottery.choose(mask(game)))


@pytest.mark.parametrize("at_step", [0, 3, 10])
def test_s17_a_game_after_an_illegal_ending_is_a_fresh_one(
    game: tuple[str, int], at_step: int
) -> None:
    """S17: after an illegal action, or a reset half way through the dead steps, all is as new."""
    variant, players = game
    wrapped, fresh = env(variant, players), env(variant, players)
    for dead_steps in (players, 1):
        wrapped.reset(seed=17)
        fresh.reset(seed=1)
        first, lottery = snapshot(fresh), Lottery(1)
        for _ in range(at_step):
            assert wrapped.agent_selection == wrapped.unwrapped.agent_selection
            wrapped.step(lottery.choose(mask(wrapped)))
        wrapped.step(act.BELIEVE)
        assert ended(wrapped)
        for _ in range(dead_steps):
            assert wrapped.agent_selection == wrapped.unwrapped.agent_selection
            wrapped.step(None)
        assert len(wrapped.agents) == players - dead_steps
        wrapped.reset(seed=1)
        assert wrapped.agents == wrapped.possible_agents
        assert snapshot(wrapped) == first
        expected = trace(fresh, Lottery(2).choose, 60)
        assert trace(wrapped, Lottery(2).choose, 60) == expected


def oracle(table: Any, options: Any, variant: str) -> set[int]:
    """Return the legal actions by the rule book, written again and apart from the engine."""
    ranks, base, most = int(options["num_ranks"]), max(int(table["rank"]), 0), 4
    own, phase = table["hand"][table["turn"]], int(table["phase"])
    found: set[int] = set()
    if variant == "russian":
        most = 3
        if table["group_size"] and phase in (ANNOUNCE, PLAY) and not table["picked"].any():
            found.add(act.CHALLENGE)  # C6
    if phase == WINDOW:
        return {act.ACCEPT, act.CHALLENGE}
    if phase == ANNOUNCE:
        return found | {act.ANNOUNCE_RANK + r for r in range(ranks)}
    if phase == QUADS:
        sets = {r for r in range(ranks) if own[(base + r) % ranks] == options["copies"]}
        return {act.DISCARD + r for r in sets} | {act.KEEP}
    picked = [int(table["picked"][(base + r) % ranks]) for r in range(ranks)]
    lowest = max([r for r in range(ranks) if picked[r]], default=0)
    if sum(picked):
        found.add(act.LAY)
    if sum(picked) < most:
        found |= {r for r in range(lowest, ranks) if own[(base + r) % ranks] > picked[r]}
    return found


def test_s18_the_mask_is_the_rule_book(game: tuple[str, int]) -> None:
    """S18: in 22,500 random states in all the mask is what the rules allow, never empty."""
    variant, _ = game
    tables, rng, phases = Tables(*game, 30, seed=18), Chooser(18), Counter[int]()
    space = tables.layout.space()
    for step in range(400):
        if step % 8 == 0:
            for t in range(30):
                allowed = set(np.flatnonzero(tables.action_mask[t]).tolist())
                assert allowed == oracle(tables.state[t], tables.options, variant)
                assert allowed
                assert space.contains(tables.observation[t])
                phases[int(tables.state[t]["phase"])] += 1
        tables.step(rng.choose(tables.action_mask))
    assert tables.action_mask.dtype == np.int8
    wanted = {"english": {PLAY, WINDOW}, "marquoir": {PLAY, WINDOW}}.get(variant, {ANNOUNCE, PLAY})
    assert wanted <= set(phases)


@pytest.mark.parametrize("variant", PLAYERS)
def test_s18_a_copy_accepts_just_what_is_masked(variant: str) -> None:
    """S18: of all 46 actions a copied environment accepts those of the mask and no other."""
    game, lottery = raw_env(variant, 3), Lottery(18)
    game.reset(seed=18)
    for _ in range(12):
        for _ in range(5):
            game.step(lottery.choose(mask(game)))
        seen = game.observe(game.agent_selection)
        assert game.observation_space(game.agent_selection).contains(seen)
        assert seen["action_mask"].shape == (game.action_space(game.agent_selection).n,)
        accepted = set()
        for action in range(act.NUM_ACTIONS):
            trial = copy.deepcopy(game)
            try:
                trial.step(action)
            except IllegalAction:
                continue
            accepted.add(action)
        assert accepted == set(np.flatnonzero(seen["action_mask"]).tolist())


@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.parametrize("variant", PLAYERS)
def test_s19_copies_keep_the_game(variant: str, make: Any) -> None:
    """S19: in every phase deepcopy and pickle go on as the original and apart from it."""
    phases = set()
    for steps in range(0, 400, 11):
        game = make(variant, 3, observation="memory", deals=2)
        game.reset(seed=steps)
        lottery = Lottery(steps)
        for _ in range(steps):
            if not ended(game):
                game.step(lottery.choose(mask(game)))
        phases.add(int(table_of(game)["phase"]))
        copies = [copy.deepcopy(game), pickle.loads(pickle.dumps(game))]
        expected = trace(game, Lottery(19).choose, 30)
        for copied in copies:
            assert trace(copied, Lottery(19).choose, 30) == expected
        for copied in copies:
            assert same(table_of(copied), table_of(game))
    assert {"russian": {ANNOUNCE, PLAY, QUADS}}.get(variant, {PLAY, WINDOW}) <= phases


@pytest.mark.parametrize("make", [env, raw_env])
def test_s20_a_seed_is_a_deal(game: tuple[str, int], make: Any) -> None:
    """S20: the same seed deals the same, another one another, whatever global generators did."""
    played = make(*game)
    deals = []
    for seed in (7, 7, 8):
        played.reset(seed=seed)
        deals.append(played.state().tobytes())
        random.random()
        np.random.random()
    assert deals[0] == deals[1] != deals[2]


def test_s20_without_a_seed_the_sequence_goes_on(game: tuple[str, int]) -> None:
    """S20: reset() after reset(seed=7) deals something new, and the same new thing each time."""

    def deals(steps: int) -> list[bytes]:
        played, found, lottery = raw_env(*game), [], Lottery(steps)
        played.reset(seed=7)
        for _ in range(4):
            found.append(played.state().tobytes())
            for _ in range(steps):
                if not ended(played):
                    played.step(lottery.choose(mask(played)))
            played.reset()
        return found

    assert deals(0) == deals(50)
    assert len(set(deals(0))) == 4


def test_s20_unseeded_games_differ() -> None:
    """S20: two environments that were never given a seed deal differently."""
    games = [raw_env(), raw_env()]
    for game in games:
        game.reset()
    assert games[0].state().tobytes() != games[1].state().tobytes()


def test_s20_global_generators_are_left_alone(game: tuple[str, int]) -> None:
    """S20: reset and a hundred steps neither read nor disturb them."""
    random.seed(1)
    np.random.seed(1)
    before = (random.getstate(), str(np.random.get_state()))
    played = env(*game)
    played.reset(seed=20)
    trace(played, Lottery(20).choose, 100)
    played.reset()
    assert (random.getstate(), str(np.random.get_state())) == before


def test_s20_games_side_by_side_are_apart(game: tuple[str, int]) -> None:
    """S20: two environments stepped in turn play as each does alone."""
    alone = []
    for seed in (1, 2):
        played = raw_env(*game)
        played.reset(seed=seed)
        alone.append(trace(played, Lottery(seed).choose, 60))
    both = [raw_env(*game), raw_env(*game)]
    lotteries = [Lottery(1), Lottery(2)]
    for seed, played in enumerate(both, 1):
        played.reset(seed=seed)
    found: list[list[Any]] = [[], []]
    for _ in range(60):
        for i in (0, 1):
            found[i] += trace(both[i], lotteries[i].choose, 1)
    assert found == alone


#: Every option other than the English game's.
CHANGED: dict[str, Any] = {
    "players": [2, 7],
    "deck": "2-Q",
    "decks": 2,
    "cards_per_play": [2, 3],
    "opening": "5",
    "rank": "down",
    "challengers": "next",
    "lie_leader": "picker",
    "truth_leader": "claimant",
    "rank_after_challenge": "same",
    "quads": "mandatory",
    "removed_cards": 2,
    "scoring": "most_cards",
    "deals": 2,
    "max_plays": 77,
}


@pytest.mark.parametrize("make", [env, raw_env])
def test_s21_options_outlive_resets(make: Any) -> None:
    """S21: after any reset of any copy the rules, the cap and the layout are those asked for."""
    game = make("english", 5, observation="memory", render_mode="ansi", **CHANGED)
    for start in (lambda e: e.reset(), lambda e: e.reset(seed=3), lambda e: e.reset(seed=9)):
        for played in (game, copy.deepcopy(game)):
            start(played)
            assert played.agents == [f"player_{seat}" for seat in range(5)]
            options = played.unwrapped.tables.rules.as_options()
            assert {name: options[name] for name in CHANGED} == CHANGED
            assert mask_and_observation(played).shape == (MEMORY.size,)
            assert isinstance(played.render(), str)
            drain(played, _challenge)
            table = table_of(played)
            assert table["deal"] == 1 or table["plays"] == 77
            assert table["plays"] <= 77


@pytest.mark.parametrize(("variant", "players"), GAMES)
def test_s21_rewards_are_those_of_the_game_after_any_reset(variant: str, players: int) -> None:
    """S21: three games on one environment are those of three new ones."""
    once = raw_env(variant, players, max_plays=200, deals=1)
    for seed in (1, 2, 3):
        new = raw_env(variant, players, max_plays=200, deals=1)
        once.reset(seed=seed)
        new.reset(seed=seed)
        assert drain(once, Lottery(seed).choose) == drain(new, Lottery(seed).choose)


def test_random_match_reaches_the_rules_end() -> None:
    """S12: random play of the shared helper ends, so that what is built on it is not empty."""
    for tables, _ in random_match("russian", 3, 1):
        last = tables
    assert last.terminated[0]
