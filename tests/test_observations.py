"""What a seat sees: the layout, and each field from every seat."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from conftest import GAMES, VARIANTS, random_match
from positions import mask, place, position, say, table_of
from random_positions import Position, family_positions, observed, players_of, positions

from cheat_env import Rules, Tables, raw_env
from cheat_env.cards import RANKS
from cheat_env.engine import base_rank
from cheat_env.observations import LAYOUTS, MEMORY, TABLE, TRUTH, Layout, layout, view
from cheat_env.options import SHOWN
from cheat_env.state import (
    ANNOUNCE,
    FIELDS,
    NO_CLAIM,
    NO_RANK,
    OVER,
    PHASES,
    PLAY,
    QUADS,
    WINDOW,
    allocate,
)
from cheat_env.values import PROGRESSIONS, QUAD_RULES, VALUES
from cheat_env.words import text

# --- Layout ---------------------------------------------------------------------------------------


def test_the_positions_are_of_every_kind() -> None:
    """The random positions below reach every phase of every game."""
    kinds = {(here.variant, here.kind) for here in positions()}
    everywhere = {(variant, kind) for variant in VARIANTS for kind in ("play", "picking")}
    windows = {("english", "window"), ("marquoir", "window")}
    others = {("marquoir", "announce"), ("russian", "announce"), ("russian", "quads")}
    assert everywhere | windows | others <= kinds


@pytest.mark.parametrize("name", LAYOUTS)
def test_spaces(game: tuple[str, int], name: str) -> None:
    """Spaces are int8 of the layout's size and hold what is observed."""
    played = raw_env(*game, observation=name)
    played.reset(seed=0)
    for agent in played.agents:
        space = played.observation_space(agent)
        assert space["observation"].dtype == space["action_mask"].dtype == np.int8
        assert space["observation"].shape == (layout(name).size,)
        assert space["action_mask"].shape == (46,)
        assert space.contains(played.observe(agent))


def test_every_observation_is_in_its_space() -> None:
    """No field passes the largest value that it declares."""
    for here in (*positions(), *family_positions()):
        for seat in players_of(here):
            for chosen in LAYOUTS.values():
                assert chosen.space().contains(observed(here, seat, chosen))


def test_table_is_a_prefix_of_memory() -> None:
    """The short observation is the beginning of the long one."""
    assert [field.name for field in TABLE.fields] == list(MEMORY.start)[: len(TABLE.fields)]
    for here in (*positions(), *family_positions()):
        for seat in players_of(here):
            long = observed(here, seat)
            assert np.array_equal(long[: TABLE.size], observed(here, seat, TABLE))


@pytest.mark.parametrize("chosen", [TABLE, MEMORY, TRUTH], ids=lambda chosen: chosen.name)
def test_markdown_covers_every_number_once(chosen: Layout) -> None:
    """The places of the Markdown rows, end to end, are the layout's numbers."""
    places: list[int] = []
    for row in chosen.markdown().splitlines()[2:]:
        first, last = re.match(r"\| (\d+)(?:-(\d+))? \|", row).groups()
        places += range(int(first), int(last or first) + 1)
    assert places == list(range(chosen.size))


@pytest.mark.parametrize("chosen", [TABLE, MEMORY], ids=lambda chosen: chosen.name)
def test_view_names_every_field(chosen: Layout) -> None:
    """A view has each field in its shape, one after another, and writes through."""
    numbers = np.arange(2 * 3 * chosen.size).reshape(2, 3, chosen.size).astype(np.int8)
    fields = view(numbers)
    assert {name: array.shape[2:] for name, array in fields.items()} == {
        field.name: field.shape for field in chosen.fields
    }
    flat = [array.reshape(2, 3, -1) for array in fields.values()]
    assert np.array_equal(np.concatenate(flat, axis=2), numbers)
    fields["own_hand"][...] = 99
    assert (numbers[..., chosen.start["own_hand"]] == 99).all()


def test_view_refuses_other_sizes() -> None:
    """An array that is no observation is refused with the sizes that are."""
    with pytest.raises(ValueError, match=f"{TABLE.size} .table., {MEMORY.size} .memory."):
        view(np.zeros(TABLE.size + 1, np.int8))


