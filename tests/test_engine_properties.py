"""What holds in every game of the family, whatever its options, after every action."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import TESTS, VARIANTS, Lottery
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cheat_env import IllegalAction, Rules, RulesWarning, Tables
from cheat_env import actions as act
from cheat_env.cards import RANKS, SLOTS
from cheat_env.dealing import match_over, next_deal
from cheat_env.engine import apply, legal_actions
from cheat_env.observations import LAYOUTS, encode
from cheat_env.records import Replay
from cheat_env.rules import AFTER_CHALLENGE, CHALLENGERS, LEADERS, PROGRESSIONS, QUAD_RULES
from cheat_env.state import OVER

SPACES = {name: layout.space() for name, layout in LAYOUTS.items()}


@st.composite
def games(draw: st.DrawFn) -> tuple[Rules, int]:
    """Draw rules that can be played, and a number of players."""
    players = draw(st.integers(2, 8))
    deck = draw(st.sampled_from(["A-K", "6-A", "7-A", "A 2 3 4 5 6 7 J Q K", "A-4", "Q 3 9"]))
    rank = draw(st.sampled_from(PROGRESSIONS))
    after = AFTER_CHALLENGE[1:] if rank == "fixed" else AFTER_CHALLENGE
    scoring = draw(st.sampled_from(["winner", "most_cards", "last"]))
    fewest = draw(st.integers(1, 3))
    options: dict[str, Any] = {
        "players": [players, players],
        "deck": deck,
        "copies": draw(st.sampled_from([4, 4, 4, 3, 2])),
        "decks": draw(st.sampled_from([1, 1, 2])),
        "cards_per_play": [fewest, fewest + draw(st.integers(0, 4))],
        "opening": draw(st.sampled_from(["free", "A" if "A" in deck else "3"])),
        "rank": rank,
        "challengers": draw(st.sampled_from(CHALLENGERS)),
        "lie_leader": draw(st.sampled_from(LEADERS)),
        "truth_leader": draw(st.sampled_from(LEADERS)),
        "rank_after_challenge": draw(st.sampled_from(after)),
        "quads": draw(st.sampled_from(QUAD_RULES)),
        "removed_cards": draw(st.integers(0, 2)),
        "end": "last_in" if scoring == "last" else "first_out",
        "scoring": scoring,
        "deals": draw(st.integers(1, 3)),
        "max_plays": draw(st.sampled_from([1, 5, 40])),
    }
    needed = players + options["removed_cards"]
    if (
        len(Rules.load("english", deck=deck, opening="free").deck_for(3)) * options["copies"]
        < needed
    ):
        options["deck"], options["copies"] = "A-K", 4
    return Rules.load("english", **options), players


def new_tables(game: tuple[Rules, int], seed: int) -> Tables:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)
        return Tables(*game, 1, seed=seed, auto_reset=False)


def check_cards(tables: Tables) -> None:
    """S02: every rank of the deck is there as often as it was dealt, and the sizes agree."""
    table, ranks = tables.state[0], len(tables.deck)
    copies = int(tables.options["copies"])
    cards = (
        table["hand"].sum(axis=0)
        + table["pile"].sum(axis=0)
        + table["group"]
        + table["aside"]
        + np.append(table["quads"], 0) * copies
    )
    assert cards.tolist() == [copies] * ranks + [0] * (SLOTS - ranks)
    for name in ("hand", "pile", "group", "aside", "picked"):
        assert (table[name] >= 0).all()
    assert table["hand_size"].tolist() == table["hand"].sum(axis=1).tolist()
    assert table["group_size"] == table["group"].sum()
    assert table["pile_size"] == table["pile"].sum() + table["group"].sum()
    assert table["picked_size"] == table["picked"].sum()
    assert (table["picked"] <= table["hand"][tables.seat[0]]).all()
    assert table["num_out"] == (table["out"] > 0).sum()
    assert not table["hand_size"][table["out"] > 0].any()
    assert (table["known"] >= 0).all()
    assert table["claimed"].sum() == table["pile_size"]


def check_turn(tables: Tables) -> None:
    """S10, S12, S18: while the match goes on, a seat that is in has something to do."""
    table, mask = tables.state[0], tables.action_mask[0]
    if tables.terminated[0] or tables.truncated[0]:
        assert table["phase"] == OVER and not mask.any()
        return
    assert mask.any()
    assert table["out"][tables.seat[0]] == 0
    assert tables.seat[0] == table["turn"]
    if mask[act.PICK : act.LAY].any():
        assert table["hand_size"][tables.seat[0]] > 0


def check_observations(tables: Tables) -> None:
    """Every seat's observation lies in its space."""
    for name, layout in LAYOUTS.items():
        row = np.zeros(layout.size, np.int8)
        for seat in range(tables.num_players):
            encode(tables.state[0], tables.options, seat, row)
            assert SPACES[name].contains(row)


