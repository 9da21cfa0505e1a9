"""The whole family in play: every game, deals, leaders, ends that a deal brings, and matches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import FAMILY, Lottery
from invariants import cards_of, whole_deck
from playing import Chooser
from positions import position, results, same

from cheat_env import Rules, Tables, env, raw_env, variants
from cheat_env.cards import format_cards
from cheat_env.dealing import match_winners
from cheat_env.observations import MEMORY, encode, view
from cheat_env.records import Replay
from cheat_env.state import OVER

#: Three hands of two cards of six, so that many are dealt a quad and nothing else.
TINY = {"base": "desconfio", "players": [2, 3], "deck": "A-3", "copies": 2}


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
@pytest.mark.parametrize(("variant", "players"), FAMILY, ids=str)
def test_every_game_goes_on(variant: str, players: int) -> None:
    """S02, S12: 3,000 random steps at 64 tables find something legal each time, and all cards."""
    tables, chooser, ends = Tables(variant, players, 64, seed=21, max_plays=150), Chooser(21), 0
    for _ in range(3000):
        assert tables.action_mask.any(axis=1).all()
        tables.step(chooser.choose(tables.action_mask))
        ends += int((tables.terminated | tables.truncated).sum())
    found = cards_of(tables.state, int(tables.options["copies"]))
    assert (found == whole_deck(tables)).all()
    assert (tables.state["phase"] != OVER).all()
    assert ends > 64


# --- Deals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "players"), FAMILY, ids=str)
def test_deal_sizes(variant: str, players: int) -> None:
    """G12: hands are equal or differ by one, the rest lies aside, and the right seat leads."""
    tables = Tables(variant, players, 64, seed=3)
    rules, state = tables.rules, tables.state
    alike = (state["quads"] == 0).all(axis=1)
    sizes = state["hand_size"][alike, :players].astype(int)
    assert len(sizes) > 10
    assert (sizes.sum(axis=1) == rules.dealt_for(players)).all()
    spread = sizes.max(axis=1) - sizes.min(axis=1)
    uneven = rules.deal == "all" and (rules.cards_for(players) - rules.removed_cards) % players > 0
    assert (spread == uneven).all()
    aside = rules.cards_for(players) - rules.dealt_for(players)
    assert (state["aside"].sum(axis=1) == aside).all()
    step = 0 if rules.starter == "dealer" else 1
    turns = (state["dealer"] + step) % players
    assert np.array_equal(tables.seat[alike], turns[alike])


@pytest.mark.parametrize(
    ("variant", "players", "each", "aside"),
    [
        ("dubito_down", 7, 7, 3),
        ("dubito_winner", 8, 6, 4),
        ("mogeln", 3, 18, 1),
        ("mogeln", 5, 22, 0),
        ("mogeln", 8, 13, 6),
        ("idi", 3, 7, 31),
        ("idi", 6, 7, 10),
        ("bluff_bengal", 3, 18, 0),
        ("desconfio", 5, 8, 0),
    ],
)
def test_hands_of_the_catalogue(variant: str, players: int, each: int, aside: int) -> None:
    """The sizes of hands that the catalogue of the family states."""
    table = Tables(variant, players, seed=1).state[0]
    withdrawn = 4 * int(table["quads"].sum())
    assert table["hand_size"].sum(dtype=int) + withdrawn == each * players
    assert table["aside"].sum() == aside


def test_a_leading_dealer_has_the_smallest_hand() -> None:
    """A dealer that leads is still dealt to last (the option `starter`)."""
    tables = Tables("veryu", 5, 50, seed=2)
    rows = np.arange(50)
    assert np.array_equal(tables.seat, tables.state["dealer"])
    assert (tables.state["hand_size"][rows, tables.seat] == 10).all()
    assert (tables.state["hand_size"][rows, (tables.seat + 1) % 5] == 11).all()


def test_a_deal_with_a_quad_is_dealt_again() -> None:
    """G12: under a redeal no hand holds a quad, and a deal that held none is as it was."""
    house = {"base": "verish_left", "removed_cards": 0}
    once = Tables(house, 3, 600, seed=4)
    again = Tables(house | {"quads": "mandatory_redeal"}, 3, 600, seed=4)
    held = (once.state["hand"] == 4).any(axis=(1, 2))
    assert 20 < held.sum() < 580
    assert not (again.state["hand"] == 4).any()
    equal = (once.state["hand"] == again.state["hand"]).all(axis=(1, 2))
    assert np.array_equal(equal, ~held)
    assert np.array_equal(once.state["dealer"], again.state["dealer"])


def test_withdrawn_quads_are_those_of_the_deal() -> None:
    """G12: right after the deal every quad of every hand is gone, and no other card."""
    house = {"base": "verish_left", "removed_cards": 0}
    kept = Tables(house, 3, 600, seed=4)
    shown = Tables(house | {"quads": "mandatory_also_on_deal"}, 3, 600, seed=4)
    quads = kept.state["hand"][:, :, :13] == 4
    assert np.array_equal(shown.state["quads"], quads.any(axis=1))
    expected = kept.state["hand"][:, :, :13] * ~quads
    assert np.array_equal(shown.state["hand"][:, :, :13], expected)


# --- Decided as soon as it is dealt ---------------------------------------------------------------


def test_a_deal_can_be_decided_at_the_deal() -> None:
    """G12: the first in turn order whose hand was all quads has won, and is paid."""
    tables = Tables(TINY, 3, 300, seed=1, auto_reset=False)
    kept = Tables(TINY | {"quads": "mandatory"}, 3, 300, seed=1)
    over = tables.state["phase"] == OVER
    assert 50 < over.sum() < 250
    for t in range(300):
        hands, first = kept.state[t]["hand"][:3], int(kept.seat[t])
        order = [(first + i) % 3 for i in range(3)]
        winners = [seat for seat in order if (hands[seat] == 2).any()]
        assert over[t] == bool(winners)
        paid = np.full(3, -0.5 if winners else 0)
        paid[winners[:1]] = 1
        assert tables.reward[t].tolist() == paid.tolist()
    assert np.array_equal(tables.action_mask.any(axis=1), ~over)
    assert (cards_of(tables.state, 2) == whole_deck(tables)).all()


def test_a_match_decided_at_the_deal_is_flagged() -> None:
    """Without auto_reset a table whose match is over as soon as it is dealt says so, and waits."""
    tables = Tables(TINY, 3, 300, seed=1, auto_reset=False)
    over = tables.state["phase"] == OVER
    assert np.array_equal(tables.terminated, over)
    before = tables.state.copy()
    tables.step(np.where(over, -7, tables.action_mask.argmax(axis=1)))
    assert same(tables.state[over], before[over])
    assert tables.terminated[over].all() and not tables.reward[over].any()


def test_decided_deals_are_passed_over_with_auto_reset() -> None:
    """With auto_reset every table always has a seat that can do something."""
    tables, chooser = Tables(TINY, 3, 100, seed=1), Chooser(1)
    assert tables.state["match"].max() > 1
    for _ in range(400):
        assert (tables.state["phase"] != OVER).all()
        assert tables.action_mask.any(axis=1).all()
        tables.step(chooser.choose(tables.action_mask))
        assert tables.reward.sum(axis=1) == pytest.approx(np.zeros(100), abs=1e-5)
    assert (cards_of(tables.state, 2) == whole_deck(tables)).all()


@pytest.mark.parametrize("make", [env, raw_env])
def test_an_environment_over_at_the_deal(make: Any) -> None:
    """G12: all agents are terminated at once, each is paid, and there is nothing to play."""
    game, met = make(TINY, 3), 0
    for deal in range(30):
        game.reset(seed=1, options={"deal": deal})
        if game.tables.state[0]["phase"] != OVER:
            assert not any(game.terminations.values())
            continue
        met += 1
        assert all(game.terminations.values()) and not any(game.truncations.values())
        assert sorted(game.rewards.values()) == [-0.5, -0.5, 1]
        assert [info["match_won"] for info in game.infos.values()].count(True) == 1
        assert not any(game.observe(agent)["action_mask"].any() for agent in game.agents)
        paid = dict(game.rewards)
        assert results(game) == paid
        assert game.agents == []
    assert met > 5


def test_who_is_out_at_the_deal_does_not_lead() -> None:
    """G12: where the deal goes on, seats emptied by it are out in turn order, the next leads."""
    tables = Tables(TINY | {"end": "last_in", "scoring": "last"}, 3, 300, seed=1, auto_reset=False)
    skipped = 0
    for table, seat in zip(tables.state, tables.seat, strict=True):
        order = [(int(table["dealer"]) + 1 + i) % 3 for i in range(3)]
        empty = [other for other in order if table["hand_size"][other] == 0]
        if table["phase"] == OVER:  # three hands of quads: the last in turn order loses
            assert len(empty) == 3 and np.flatnonzero(table["loser"]).tolist() == empty[2:]
            continue
        assert [int(table["out"][other]) for other in empty] == list(range(1, len(empty) + 1))
        assert seat == next(other for other in order if other not in empty)
        skipped += seat != order[0]
    assert skipped > 10


def test_rewards_of_deals_decided_at_the_deal_are_paid() -> None:
    """G12: in a match of several deals what a deal decided as dealt pays is not lost."""
    tables = Tables(TINY, 3, 200, seed=1, auto_reset=False, deals=3)
    won = tables.state["score"][:, :3]
    assert (won.sum(axis=1) > 0).sum() > 50
    expected = won - (won.sum(axis=1, keepdims=True) - won) / 2
    assert tables.reward == pytest.approx(expected)


def test_rewards_at_a_start_are_those_of_the_match_that_is_shown() -> None:
    """G12: matches that were over as dealt are skipped; what the shown one paid so far is there."""
    tables = Tables(TINY, 3, 400, seed=1, deals=3)
    won = tables.state["score"][:, :3]
    assert (tables.state["match"] > 0).any() and won.any()
    expected = won - (won.sum(axis=1, keepdims=True) - won) / 2
    assert tables.reward == pytest.approx(expected)


# --- Leaders --------------------------------------------------------------------------------------

#: After seat 0 was challenged by seat 2: who leads after a lie, and after a true play.
LEADERS = {
    "claimant_left": (1, 1),
    "challenger": (2, 2),
    "challenger_left": (3, 3),
    "picker": (0, 2),
    "claimant": (0, 0),
}


@pytest.mark.parametrize("name", LEADERS)
@pytest.mark.parametrize("card", ["2", "8"], ids=["lie", "true"])
def test_who_leads_after_a_challenge(name: str, card: str) -> None:
    """G9: each leader is found from the claimant, the challenger and who took the pile."""
    rules = {"lie_leader": name, "truth_leader": "claimant_left"}
    rules = rules if card == "2" else {"truth_leader": name, "lie_leader": "claimant_left"}
    replay = Replay(position([f"{card} 3", "4 4", "5 5", "6 6"], 0, "8", **rules))
    for move in (f"0 plays {card}", "1 accepts", "2 challenges"):
        assert replay.move(move) is None
    assert replay.table["turn"] == LEADERS[name][card == "8"]


@pytest.mark.parametrize(("name", "leader"), [("claimant", 1), ("picker", 2), ("challenger", 2)])
def test_a_leader_that_is_out_is_followed(name: str, leader: int) -> None:
    """G9: where the seat named is out, the next active seat after it leads."""
    rules = {"base": "russian", "challengers": "any", "truth_leader": name}
    replay = Replay(position(["8", "9 9", "10 J", "Q K"], 0, "8", variant=rules))
    for move in ("0 plays 8", "1 accepts", "2 challenges"):
        assert replay.move(move) is None
    assert replay.table["out"][:4].tolist() == [1, 0, 0, 0]
    assert replay.table["turn"] == leader


# --- What is seen of cards that leave the game ----------------------------------------------------


def seen(replay: Replay, seat: int) -> dict[str, Any]:
    """Return what a seat observes, cards in words."""
    out = np.empty(MEMORY.size, np.int8)
    encode(replay.table, replay.options, seat, out)
    cards = {}
    for name in ("gone", "own_burnt", "own_pile"):
        counts, base = view(out)[name].copy(), max(int(replay.table["rank"]), 0)
        counts[: len(replay.deck)] = np.roll(counts[: len(replay.deck)], base)
        cards[name] = format_cards(counts, replay.deck)
    return cards | {"burnt": int(view(out)["burnt_size"][0])}


def test_a_believed_group_is_seen_and_the_pile_below_is_not() -> None:
    """G10: the group leaves the game face up, what lay below it unseen but for who laid it."""
    start = position(["10 10 4", "6 9", "J 3", "Q 2"], 0, "10", [(2, "K 5"), (1, "7")], "veryu")
    replay = Replay(start)
    for move in ("0 plays 10 10", "1 believes"):
        assert replay.move(move) is None
    for seat, own in enumerate(("", "7", "5 K", "")):
        assert seen(replay, seat) == {"gone": "10 10", "own_burnt": own, "own_pile": "", "burnt": 3}


def test_a_burnt_pile_is_seen_by_nobody() -> None:
    """G8: all of it leaves the game unseen, the last group too; who laid a card remembers it."""
    start = position(["Q 3", "8 5", "6 9 K"], 0, "Q", [(2, "K A")], "bluff_honest")
    replay = Replay(start)
    for move in ("0 plays 3", "1 passes", "2 passes"):
        assert replay.move(move) is None
    for seat, own in enumerate(("3", "", "K A")):
        assert seen(replay, seat) == {"gone": "", "own_burnt": own, "own_pile": "", "burnt": 3}


def test_a_spent_joker_is_seen() -> None:
    """G4: jokers of a true group that was challenged leave the game face up."""
    rules = {"base": "english", "jokers": 2, "joker_spent": "removed"}
    replay = Replay(position(["7 Jo 4", "5 9", "K"], 0, "7", [(2, "Jo")], rules))
    for move in ("0 plays 7 Jo", "1 challenges"):
        assert replay.move(move) is None
    for seat in range(3):
        assert seen(replay, seat) == {"gone": "Jo", "own_burnt": "", "own_pile": "", "burnt": 0}


# --- Matches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "losses"), [("verish_left", 2), ("verish_left", 3), ("marquoir", 2)]
)
def test_deals_go_on_until_a_seat_has_lost_so_many(variant: str, losses: int) -> None:
    """The option `until`: a match ends with the deal that a seat loses for the k-th time."""
    rules = {"until": {"losses": losses}, "deals": 1, "max_plays": 10**6}
    tables, chooser = Tables(variant, 3, 40, seed=6, auto_reset=False, **rules), Chooser(6)
    paid, ends = np.zeros((40, 3)), np.zeros(40, int)
    while not tables.terminated.all():
        going_on = ~tables.terminated
        before = tables.state.copy()
        actions = chooser.choose(np.where(going_on[:, None], tables.action_mask, 1))
        tables.step(actions)
        paid += tables.reward
        ended = tables.reward.any(axis=1)
        assert not ended[~going_on].any()
        ends += ended
        assert (before["score"].max(axis=1)[ended] < losses).all()
        assert np.array_equal(tables.state["score"].max(axis=1) >= losses, tables.terminated)
    assert (tables.state["score"].max(axis=1) == losses).all()
    assert np.array_equal(tables.state["deal"] + 1, ends)
    if variant == "verish_left":  # one loser a deal
        assert (tables.state["score"].sum(axis=1) == ends).all()
        assert (ends <= 3 * (losses - 1) + 1).all() and ends.max() > ends.min()
        lost = tables.state["score"][:, :3]
        assert paid == pytest.approx((ends[:, None] - lost) / 2 - lost, abs=1e-4)


def test_the_dealer_moves_on_until_the_end() -> None:
    """C3: the deals of a match by losses are dealt by one seat after the other."""
    game, lottery, dealers = raw_env("verish_left", 3), Lottery(5), []
    game.reset(seed=5)
    while not any(game.terminations.values()):
        table = game.tables.state[0]
        if int(table["deal"]) == len(dealers):
            dealers.append(int(table["dealer"]))
        game.step(lottery.choose(game.observe(game.agent_selection)["action_mask"]))
    assert len(dealers) > 1
    assert dealers == [(dealers[0] + i) % 3 for i in range(len(dealers))]
    scores = [info["score"] for info in game.infos.values()]
    assert max(scores) == 2
    assert [info["match_won"] for info in game.infos.values()] == [s == min(scores) for s in scores]


@pytest.mark.parametrize("variant", variants())
def test_the_best_score_wins_the_match(variant: str) -> None:
    """G14: where points are losses or cards the least is best, where they are wins the most."""
    rules = Rules.load(variant)
    tables = Tables(variant, rules.players[0], 1, seed=1)
    table = tables.state[0]
    table["score"][:2] = [3, 1]
    best = 3 if rules.scoring == "winner" else table["score"][: rules.players[0]].min()
    won = match_winners(table, tables.options)
    assert won.tolist() == (table["score"][: rules.players[0]] == best).tolist()