def test_scales_are_positive() -> None:
    """Every number has a size to scale it by, at most its largest value."""
    assert (MEMORY.per_number("scale") > 0).all()
    assert (MEMORY.per_number("scale") <= MEMORY.per_number("high")).all()


# --- Every field, from every seat -----------------------------------------------------------------


def test_own_hand_is_the_seats_own() -> None:
    """Each seat sees its own hand, counted from the rank in force (K1)."""
    for here in (*positions(), *family_positions()):
        for seat in players_of(here):
            own = view(observed(here, seat))["own_hand"]
            assert np.array_equal(own, here.turned(here.table["hand"][seat]))


def test_picked_cards_are_the_pickers_own() -> None:
    """Only the seat that picks sees what it has picked."""
    for here in (*positions(), *family_positions()):
        for seat in players_of(here):
            picked = view(observed(here, seat))["picked"]
            own = here.table["picked"] * (seat == here.table["turn"])
            assert np.array_equal(picked, here.turned(own))


def shown_phase(table: Any, seat: int) -> int:
    """Return the phase that a seat sees: that the taker holds a quad is its own affair (K1)."""
    if table["phase"] != QUADS or seat == table["turn"]:
        return int(table["phase"])
    return ANNOUNCE if table["rank"] == NO_RANK else PLAY


def test_public_fields() -> None:
    """What everybody sees, phase and rank, pile and sizes, is as it is at the table."""
    for here in (*positions(), *family_positions()):
        table, players = here.table, len(players_of(here))
        named = table["claim"] if table["rank"] == NO_RANK else table["rank"]
        for seat in players_of(here):
            seen = view(observed(here, seat))
            around = [(seat + i) % players for i in range(players)]
            assert np.flatnonzero(seen["phase"]).tolist() == [shown_phase(table, seat)]
            ranks = [RANKS.index(here.deck[named])] if named != NO_RANK else []
            assert np.flatnonzero(seen["rank"]).tolist() == ranks
            assert seen["in_force"] == (table["rank"] != NO_RANK)
            assert seen["pile_size"] == table["pile_size"]
            assert seen["group_size"] == table["group_size"]
            by = [around.index(table["claimant"])] if table["group_size"] else []
            assert np.flatnonzero(seen["claimant"]).tolist() == by
            for name, field in (("hand_sizes", "hand_size"), ("out", "out"), ("scores", "score")):
                assert seen[name].tolist() == [*table[field][around], *[0] * (8 - players)]
            assert seen["quads"].tolist() == here.turned(table["quads"]).tolist()
            assert seen["gone"].tolist() == here.turned(table["gone"]).tolist()
            assert seen["burnt_size"] == table["burnt"].sum()
            assert seen["safe_turns"] == table["safe_turns"]
            assert seen["passed"].tolist() == [*table["passed"][around], *[0] * (8 - players)]


def test_rule_flags() -> None:
    """Players, ranks, copies, maximum and the kind of game are the rules' own."""
    flags = {"english": ("up", 0, 0, 4), "marquoir": ("up", 0, 0, 4), "russian": ("fixed", 1, 1, 3)}
    names = ("up", "down", "fixed", "adjacent", "same_or_adjacent", "free")
    for here in positions():
        seen, players = view(observed(here, 0)), len(players_of(here))
        progression, following, quads, most = flags[here.variant]
        assert seen["players"] == players
        assert seen["num_ranks"] == len(here.deck)
        assert seen["copies"] == (8 if here.variant == "marquoir" and players > 6 else 4)
        assert seen["most"] == most
        assert [names[i] for i in np.flatnonzero(seen["progression"])] == [progression]
        assert (seen["next_challenges"], seen["quad_rule"]) == (following, quads)


def test_rule_flags_of_every_game() -> None:
    """The flags are the values of the options, by their names."""
    for here in (*positions(), *family_positions()):
        seen, players = view(observed(here, 0)), len(players_of(here))
        rules = Rules.load(here.variant)
        assert seen["copies"] == 4 * rules.decks_for(players)
        assert seen["jokers"] == rules.jokers * rules.decks_for(players)
        assert seen["aside"] == rules.cards_for(players) - rules.dealt_for(players)
        assert (*seen["fewest"], *seen["most"]) == rules.cards_per_play
        assert [PROGRESSIONS[i] for i in np.flatnonzero(seen["progression"])] == [rules.rank]
        assert seen["next_challenges"] == (rules.challengers == "next")
        assert QUAD_RULES[int(seen["quad_rule"][0])] == rules.quads
        shown = zip(SHOWN, seen["rules"], strict=True)
        assert all(VALUES[name][place] == getattr(rules, name) for name, place in shown)


