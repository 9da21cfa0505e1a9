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
from any_rules import games
from conftest import TESTS, VARIANTS, Lottery
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from invariants import (
    check_all,
    check_caps,
    check_cards,
    check_observations,
    check_refusals,
    check_seats,
    check_turn,
    expected_rewards,
)
from random_positions import often_honest

from cheat_env import Rules, RulesWarning, Tables, values
from cheat_env import actions as act
from cheat_env.cards import JOKER, RANKS
from cheat_env.dealing import match_over, next_deal
from cheat_env.engine import apply, legal_actions
from cheat_env.records import Replay
from cheat_env.state import (
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    CLAIM_SEAT,
    LIE,
    OVER,
    PLAY,
    TRUE,
)


def new_tables(game: tuple[Rules, int], seed: int) -> Tables:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)
        return Tables(*game, 1, seed=seed, auto_reset=False)


def running(tables: Tables | None) -> bool:
    """Say whether the match goes on; it can be over as soon as it is dealt (G12)."""
    return tables is not None and tables.state[0]["phase"] != OVER


def own(table: Any, seat: int) -> np.ndarray:
    """Return the cards of a seat on the table or in burnt piles."""
    group = table["group"] * (seat == table["claimant"])
    return table["pile"][seat] + table["burnt"][seat] + group


def check_play(tables: Tables, old: Any, seat: int) -> None:
    """A7, G5, G11: a play holds exactly the cards picked for it, and claims the rank in force."""
    new, rules = tables.state[0], tables.rules
    fewest = min(rules.cards_per_play[0], old["hand_size"][seat])
    assert fewest <= old["picked_size"] <= rules.cards_per_play[1]
    claim = new["recent"][0]
    assert claim[[CLAIM_SEAT, CLAIM_RANK]].tolist() == [seat, old["rank"]]
    assert claim[CLAIM_COUNT] == old["picked_size"]
    if rules.last_play == "honest_only" and old["hand_size"][seat] == old["picked_size"]:
        true_cards = old["picked"][old["rank"]] + old["picked"][JOKER]
        assert claim[CLAIM_OUTCOME] == (TRUE if true_cards == old["picked_size"] else LIE)
        return
    assert (new["hand"][seat] == old["hand"][seat] - old["picked"]).all()
    assert (own(new, seat) == own(old, seat) + old["picked"]).all()


def step(tables: Tables, action: int) -> None:
    """Take an action, and check that picks move nothing and plays what was picked."""
    old, seat = tables.state.copy()[0], int(tables.seat[0])
    tables.step(np.array([action]))
    new = tables.state[0]
    if action == act.LAY and new["deal"] == old["deal"]:
        check_play(tables, old, seat)
    elif action < act.LAY:
        assert (new["hand"] == old["hand"]).all()
        assert new["picked_size"] == old["picked_size"] + 1
    elif action == act.PASS and new["pile_size"] and new["rank"] >= 0 and old["phase"] == PLAY:
        moved = {"up": 1, "down": -1}.get(tables.rules.rank, 0)
        assert new["phase"] == OVER or new["rank"] == (old["rank"] + moved) % len(tables.deck)


class AnyGame(RuleBasedStateMachine):
    """A match by any rules, any legal action after any other."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: Tables | None = None
        self.actions = 0

    @initialize(game=games(), seed=st.integers(0, 2**64 - 1))
    def deal(self, game: tuple[Rules, int], seed: int) -> None:
        self.tables = new_tables(game, seed)
        check_all(self.tables)

    def running(self) -> bool:
        return running(self.tables)

    @precondition(running)
    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        legal = np.flatnonzero(self.tables.action_mask[0]).tolist()
        step(self.tables, data.draw(st.sampled_from(legal)))
        check_all(self.tables)
        self.actions += 1
        if self.actions % 8 == 0 and self.running():
            check_refusals(self.tables)

    @precondition(lambda self: self.tables is not None and not self.running())
    @rule()
    def ended(self) -> None:
        before = self.tables.state.copy()
        self.tables.step(np.zeros(1, np.int64))
        assert (self.tables.state == before).all() and not self.tables.reward.any()


AnyGame.TestCase.settings = settings(
    max_examples=50, stateful_step_count=60, deadline=None, derandomize=True
)
TestAnyGame = AnyGame.TestCase


@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(game=games(), seed=st.integers(0, 2**64 - 1))
def test_every_match_ends(game, seed):
    """S12: under any rules random play ends or is cut, with all checks after every action."""
    tables, lottery = new_tables(game, seed), Lottery(seed)
    rules, turns, deals = tables.rules, 0, 1
    while running(tables):
        action = often_honest(lottery, tables.action_mask[0])
        turns += action in (act.LAY, act.PASS)
        deals = max(deals, int(tables.state[0]["deal"]) + 1)
        assert turns <= deals * (rules.max_plays + tables.num_players)
        step(tables, action)
        if action >= act.LAY:
            check_cards(tables)
            check_seats(tables)
            check_caps(tables)
        check_turn(tables)
    assert rules.until is not None or deals <= rules.deals
    if rules.until is not None and not tables.truncated[0]:
        assert tables.state[0]["score"].max() == rules.until.losses
    check_observations(tables)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(game=games(), seed=st.integers(0, 2**64 - 1))
def test_ends_are_those_of_the_rules(game, seed):
    """A15, C13, C14, G14: a deal that was not cut ends with so many out, and pays what it must."""
    tables, lottery = new_tables(game, seed), Lottery(seed)
    state, options, mask = tables.state, tables.options, np.zeros(act.NUM_ACTIONS, np.int8)
    table, (rules, players) = state[0], game
    last = {"first_out": 1, "last_in": players - 1, "two_left": players - 2}[rules.end]
    while True:
        while table["phase"] != OVER:
            legal_actions(table, options, mask)
            apply(table, options, often_honest(lottery, mask))
        if not table["truncated"]:
            assert table["num_out"] == last
            assert table["reward"].sum() == pytest.approx(0, abs=1e-5)
            assert table["reward"][:players].tolist() == pytest.approx(expected_rewards(tables))
            losers = np.flatnonzero(table["loser"])
            sizes = table["hand_size"][:players]
            left = np.flatnonzero(table["out"][:players] == 0)
            expected = {
                "winner": [],
                "cards_left": [],
                "most_cards": left[sizes[left] == sizes.max()].tolist(),
                "last": left.tolist(),
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


def test_every_value_is_drawn() -> None:
    """The rules drawn above hold every value of every option, and none of the pairs is left out."""
    drawn = set()

    @settings(max_examples=400, deadline=None, derandomize=True, database=None)
    @given(game=games())
    def note(game: tuple[Rules, int]) -> None:
        rules = game[0]
        for pair in (("challengers", "passing"), ("challengers", "last_play"), ("end", "quads")):
            drawn.add(tuple(getattr(rules, name) for name in pair))
        drawn.update((name, getattr(rules, name)) for name in values.VALUES)
        drawn.add(("deal", rules.deal if isinstance(rules.deal, str) else "each"))

    note()
    wanted = {(name, value) for name, found in values.VALUES.items() for value in found}
    wanted |= {("deal", value) for value in ("all", "equal", "each")}
    wanted |= set(product(values.CHALLENGERS, values.PASSES))
    wanted |= set(product(values.CHALLENGERS, values.LAST_PLAYS))
    wanted |= set(product(values.ENDS, values.QUAD_RULES))
    assert wanted <= drawn


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
