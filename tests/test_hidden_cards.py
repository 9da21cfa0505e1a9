"""Nothing of what is hidden from a seat is seen: cards exchanged, quads, and memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import VARIANTS
from positions import place, position, put, say, selected, table_of
from random_positions import Position, family_positions, observed, players_of, positions

from cheat_env import Rules, raw_env, variants
from cheat_env import actions as act
from cheat_env.cards import JOKER
from cheat_env.engine import legal_actions
from cheat_env.observations import LAYOUTS, TABLE, view
from cheat_env.render import ansi
from cheat_env.state import ANNOUNCE, PLAY, QUADS
from cheat_env.words import text

#: How many exchanges are tried for each seat of each position.
SWAPS = 8
#: The published games beyond those of the rule book.
OTHERS = sorted(set(variants()) - set(VARIANTS))
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
    places |= {f"burnt {other}": table["burnt"][other] for other in others}
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
    here: Position, seat: int, rng: np.random.Generator, swaps: int
) -> Iterator[tuple[tuple[str, str], Position]]:
    """Yield positions that differ from `here` only in the hidden cards of a seat."""
    for _ in range(swaps):
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
    observe: Observe, among: tuple[Position, ...], swaps: int = SWAPS
) -> tuple[Counter[str], Counter[tuple[str, ...]]]:
    """Return where `observe` tells hidden cards apart, and which exchanges were tried."""
    rng, found = np.random.default_rng(3), Counter[str]()
    tried: Counter[tuple[str, ...]] = Counter()
    for here in among:
        for seat in players_of(here):
            before = observe(here, seat)
            for kind, other in swapped(here, seat, rng, swaps):
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


def test_hidden_cards_change_nothing_in_the_other_games() -> None:
    """K1, G4, G8, G10: the same in the other games, with jokers, passes, burnt and aside cards."""
    found, tried = leaks(visible, family_positions(), 4)
    assert found == Counter()
    places: dict[str, Counter[str]] = {variant: Counter() for variant in OTHERS}
    for (variant, _, *kinds), number in tried.items():
        for kind in kinds:
            places[variant][kind] += number
    for variant, met in places.items():
        rules = Rules.load(variant)
        assert met["hand"] > 30 and met["pile"] > 5 and met["group"] > 2
        burns = rules.all_pass == "burn_pile" or rules.believe == "reveal"
        assert (met["burnt"] > 10) == burns
        aside = rules.dealt_for(rules.players[0] + 1) < rules.cards_for(rules.players[0] + 1)
        assert (met["aside"] > 5) == aside


def test_an_environment_shows_nothing_hidden() -> None:
    """K1: nor do the observations, masks and infos that an environment hands to its agents."""
    rng, tried = np.random.default_rng(8), 0
    for here in family_positions()[::3]:
        played = raw_env(here.variant, len(players_of(here)), observation="memory")
        played.reset(seed=0)
        for seat, agent in enumerate(played.agents):
            put(played, here.state)
            before = handed(played, agent)
            for _, other in swapped(here, seat, rng, 1):
                put(played, other.state)
                assert handed(played, agent) == before
                tried += 1
    assert tried > 100


def handed(played: Any, agent: str) -> Any:
    """Return what an environment hands to an agent."""
    seen, info = played.observe(agent), played.infos[agent]
    return seen["observation"].tobytes(), seen["action_mask"].tobytes(), dict(info)


def _leaky(name: str) -> Observe:
    """Return an observer that is also told one thing that it must not know."""

    def observe(here: Position, seat: int) -> Any:
        table = here.table
        told = {
            "next hand": table["hand"][(seat + 1) % len(players_of(here))],
            "pile": table["pile"].sum(axis=0),
            "group": table["group"][max(int(table["claim"]), 0)],
            "aside": table["aside"],
            "burnt": table["burnt"].sum(axis=0),
            "jokers": table["hand"][(seat + 1) % len(players_of(here))][JOKER],
        }[name]
        return observed(here, seat).tobytes(), np.asarray(told).tobytes()

    return observe


@pytest.mark.parametrize("name", ["next hand", "pile", "group", "aside", "burnt", "jokers"])
def test_the_exchange_finds_leaks(name: str) -> None:
    """The property above fails for an observer that sees a hidden card."""
    among = family_positions() if name in ("burnt", "jokers") else positions()[::5]
    found, _ = leaks(_leaky(name), among)
    assert found.total() > 10


def test_only_the_taker_sees_that_it_is_asked_for_quads() -> None:
    """K1, C10: a quad taken up is the taker's own affair; the others see the phase after it."""
    start = position(["9 9 9 7 K", "10 J", "Q A"], 0, "8", [(1, "9")], "russian")
    for observation in LAYOUTS:
        game = place(start, observation=observation)
        say(game, "0 plays 7", "1 challenges")
        assert (selected(game), table_of(game)["phase"]) == (0, QUADS)
        for seat, phase in ((0, QUADS), (1, ANNOUNCE), (2, ANNOUNCE)):
            seen = view(game.observe(f"player_{seat}")["observation"])
            assert np.flatnonzero(seen["phase"]).tolist() == [phase]


@pytest.mark.parametrize("passing", ["allowed", "out_of_round"])
def test_a_seat_that_passed_does_not_see_a_quad(passing: str) -> None:
    """K1, C10, G6: passes are forgotten with the pile, whether or not its taker holds a quad."""
    rules = {"base": "russian", "pass": passing, "all_pass": "burn_pile"}
    seen = []
    for first, last in (("9 8 6", "9 9 9 K"), ("9 9 6", "9 9 8 K")):
        start = position([first, "10 10", last], 0, "9", [(2, "J")], rules)
        game = place(start, observation="memory")
        say(game, "0 plays 9", "1 passes", "2 challenges")
        seen.append(game.observe("player_1")["observation"])
    assert selected(game) == 0
    assert np.array_equal(*seen)


def test_another_seats_memory_is_not_seen() -> None:
    """What the others know, and what they have picked, is not part of what a seat is shown."""
    rng = np.random.default_rng(4)
    for here in (*positions(), *family_positions()):
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