def test_every_option_of_play_is_shown() -> None:
    """Every option with values is seen in the observation, but for who deals and who leads it."""
    elsewhere = {"rank", "challengers", "quads", "starter"}
    assert set(SHOWN) == set(VALUES) - elsewhere


def test_own_pile_is_what_the_seat_laid() -> None:
    """A seat remembers its own cards of the pile and of burnt ones, the open group too (K2)."""
    for here in (*positions(), *family_positions()):
        table = here.table
        for seat in players_of(here):
            own, seen = table["pile"][seat].copy(), view(observed(here, seat))
            own += table["group"] * (seat == table["claimant"])
            assert np.array_equal(seen["own_pile"], here.turned(own))
            assert np.array_equal(seen["own_burnt"], here.turned(table["burnt"][seat]))


def test_what_is_known_of_a_hand_is_there() -> None:
    """A card that a seat is said to hold for certain is in its hand, for every observer (K2)."""
    certain = 0
    for variant, players in GAMES:
        for number, (tables, _) in enumerate(random_match(variant, players, 9, deals=1)):
            if number > 900:
                break
            if number % 3:
                continue
            here = Position(variant, tables.state, tables.options, tables.deck)
            for seat in range(players):
                known = view(observed(here, seat))["known"]
                for i in range(1, players):
                    held = here.turned(here.table["hand"][(seat + i) % players])
                    assert (known[i - 1] <= held).all()
                    certain += int(known[i - 1].sum())
                assert not known[players - 1 :].any()
    assert certain > 1000


def test_a_seat_remembers_what_it_saw() -> None:
    """Turned-up cards and its own cards in a pile that was taken are known, others are not (K2)."""
    start = position(["A 9 4", "2 5", "3 6"], 0, "A", [(1, "K"), (2, "Q")])
    game = place(start, observation="memory")
    say(game, "0 plays 9", "1 challenges")
    ranks = game.unwrapped.tables.deck
    known = {}
    for seat in (1, 2):
        here = Position("english", game.tables.state, game.tables.options, ranks)
        cards = view(observed(here, seat))["known"][(0 - seat) % 3 - 1]
        base = int(table_of(game)["rank"])
        known[seat] = {ranks[(base + r) % 13]: int(n) for r, n in enumerate(cards[:13]) if n}
    assert known == {1: {"9": 1, "K": 1}, 2: {"9": 1, "Q": 1}}


def test_claims_are_remembered_in_order() -> None:
    """The last claims come newest first, with seat, rank, count and what became of them."""
    game = place(position(["A 9 4", "2 5", "3 6"], 0, "A"), observation="memory")
    say(game, "0 plays A 9", "1 accepts", "2 accepts", "1 plays 2", "2 challenges", "2 plays 6")
    recent = view(game.observe("player_0")["observation"])["recent"]
    pending, accepted, true = [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]
    base = int(table_of(game)["rank"])
    claims = [[3, 2, 1, *pending], [2, 1, 1, *true], [1, 0, 2, *accepted]]
    for row, (seat, rank, count, *outcome) in zip(recent, claims, strict=False):
        assert row.tolist() == [seat, (rank - base) % 13, count, *outcome]
    assert not recent[3:].any()
    tallies = view(game.observe("player_0")["observation"])["tallies"]
    assert tallies[0, 1].tolist() == [1, 0, 0, 0, 0, 0]  # a claim of two, accepted
    assert tallies[1, 0].tolist() == [1, 0, 1, 0, 0, 0]  # a claim of one, proven true
    assert tallies[1, 1].tolist() == [0, 0, 0, 1, 0, 0]  # asked about the two
    assert tallies[2, 0].tolist() == [1, 0, 0, 1, 1, 0]  # asked about the one, wrong