def check_refusals(tables: Tables) -> None:
    """S03, S18: every action outside the mask is refused and changes nothing."""
    before = tables.state.copy()
    for action in (*np.flatnonzero(tables.action_mask[0] == 0), -1, act.NUM_ACTIONS):
        with pytest.raises(IllegalAction):
            tables.step(np.array([action]))
    assert (tables.state == before).all()


def check_caps(tables: Tables) -> None:
    """S15: a deal is never longer than `max_plays`, and a cut deal pays nothing."""
    table = tables.state[0]
    assert table["plays"] <= tables.rules.max_plays
    if tables.truncated[0]:
        assert table["plays"] == tables.rules.max_plays
        assert not tables.reward.any() and not table["loser"].any()
    assert not (tables.truncated[0] and tables.terminated[0])


def step(tables: Tables, action: int) -> None:
    """Take an action, and check that a play holds exactly the cards picked for it."""
    old, seat = tables.state.copy()[0], int(tables.seat[0])
    tables.step(np.array([action]))
    new = tables.state[0]
    if action == act.LAY and new["deal"] == old["deal"]:
        assert (new["hand"][seat] == old["hand"][seat] - old["picked"]).all()
        assert (new["group"] == old["picked"]).all()
        assert (new["group_size"], new["claimant"]) == (old["picked_size"], seat)
        assert new["claim"] == old["rank"]
        fewest = min(tables.rules.cards_per_play[0], old["hand_size"][seat])
        assert fewest <= old["picked_size"] <= tables.rules.cards_per_play[1]
    elif action < act.LAY:
        assert (new["hand"] == old["hand"]).all()
        assert new["picked_size"] == old["picked_size"] + 1


