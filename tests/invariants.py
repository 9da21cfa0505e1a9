"""What holds in every game of the family, whatever its options, after every action."""

from __future__ import annotations

import numpy as np
import pytest

from cheat_env import IllegalAction, Tables
from cheat_env import actions as act
from cheat_env.cards import JOKER, NUM_RANKS
from cheat_env.observations import MEMORY, TABLE, encode, view
from cheat_env.state import OVER

#: Of the long observation, which begins with the short one.
SPACE = MEMORY.space()


def whole_deck(tables: Tables) -> np.ndarray:
    """Return how many cards of each slot there are in all."""
    cards = np.where(np.arange(JOKER + 1) < len(tables.deck), int(tables.options["copies"]), 0)
    cards[JOKER] = tables.options["jokers"]
    return cards


def cards_of(state: np.ndarray, copies: int) -> np.ndarray:
    """Return how many cards of each slot are anywhere, by table."""
    cards = state["hand"].sum(axis=1) + state["pile"].sum(axis=1) + state["burnt"].sum(axis=1)
    cards += state["group"] + state["aside"] + state["gone"]
    cards[:, :NUM_RANKS] += state["quads"] * copies
    return cards


def check_cards(tables: Tables) -> None:
    """S02: every card of the deck is somewhere, jokers too, and the sizes agree."""
    table = tables.state[0]
    found = cards_of(tables.state, int(tables.options["copies"]))[0]
    assert found.tolist() == whole_deck(tables).tolist()
    for name in ("hand", "pile", "group", "aside", "burnt", "gone", "picked"):
        assert (table[name] >= 0).all()
    assert table["hand_size"].tolist() == table["hand"].sum(axis=1).tolist()
    assert table["group_size"] == table["group"].sum()
    assert table["pile_size"] == table["pile"].sum() + table["group"].sum()
    assert table["burnt_size"] == table["burnt"].sum()
    assert table["picked_size"] == table["picked"].sum()
    assert (table["picked"] <= table["hand"][tables.seat[0]]).all()
    assert table["claimed"].sum() == table["pile_size"]
    assert table["aside"].sum() == tables.options["cards"] - tables.options["dealt"]
    check_what_left(tables)
    check_knowledge(tables)


def check_what_left(tables: Tables) -> None:
    """G4, G8, G10: cards leave the game only where the rules let them."""
    table, rules = tables.state[0], tables.rules
    assert rules.all_pass == "burn_pile" or rules.believe == "reveal" or not table["burnt_size"]
    assert rules.believe == "reveal" or not table["gone"][:JOKER].any()
    assert rules.believe == "reveal" or rules.joker_spent == "removed" or not table["gone"][JOKER]
    assert rules.quads != "none" or not table["quads"].any()


def check_knowledge(tables: Tables) -> None:
    """K2: what a seat is certain of was true before the open group was laid, jokers too."""
    table, known = tables.state[0], tables.state[0]["known"]
    held = table["hand"].copy()
    held[table["claimant"]] += table["group"]
    seats = np.arange(len(held))
    assert (known >= 0).all()
    assert (known <= held).all()
    assert not known[seats, seats].any()
    assert not known[:, table["out"] > 0].any()


def check_turn(tables: Tables) -> None:
    """S10, S12, S18: while the match goes on, a seat that is in has something to do."""
    table, mask = tables.state[0], tables.action_mask[0]
    if table["phase"] == OVER:
        assert not mask.any()
        return
    assert not (tables.terminated[0] or tables.truncated[0])
    assert mask.any()
    assert table["out"][tables.seat[0]] == 0
    assert tables.seat[0] == table["turn"]
    if mask[act.PICK : act.LAY].any():
        assert table["hand_size"][tables.seat[0]] > 0
    check_options_at_the_turn(tables)


def check_options_at_the_turn(tables: Tables) -> None:
    """G6, G7, G10 to G12, G15: what a seat may do is what the options say."""
    table, mask, rules = tables.state[0], tables.action_mask[0], tables.rules
    assert not mask[act.PASS] or (rules.passing != "none" and table["pile_size"] > 0)
    assert not mask[act.BELIEVE] or (rules.believe == "reveal" and mask[act.CHALLENGE])
    assert not mask[act.CHALLENGE] or table["group_size"] > 0
    assert not mask[act.PICK_JOKER] or rules.jokers > 0
    assert not mask[act.DISCARD : act.KEEP + 1].any() or rules.quads == "optional"
    if rules.dead_ranks == "banned":
        dead = np.flatnonzero(table["quads"])
        assert not mask[act.ANNOUNCE_RANK + (dead - max(table["rank"], 0)) % len(tables.deck)].any()
    if table["safe_turns"] > 0 or rules.last_play != "contestable":
        emptied = table["hand_size"][table["claimant"]] == 0
        assert table["group_size"] == 0 or not (table["safe_turns"] > 0 or emptied)
    if rules.quads in ("mandatory_also_on_deal", "mandatory_redeal"):
        ranks = len(tables.deck)
        assert (table["hand"][:, :ranks] < tables.options["copies"]).all()


