"""Where OpenSpiel is installed: what a seat is told in `python_cheat` is what it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cheat_env import actions as act
from cheat_env import words
from cheat_env.observations import MEMORY, TABLE, view
from cheat_env.state import CLAIM_OUTCOME, LIE, OVER, TRUE

pyspiel = pytest.importorskip("pyspiel")

from open_spiel_games import SMALL, at_random, deal, load, look, source  # noqa: E402

#: Games to be walked through from end to end, and whether their observations show all that is done.
WALKED: dict[str, tuple[dict[str, Any], bool]] = {
    "two seats": (SMALL | {"copies": 2, "max_plays": 3}, True),
    "two cards": (SMALL | {"most": 2, "max_plays": 4}, True),
    "three seats": (
        {"players": 3, "ranks": 4, "copies": 1, "most": 2, "max_plays": 2, "dealer": 2},
        True,
    ),
    "a free rank": (
        {"variant": "{base: marquoir; deals: 1}", "players": 3, "ranks": 2, "copies": 2}
        | {"max_plays": 2, "dealer": 0},
        True,
    ),
    "two deals": (
        {"variant": "{base: english; deals: 2; deal: 1}"}
        | {"players": 2, "ranks": 3, "copies": 1, "max_plays": 2, "dealer": 1},
        False,
    ),
    "quads": (
        {"variant": "russian", "players": 2, "ranks": 3, "copies": 2, "most": 1}
        | {"max_plays": 2, "dealer": 1},
        True,
    ),
    "cards aside": (
        {"variant": "russian", "players": 3, "ranks": 2, "copies": 3, "most": 1, "max_plays": 3},
        True,
    ),
    "quads shown": (
        {"variant": "berishi", "players": 2, "ranks": 3, "copies": 2, "most": 1}
        | {"max_plays": 3, "dealer": 1},
        True,
    ),
    "belief": (
        {"variant": "veryu", "players": 3, "ranks": 2, "copies": 2, "most": 1, "max_plays": 3},
        True,
    ),
    "passing": (
        {"variant": "chui_niu", "players": 3, "ranks": 2, "copies": 2, "most": 1, "max_plays": 3},
        False,
    ),
    "jokers": (
        {"variant": "{base: bluff_honest; jokers: 1}"}
        | {"players": 2, "ranks": 2, "copies": 1, "most": 1, "max_plays": 3, "dealer": 0},
        False,
    ),
}


class Walk:
    """All nodes of a game, with what each seat has lived through, told by observations alone."""

    def __init__(self, game: Any) -> None:
        self.players = game.num_players()
        self.numbers: dict[Any, int] = {}
        self.strings: list[dict[str, set[int]]] = [{} for _ in range(self.players)]
        self.lived: list[dict[int, set[str]]] = [{} for _ in range(self.players)]
        self.decisions: dict[str, set[Any]] = {}
        self.nodes = 0
        nothing = [(0, b"")] * self.players
        self._go(game.new_initial_state(), nothing)

    def _go(self, state: Any, before: Sequence[tuple[int, bytes]]) -> None:
        """Visit a node; `before` is what each seat has lived through, and what it saw last."""
        if state.is_chance_node():
            for action, _ in state.chance_outcomes():
                self._go(state.child(action), before)
            return
        self.nodes += 1
        here = [self._live(state, seat, None, before[seat]) for seat in range(self.players)]
        for seat, (number, _) in enumerate(here):
            told = state.information_state_string(seat)
            self.strings[seat].setdefault(told, set()).add(number)
            self.lived[seat].setdefault(number, set()).add(told)
        if state.is_terminal():
            return
        actor = state.current_player()
        told = state.information_state_string(actor)
        legal = tuple(state.legal_actions())
        self.decisions.setdefault(told, set()).add((actor, legal, here[actor][1]))
        for action in legal:
            child = state.child(action)
            shown = self._shown(child, action)
            after = [
                self._acted(here[seat], action if seat == actor else None, shown)
                for seat in range(self.players)
            ]
            self._go(child, after)

    def _live(self, state: Any, seat: int, what: Any, last: tuple[int, bytes]) -> tuple[int, bytes]:
        """Add what a seat sees now, where it sees something new."""
        seen = look(state, seat).tobytes()
        if seen == last[1]:
            return last
        return self._number((last[0], what, seen)), seen

    def _acted(
        self, last: tuple[int, bytes], action: int | None, shown: bytes | None
    ) -> tuple[int, bytes]:
        """Add a seat's own action, and the cards that were turned up."""
        if action is None and shown is None:
            return last
        return self._number((last[0], action, shown)), last[1]

    def _number(self, lived: Any) -> int:
        """Return the number of something that was lived through."""
        return self.numbers.setdefault(lived, len(self.numbers) + 1)

    @staticmethod
    def _shown(child: Any, action: int) -> bytes | None:
        """Return the cards that an action turned up."""
        turning = action in (act.LAY, act.CHALLENGE, act.BELIEVE)
        if turning and child.table["recent"][0, CLAIM_OUTCOME] in (TRUE, LIE):
            return bytes(child.table["turned_up"].tobytes())
        return None


@pytest.mark.parametrize("name", WALKED)
def test_strings_tell_exactly_what_a_seat_has_seen(name: str) -> None:
    """Two histories have one string where the seat saw and did the same, and nowhere else.

    Only here the strings tell more: an observation does not show every pass, though everybody hears
    it, and where a deal follows another there is none of how the first one ended.
    """
    parameters, all_shown = WALKED[name]
    walk = Walk(load(**parameters))
    assert walk.nodes > 300
    for seat in range(walk.players):
        assert all(len(lived) == 1 for lived in walk.strings[seat].values())
        if all_shown:
            assert all(len(told) == 1 for told in walk.lived[seat].values())
    assert all(len(choices) == 1 for choices in walk.decisions.values())
    assert any(len(told) < walk.nodes for told in walk.strings)