class AnyGame(RuleBasedStateMachine):
    """A match by any rules, any legal action after any other."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: Tables | None = None

    @initialize(game=games(), seed=st.integers(0, 2**64 - 1))
    def deal(self, game: tuple[Rules, int], seed: int) -> None:
        self.tables = new_tables(game, seed)
        self.check()

    def running(self) -> bool:
        tables = self.tables
        return tables is not None and not (tables.terminated[0] or tables.truncated[0])

    @precondition(running)
    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        legal = np.flatnonzero(self.tables.action_mask[0]).tolist()
        step(self.tables, data.draw(st.sampled_from(legal)))
        self.check()

    @precondition(running)
    @rule()
    def refuse(self) -> None:
        check_refusals(self.tables)

    @precondition(lambda self: self.tables is not None and not self.running())
    @rule()
    def ended(self) -> None:
        before = self.tables.state.copy()
        self.tables.step(np.zeros(1, np.int64))
        assert (self.tables.state == before).all() and not self.tables.reward.any()

    def check(self) -> None:
        check_cards(self.tables)
        check_turn(self.tables)
        check_observations(self.tables)
        check_caps(self.tables)


AnyGame.TestCase.settings = settings(
    max_examples=60, stateful_step_count=60, deadline=None, derandomize=True
)
TestAnyGame = AnyGame.TestCase


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(game=games(), seed=st.integers(0, 2**64 - 1))
def test_every_match_ends(game, seed):
    """S12: under any rules random play ends or is cut, with all checks after every action."""
    tables, lottery = new_tables(game, seed), Lottery(seed)
    plays_left = tables.rules.deals * tables.rules.max_plays
    while not (tables.terminated[0] or tables.truncated[0]):
        action = lottery.choose(tables.action_mask[0])
        plays_left -= action == act.LAY
        assert plays_left >= 0
        step(tables, action)
        check_cards(tables)
        check_turn(tables)
        check_caps(tables)
    check_observations(tables)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(game=games(), seed=st.integers(0, 2**64 - 1))
def test_ends_are_those_of_the_rules(game, seed):
    """A15, C13, C14: a deal that was not cut ends with the right number of seats out."""
    tables, lottery = new_tables(game, seed), Lottery(seed)
    state, options, mask = tables.state, tables.options, np.zeros(act.NUM_ACTIONS, np.int8)
    table, (rules, players) = state[0], game
    while True:
        while table["phase"] != OVER:
            legal_actions(table, options, mask)
            apply(table, options, lottery.choose(mask))
        if not table["truncated"]:
            assert table["num_out"] == (1 if rules.end == "first_out" else players - 1)
            assert table["reward"].sum() == pytest.approx(0, abs=1e-5)
            losers = np.flatnonzero(table["loser"])
            sizes = table["hand_size"][:players]
            expected = {
                "winner": [],
                "most_cards": np.flatnonzero(sizes == sizes.max()).tolist(),
                "last": np.flatnonzero(table["out"][:players] == 0).tolist(),
            }
            assert losers.tolist() == expected[rules.scoring]
        if match_over(table, options):
            break
        next_deal(table, options)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    cards=st.lists(st.sampled_from(RANKS), min_size=1, max_size=8).filter(
        lambda cards: all(cards.count(rank) <= 4 for rank in cards)
    ),
    rank=st.sampled_from(RANKS),
    bounds=st.tuples(st.integers(1, 5), st.integers(1, 5)).map(sorted),
)
def test_picks_lead_to_every_play_once(cards, rank, bounds):
    """A7, A17: picks reach every set of cards that may be laid, by exactly one path each."""
    hands = [" ".join(cards), "", ""]
    hands[1:] = [other for other in RANKS if cards.count(other) < 3][:2]
    replay = Replay(
        {
            "players": 3,
            "rules": {"cards_per_play": bounds},
            "start": {"hands": hands, "turn": 0, "rank": rank},
        }
    )
    found, mask = [], np.zeros(act.NUM_ACTIONS, np.int8)

    def walk(state: Any) -> None:
        legal_actions(state[0], replay.options, mask)
        picks = np.flatnonzero(mask[: act.LAY]).tolist()
        assert picks or mask[act.LAY]
        if mask[act.LAY]:
            found.append(tuple(state[0]["picked"].tolist()))
        for pick in picks:
            after = state.copy()
            apply(after[0], replay.options, pick)
            walk(after)

    walk(replay.state.copy())
    counts = [range(int(count) + 1) for count in replay.table["hand"][0]]
    low, high = min(bounds[0], len(cards)), bounds[1]
    allowed = [chosen for chosen in product(*counts) if low <= sum(chosen) <= high]
    assert sorted(found) == sorted(allowed)


def test_copies_have_equal_bytes():
    """Two games are equal when their bytes are, so a copy has the same bytes."""
    tables = Tables("english", 4, 3, seed=1)
    np.full(tables.state.nbytes, 255, np.uint8)  # what the memory of a copy may have held
    assert all(tables.state.copy().tobytes() == tables.state.tobytes() for _ in range(20))


# --- The same as plain Python ---------------------------------------------------------------------

INTERPRETED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_engine_properties import fingerprint
from cheat_env.compiled import JIT
assert not JIT
print(*(fingerprint(variant) for variant in sys.argv[2:]))
"""


def fingerprint(variant: str) -> str:
    """Return a hash of two tables' states and observations after every step of random play."""
    tables = Tables(variant, 3, 2, seed=2**63 + 5, max_plays=25, deals=2)
    lotteries, digest = [Lottery(1), Lottery(2)], hashlib.sha256()
    for _ in range(400):
        actions = [lotteries[t].choose(tables.action_mask[t]) for t in range(2)]
        tables.step(np.array(actions))
        for name in tables.state.dtype.names:
            digest.update(np.ascontiguousarray(tables.state[name]).tobytes())
        digest.update(tables.observation.tobytes() + tables.action_mask.tobytes())
    return digest.hexdigest()


def test_plain_python_plays_the_same():
    """Without the compiler the same code plays the same games, and no number overflows."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", INTERPRETED, str(TESTS)]
    done = subprocess.run(
        [*command, *VARIANTS], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [fingerprint(variant) for variant in VARIANTS]