def check_seats(tables: Tables) -> None:
    """G6, G11: who has no card is out, or waits for the verdict; passes end with the pile."""
    table, players = tables.state[0], tables.num_players
    assert table["num_out"] == (table["out"] > 0).sum()
    assert not table["hand_size"][table["out"] > 0].any()
    if table["phase"] == OVER:
        return
    waiting = np.zeros(players, np.bool_)
    waiting[table["claimant"]] = table["group_size"] > 0
    empty = table["hand_size"][:players] == 0
    assert (~empty | (table["out"][:players] > 0) | waiting).all()
    assert tables.rules.passing == "out_of_round" or not table["passed"].any()
    if table["pile_size"] == 0:
        assert not table["passed"].any()
    asked = table["group_size"] > 0 and tables.rules.challengers == "anyone"
    assert asked or not table["passed"][table["turn"]]


def check_observations(tables: Tables) -> None:
    """Every seat's observations lie in their spaces, and what it is certain of is so (K2)."""
    table, players = tables.state[0], tables.num_players
    short = np.zeros((players, TABLE.size), np.int8)
    long = np.zeros((players, MEMORY.size), np.int8)
    for seat in range(players):
        encode(table, tables.options, seat, short[seat])
        encode(table, tables.options, seat, long[seat])
    assert np.array_equal(short, long[:, : TABLE.size])
    assert SPACE.dtype == long.dtype and (long >= SPACE.low).all() and (long <= SPACE.high).all()
    ranks, base = len(tables.deck), max(int(table["rank"]), 0)
    hands = table["hand"].copy()
    hands[:, :ranks] = np.roll(hands[:, :ranks], -base, axis=1)
    for seat, known in enumerate(view(long)["known"]):
        others = (seat + 1 + np.arange(players - 1)) % players
        assert (known[: players - 1] <= hands[others]).all()


def check_refusals(tables: Tables) -> None:
    """S03, S18: every action outside the mask is refused and changes nothing."""
    before = tables.state.copy()
    for action in (*np.flatnonzero(tables.action_mask[0] == 0), -1, act.NUM_ACTIONS):
        with pytest.raises(IllegalAction):
            tables.step(np.array([action]))
    assert (tables.state == before).all()


def check_caps(tables: Tables) -> None:
    """S15: a deal is never longer than `max_plays` turns, and a cut deal pays nothing.

    Only a last card that is passed on where trusting it would end the deal is still settled (G11).
    """
    table, most = tables.state[0], tables.rules.max_plays
    assert table["plays"] <= table["turns"]
    assert table["plays"] <= most
    assert table["turns"] < most + tables.num_players
    assert table["passes"] <= table["turns"] - table["plays"]
    if tables.truncated[0]:
        assert table["turns"] >= most
        assert not tables.reward.any() and not table["loser"].any()
    assert not (tables.truncated[0] and tables.terminated[0])


def check_all(tables: Tables) -> None:
    """Check everything above."""
    check_cards(tables)
    check_turn(tables)
    check_seats(tables)
    check_observations(tables)
    check_caps(tables)


def expected_rewards(tables: Tables) -> list[float]:
    """Return what the deal that is over must have paid (A15, B7, C13, G14)."""
    table, rules, players = tables.state[0], tables.rules, tables.num_players
    out, sizes = table["out"][:players] > 0, table["hand_size"][:players].astype(int)
    if rules.scoring == "winner":
        return np.where(out, 1, -1 / (players - 1)).tolist()
    if rules.scoring == "cards_left":
        dealt = rules.dealt_for(players)
        return np.where(table["out"][:players] == 1, sizes.sum() / dealt, -sizes / dealt).tolist()
    losers = ~out if rules.scoring == "last" else ~out & (sizes == sizes.max())
    loss = 1 / losers.sum() if rules.scoring == "last" else 1
    return np.where(losers, -loss, losers.sum() * loss / (~losers).sum()).tolist()