@pytest.mark.parametrize(
    ("variant", "players"), [("english", 4), ("marquoir", 3), ("russian", 3), ("mogeln", 5)]
)
def test_hidden_cards_change_nothing_that_is_seen(variant: str, players: int) -> None:
    """K1: a card that others hold throughout can be another one, and no seat else can tell."""
    game, rng, compared = load(variant=variant, players=players, max_plays=20), source(7), 0
    while compared < 300:
        played = game.new_initial_state()
        while not played.is_terminal():
            played.apply_action(at_random(played, rng))
        actions, dealt = np.array(played.history()), 1 + players * len(game.slots)
        hands = actions[1:dealt].reshape(players, -1)  # after the dealer
        one, other = rng.choice(players, 2, replace=False)
        a, b = (rng.choice(np.flatnonzero(hands[seat])) for seat in (one, other))
        if a == b:
            continue
        hands[[one, other], [a, b]] -= 1
        hands[[one, other], [b, a]] += 1
        compared += _same_to({*range(players)} - {one, other}, played, actions.tolist())


def _same_to(seats: set[int], played: Any, actions: list[int]) -> int:
    """Play actions after other deals than those played; some seats must not see a difference.

    It ends where the changed cards come to light, or leave no choice of the same action. Returns
    how many actions were compared.
    """
    game, compared = played.get_game(), 0
    before, after = game.new_initial_state(), game.new_initial_state()
    for was, now in zip(played.history(), actions, strict=True):
        if now not in after.legal_actions():
            break
        before.apply_action(was)
        after.apply_action(now)
        if before.is_chance_node():
            continue
        if before.current_player() != after.current_player() or _in_sight(before, after, seats):
            break
        compared += 1
        for seat in seats:
            told = before.information_state_string(seat)
            assert told == after.information_state_string(seat)
            assert np.array_equal(look(before, seat), look(after, seat))
            assert before.observation_string(seat) == after.observation_string(seat)
    return compared


def _in_sight(before: Any, after: Any, seats: set[int]) -> bool:
    """Say whether cards that the seats see differ: those turned up, in quads or in their hands."""
    one, other = before.table, after.table
    public = ("turned_up", "quads", "gone", "hand_size")
    hands = any((one["hand"][seat] != other["hand"][seat]).any() for seat in seats)
    return hands or any((one[name] != other[name]).any() for name in public)


def test_strings_are_the_story_of_a_seat() -> None:
    """Who sits where, the deal, and then what the seat sees of every action."""
    state, cards = load(**SMALL).new_initial_state(), np.eye(14, dtype=np.int8)
    deal(state, np.stack([cards[0] + cards[2], cards[1]]), 1)
    for action in (0, act.LAY, act.CHALLENGE):
        state.apply_action(action)
    start = "; deal 1, dealer 1, hands 2 1, own"
    end = "0: lay 1 as A"
    assert state.information_state_string(0) == (
        f"seat 0 of 2{start} A 3; 0: pick A; {end}, own 3; 1: challenge, turned up A"
    )
    assert state.information_state_string(1) == (
        f"seat 1 of 2{start} 2; {end}; 1: challenge, turned up A, own A 2"
    )


def test_tensors_are_the_observations() -> None:
    """The information state is `memory`, the observation `table`; both keep the numbers as are."""
    game, rng = load(variant="russian", players=4), source(3)
    recall = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True))
    plain, state = game.make_py_observer(), game.new_initial_state()
    for _ in range(200):
        state.apply_action(at_random(state, rng))
        if state.is_chance_node() or state.is_terminal():
            continue
        for seat in range(4):
            seen = look(state, seat)
            recall.set_from(state, seat)
            plain.set_from(state, seat)
            assert np.array_equal(recall.tensor, seen)
            assert np.array_equal(plain.tensor, seen[: TABLE.size])
            assert state.information_state_tensor(seat) == seen.tolist()
            assert state.observation_tensor(seat) == seen[: TABLE.size].tolist()
            told = words.text(seen[: TABLE.size], game.deck)
            assert state.observation_string(seat) == plain.string_from(state, seat) == told
    assert view(recall.dict["memory"])["own_hand"].shape == (14,)
    assert game.information_state_tensor_shape() == [MEMORY.size]


def test_parts_of_an_observation_are_not_shown() -> None:
    """There are observers of all that a seat sees, not of the public or private part alone."""
    game = load()
    public_only = pyspiel.IIGObservationType(
        perfect_recall=True, private_info=pyspiel.PrivateInfoType.NONE
    )
    assert game.make_py_observer(public_only) is None
    private_only = pyspiel.IIGObservationType(public_info=False, perfect_recall=False)
    assert game.make_py_observer(private_only) is None
    with pytest.raises(ValueError, match="observation parameters"):
        game.make_py_observer(None, {"view": 1})


def test_a_clone_is_on_its_own() -> None:
    """What is played in a copy, or in a state read back, does not show in the other."""
    state = load(**SMALL).new_initial_state()
    rng = source(1)
    while state.is_chance_node():
        state.apply_action(at_random(state, rng))
    before = str(state), state.information_state_string(0), state.table.tobytes()
    read = pyspiel.deserialize_game_and_state(
        pyspiel.serialize_game_and_state(state.get_game(), state)
    )[1]
    for copied in (state.clone(), read):
        while not copied.is_terminal():
            copied.apply_action(at_random(copied, rng))
        assert copied.table["phase"] == OVER
        assert (str(state), state.information_state_string(0), state.table.tobytes()) == before