def test_state_has_every_card(game: tuple[str, int]) -> None:
    """The truth for critics is in its space and holds the whole deck."""
    played = raw_env(*game)
    played.reset(seed=1)
    options, lottery = played.tables.options, np.random.default_rng(1)
    for _ in range(120):
        found = played.state()
        assert played.state_space.contains(found)
        fields = TRUTH.view(found)
        cards = fields["hand"].sum(0) + fields["pile"].sum(0) + fields["burnt"].sum(0)
        cards += fields["group"] + fields["aside"] + fields["gone"]
        cards[:13] += fields["quads"] * options["copies"]
        assert (cards[: len(played.tables.deck)] == options["copies"]).all()
        if fields["phase"].any():
            assert np.flatnonzero(fields["turn"]).tolist() == [played.tables.seat[0]]
            played.step(int(lottery.choice(np.flatnonzero(mask(played)))))
        else:
            played.reset()


# --- Whose arrays they are ------------------------------------------------------------------------


def test_arrays_are_the_callers_own() -> None:
    """Writing into what was handed out changes neither the game nor what was handed to others."""
    game = place(position(["A 9", "2 5", "3 6"], 0, "A"))
    agents = [*game.possible_agents, game.agent_selection]
    before = [game.observe(agent) for agent in agents]
    kept = [{name: array.copy() for name, array in seen.items()} for seen in before]
    truth = game.state()
    for seen in (*before, game.last()[0]):
        for array in seen.values():
            array[:] = 77
    truth[:] = 77
    after = [game.observe(agent) for agent in agents]
    for one, other in zip(kept, after, strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not (game.state() == 77).any()
    say(game, "0 plays A")


# --- Words ----------------------------------------------------------------------------------------


def test_text_names_what_is_seen() -> None:
    """An observation in words tells hand, rank, pile and hands with the cards' own names."""
    game = place(position(["A 9 9", "2 5", "3 6"], 0, "9", [(2, "K")]), observation="memory")
    game.step(0)
    words = text(game.observe("player_0")["observation"], game.tables.deck)
    lines = dict(line.split(": ", 1) for line in words.splitlines())
    assert lines["asked to"] == "play"
    assert lines["rank"] == "9"
    assert lines["own hand"] == "9 9 A"
    assert lines["picked"] == "9"
    assert lines["pile"].startswith("1")
    assert lines["hands"] == "3 2 2"
    other = text(game.observe("player_2")["observation"], game.tables.deck)
    assert "own hand: 3 6" in other
    assert "picked: none" in other
    assert "own cards in the pile: K" in other


def test_text_of_every_position() -> None:
    """Every observation, short and long, has words, and its own hand is in them."""
    for here in (*positions(), *family_positions()):
        for seat in players_of(here):
            short = text(observed(here, seat, TABLE), here.deck)
            long = text(observed(here, seat), here.deck)
            assert long.startswith(short)
            own = re.search(r"own hand: (.*)", short).group(1).split()
            sizes = int(here.table["hand_size"][seat])
            assert (0 if own == ["none"] else len(own)) == sizes


# --- Nothing to see -------------------------------------------------------------------------------


def test_an_empty_table_is_seen_too() -> None:
    """Before anything was claimed, memory is empty."""
    tables = Tables("english", 4)
    fields = view(tables.observation[0])
    for name in ("own_pile", "known", "claimed", "tallies", "recent", "picked", "claimant"):
        assert not fields[name].any()
    assert tables.state[0]["recent"][0][3] == NO_CLAIM


def test_an_ended_deal_is_seen_without_a_phase() -> None:
    """When all is over nobody is asked for anything."""
    game = place(position(["8", "2 3", "4 5"], 0, "8"))
    say(game, "0 plays 8", "1 accepts", "2 accepts")
    assert table_of(game)["phase"] == OVER
    seen = game.observe("player_1")
    assert not view(seen["observation"])["phase"].any()
    assert not seen["action_mask"].any()
    assert "asked to: nothing" in text(seen["observation"], game.tables.deck)


def test_names_of_phases_and_fields() -> None:
    """The numbers of the phases are the places of their names, and no field is declared twice."""
    numbers = (ANNOUNCE, PLAY, WINDOW, QUADS, OVER)
    assert [PHASES[n] for n in numbers] == ["announce", "play", "window", "quads", "over"]
    assert len({field.name for field in FIELDS}) == len(FIELDS)
    assert base_rank(allocate(1)[0]) == 0
