"""What a seat sees: the layout, each field from every seat, and nothing of the hidden cards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import GAMES, VARIANTS, random_match
from positions import mask, place, position, say, table_of

from cheat_env import Tables, raw_env
from cheat_env import actions as act
from cheat_env.cards import RANKS, Deck
from cheat_env.engine import base_rank, legal_actions
from cheat_env.observations import LAYOUTS, MEMORY, TABLE, TRUTH, Layout, encode, layout, text, view
from cheat_env.render import ansi
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
    State,
    allocate,
)


class Position(NamedTuple):
    """One random position: a state (1,), and what it is a position of."""

    variant: str
    state: State
    options: Any
    deck: Deck

    @property
    def table(self) -> Any:
        """The table."""
        return self.state[0]

    @property
    def kind(self) -> str:
        """Name the phase, and apart from it the middle of a play."""
        table = self.table
        return "picking" if table["picked_size"] else PHASES[table["phase"]]


@cache
def positions() -> tuple[Position, ...]:
    """Return random positions of every game, at most eight of a kind for each."""
    found = []
    for variant, players in GAMES:
        kept: Counter[str] = Counter()
        for seed in range(3):
            for number, (tables, _) in enumerate(random_match(variant, players, seed, deals=1)):
                if number > 1500:
                    break
                state = tables.state.copy()
                here = Position(variant, state, tables.options, tables.deck)
                rare = here.kind == "quads"
                if (number % 13 == 0 or rare) and kept[here.kind] < 3 * (seed + 1) + 6 * rare:
                    kept[here.kind] += 1
                    found.append(here)
    return tuple(found)


def observed(here: Position, seat: int, chosen: Layout = MEMORY) -> np.ndarray:
    """Return what a seat observes of a position."""
    out = np.empty(chosen.size, np.int8)
    encode(here.table, here.options, seat, out)
    return out


def players_of(here: Position) -> range:
    """Return the seats of a position."""
    return range(int(here.options["players"]))


def turned(cards: np.ndarray, here: Position) -> np.ndarray:
    """Return counts by rank of the deck as counts by relative rank, absent ranks 0."""
    ranks = len(here.deck)
    found = np.zeros_like(cards)
    found[:ranks] = np.roll(cards[:ranks], -max(int(here.table["rank"]), 0))
    return found


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
    for here in positions():
        for seat in players_of(here):
            for chosen in LAYOUTS.values():
                assert chosen.space().contains(observed(here, seat, chosen))


def test_table_is_a_prefix_of_memory() -> None:
    """The short observation is the beginning of the long one."""
    assert [field.name for field in TABLE.fields] == list(MEMORY.start)[: len(TABLE.fields)]
    for here in positions():
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
    for here in positions():
        for seat in players_of(here):
            own = view(observed(here, seat))["own_hand"]
            assert np.array_equal(own, turned(here.table["hand"][seat], here))


def test_picked_cards_are_the_pickers_own() -> None:
    """Only the seat that picks sees what it has picked."""
    for here in positions():
        for seat in players_of(here):
            picked = view(observed(here, seat))["picked"]
            own = here.table["picked"] * (seat == here.table["turn"])
            assert np.array_equal(picked, turned(own, here))


def shown_phase(table: Any, seat: int) -> int:
    """Return the phase that a seat sees: that the taker holds a quad is its own affair (K1)."""
    if table["phase"] != QUADS or seat == table["turn"]:
        return int(table["phase"])
    return ANNOUNCE if table["rank"] == NO_RANK else PLAY


def test_public_fields() -> None:
    """Phase, rank, pile, group, claimant, sizes, out and scores are those of the table."""
    for here in positions():
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
            assert seen["quads"].tolist() == turned(table["quads"], here).tolist()


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


def test_own_pile_is_what_the_seat_laid() -> None:
    """A seat remembers its own cards of the pile, the open group included (K2)."""
    for here in positions():
        table = here.table
        for seat in players_of(here):
            own = table["pile"][seat] + table["group"] * (seat == table["claimant"])
            assert np.array_equal(view(observed(here, seat))["own_pile"], turned(own, here))


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
                    held = turned(here.table["hand"][(seat + i) % players], here)
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
        cards = fields["hand"].sum(0) + fields["pile"].sum(0) + fields["group"] + fields["aside"]
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
    for here in positions():
        for seat in players_of(here):
            short = text(observed(here, seat, TABLE), here.deck)
            long = text(observed(here, seat), here.deck)
            assert long.startswith(short)
            own = re.search(r"own hand: (.*)", short).group(1).split()
            sizes = int(here.table["hand_size"][seat])
            assert (0 if own == ["none"] else len(own)) == sizes


# --- The hidden cards -----------------------------------------------------------------------------

#: How many exchanges are tried for each seat of each position.
SWAPS = 8
Observe = Callable[[Position, int], Any]


def visible(here: Position, seat: int) -> Any:
    """Return everything that a seat is ever shown of a position."""
    allowed = np.zeros(act.NUM_ACTIONS, np.int8)
    if seat == here.table["turn"]:
        legal_actions(here.table, here.options, allowed)
    long, short = observed(here, seat), observed(here, seat, TABLE)
    words = text(long, here.deck), text(short, here.deck)
    drawn = ansi(here.table, here.options, here.deck, seat=seat)
    return long.tobytes(), short.tobytes(), allowed.tobytes(), words, drawn


def hidden(here: Position, seat: int) -> dict[str, np.ndarray]:
    """Return the places whose cards a seat can't see, as views of the position's table."""
    table = here.table
    others = [other for other in players_of(here) if other != seat]
    places = {f"hand {other}": table["hand"][other] for other in others}
    places |= {f"pile {other}": table["pile"][other] for other in others}
    if table["group_size"] and table["claimant"] != seat:
        places["group"] = table["group"]
    return places | {"aside": table["aside"]}


def knowledge_holds(here: Position, seat: int) -> bool:
    """Say whether every card that the seat is certain of is still where it must be (K2)."""
    table = here.table
    for other in players_of(here):
        held = table["hand"][other].copy()
        if table["group_size"] and other == table["claimant"]:
            held += table["group"]
        if other != seat and (table["known"][seat, other] > held).any():
            return False
    return True


def swapped(
    here: Position, seat: int, rng: np.random.Generator
) -> Iterator[tuple[tuple[str, str], Position]]:
    """Yield positions that differ from `here` only in the hidden cards of a seat."""
    for _ in range(SWAPS):
        copied = here._replace(state=here.state.copy())
        places = hidden(copied, seat)
        for _ in range(6):
            one, other = rng.choice(sorted(places), 2, replace=False)
            from_one, from_other = movable(copied, one, places), movable(copied, other, places)
            if not (from_one.any() and from_other.any()):
                continue
            a = int(rng.choice(np.flatnonzero(from_one)))
            b = int(rng.choice(np.flatnonzero(from_other)))
            if a == b:
                continue
            exchange(places[one], places[other], a, b)
            if not knowledge_holds(copied, seat):
                exchange(places[one], places[other], b, a)
                continue
            yield tuple(sorted(name.split()[0] for name in (one, other))), copied
            break


def exchange(one: np.ndarray, other: np.ndarray, a: int, b: int) -> None:
    """Give card `a` of one place for card `b` of another."""
    one[a] -= 1
    one[b] += 1
    other[b] -= 1
    other[a] += 1


def movable(here: Position, name: str, places: dict[str, np.ndarray]) -> np.ndarray:
    """Return the cards of a place that are free to move: not those picked for a play."""
    picked = name == f"hand {here.table['turn']}"
    return places[name] - here.table["picked"] * picked


def leaks(
    observe: Observe, among: tuple[Position, ...]
) -> tuple[Counter[str], Counter[tuple[str, ...]]]:
    """Return where `observe` tells hidden cards apart, and which exchanges were tried."""
    rng, found = np.random.default_rng(3), Counter[str]()
    tried: Counter[tuple[str, ...]] = Counter()
    for here in among:
        for seat in players_of(here):
            before = observe(here, seat)
            for kind, other in swapped(here, seat, rng):
                tried[(here.variant, here.kind, *kind)] += 1
                if observe(other, seat) != before:
                    found[f"{here.variant}, {here.kind}: {' and '.join(kind)}"] += 1
    return found, tried


def test_hidden_cards_change_nothing_that_is_seen() -> None:
    """K1: exchanging cards that a seat can't see leaves all that it is shown as it was."""
    found, tried = leaks(visible, positions())
    assert found == Counter()
    for variant in VARIANTS:
        for kind in ("play", "picking"):
            assert tried[(variant, kind, "hand", "hand")] > 10
            assert tried[(variant, kind, "hand", "pile")] > 5
    for variant in ("english", "marquoir"):
        assert tried[(variant, "window", "group", "hand")] > 10
    assert tried[("russian", "play", "group", "hand")] > 5
    assert tried[("russian", "quads", "hand", "hand")] > 5
    for kind in ("announce", "play", "picking", "quads"):
        assert tried[("russian", kind, "aside", "hand")] > 5
    assert tried[("marquoir", "announce", "hand", "hand")] > 5


