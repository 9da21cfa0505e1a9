"""Faults that others met in games like this one: turns, ranks and ends, S06 to S12."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import PLAYERS, Lottery, random_match
from playing import UP_GAMES, Chooser, drain, ended, every, look, never_end
from positions import hands, legal, mask, place, position, same, say, selected, table_of

from cheat_env import Tables, raw_env
from cheat_env import actions as act
from cheat_env.cards import format_cards
from cheat_env.observations import TABLE
from cheat_env.records import Replay, from_actions
from cheat_env.render import event
from cheat_env.state import PLAY, WINDOW


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
    assert legal(game) & set(range(act.LAY + 1))
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
        shown = TABLE.view(look(game))
        due = int(np.flatnonzero(shown["rank"])[0])
        game.step(int(np.flatnonzero(mask(game))[0]))
        game.step(act.LAY)
        assert table["claim"] == due
        assert shown["in_force"] == 1
        claims.append(due)
        seat = play % 3
        say(game, f"{(seat + 1) % 3} accepts", f"{(seat + 2) % 3} accepts")
    assert claims == [play % 13 for play in range(27)]


@every(UP_GAMES)
@pytest.mark.parametrize("card", ["K", "4"], ids=["true", "lie"])
def test_s09_a_challenge_does_not_reset_the_rank(variant: str, rules: Any, card: str) -> None:
    """S09, A6: after a challenged king an ace is due."""
    game = place(position([f"{card} 2", "5 6", "7 8"], 0, "K", (), variant, **rules))
    say(game, f"0 plays {card}", "1 challenges")
    assert table_of(game)["rank"] == 0
    assert TABLE.view(look(game))["rank"].tolist() == [1] + [0] * 12


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


def test_s12_a_policy_that_never_ends_meets_the_cap(game: tuple[str, int]) -> None:
    """S12: whatever is played, a game ends by the rules or at the cap, and is never stuck."""
    variant, players = game
    played = raw_env(variant, players, max_plays=50, deals=1)
    played.reset(seed=12)
    for _ in range(50 * (players + 8)):
        if ended(played):
            break
        assert mask(played).any()
        played.step(never_end(mask(played)))
    assert ended(played)
    assert table_of(played)["plays"] <= 50


def test_random_match_reaches_the_rules_end() -> None:
    """S12: random play of the shared helper ends, so that what is built on it is not empty."""
    for tables, _ in random_match("russian", 3, 1):
        last = tables
    assert last.terminated[0]