def _leaky(name: str) -> Observe:
    """Return an observer that is also told one thing that it must not know."""

    def observe(here: Position, seat: int) -> Any:
        table = here.table
        told = {
            "next hand": table["hand"][(seat + 1) % len(players_of(here))],
            "pile": table["pile"].sum(axis=0),
            "group": table["group"][max(int(table["claim"]), 0)],
            "aside": table["aside"],
        }[name]
        return observed(here, seat).tobytes(), np.asarray(told).tobytes()

    return observe


@pytest.mark.parametrize("name", ["next hand", "pile", "group", "aside"])
def test_the_exchange_finds_leaks(name: str) -> None:
    """The property above fails for an observer that sees a hidden card."""
    found, _ = leaks(_leaky(name), positions()[::5])
    assert found.total() > 10


def test_another_seats_memory_is_not_seen() -> None:
    """What the others know, and what they have picked, is not part of what a seat is shown."""
    rng = np.random.default_rng(4)
    for here in positions():
        for seat in players_of(here):
            copied = here._replace(state=here.state.copy())
            table = copied.table
            others = [other for other in players_of(here) if other != seat]
            table["known"][others] = rng.integers(0, 4, table["known"][others].shape)
            if table["phase"] == PLAY and table["turn"] != seat:
                table["picked"][:] = 0
                table["picked"][int(rng.integers(len(here.deck)))] = 1
                table["picked_size"] = 1
            assert visible(copied, seat) == visible(here, seat)


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
