"""What is counted of agents' play, against the engine's own tallies and a search for true plays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from conftest import Lottery
from evaluating import Fixed, mixed, versus

from cheat_env import Tables, variants
from cheat_env import actions as act
from cheat_env.cards import JOKER
from cheat_env.state import ACCEPTED, ASKED, CAUGHT, CHALLENGES, CLAIMS, LIE, OVER, WON
from train.measures import COUNTS, Measures

#: House rules beside the published games: the fewest cards of a play make truth harder.
HOUSE: tuple[Any, ...] = (
    {"base": "english", "cards_per_play": [2, 3], "jokers": 2},
    {"base": "russian", "rank": "free", "jokers": 1},
    {"base": "russian", "rank": "adjacent", "opening": "7"},
    {"base": "english", "last_play": "honest_only", "challengers": "next"},
)
GAMES = (*variants(), *HOUSE)
#: A game of many deals is none of the published ones where single deals of it are played.
pytestmark = pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")


def name(variant: Any) -> str:
    """Return what a test of a game is called."""
    return variant if isinstance(variant, str) else " ".join(map(str, variant.values()))


def can_be_true(tables: Tables) -> bool:
    """Say whether some way through the legal actions of this turn ends in a true claim."""
    mask = tables.action_mask[0]
    picked = int(tables.state["picked_size"][0])
    if picked and mask[act.LAY]:
        return True
    ways = [act.PICK, act.PICK_JOKER]
    if not picked:
        ways += range(act.ANNOUNCE_RANK, act.DISCARD)
    for action in ways:
        if mask[action]:
            following = copy.deepcopy(tables)
            following.step(np.array([action]))
            if can_be_true(following):
                return True
    return False


class Recount:
    """Counts in another way what `Measures` counts: turn by turn, and by what came of it."""

    def __init__(self, players: int) -> None:
        self.counts = np.zeros(players, COUNTS)
        self.decisions = 0
        self._free: bool | None = None

    def before(self, tables: Tables, action: int) -> None:
        """Count an action before it is taken."""
        table, mask = tables.state[0], tables.action_mask[0]
        seat = int(table["turn"])
        self.decisions += int(np.count_nonzero(mask) > 1)
        laying = action <= act.LAY or act.ANNOUNCE_RANK <= action < act.DISCARD
        if laying and self._free is None:
            self._free = can_be_true(tables)
            self._hand = int(table["hand_size"][seat])
        if action == act.LAY:
            picked, rank = table["picked"], int(table["rank"])
            lie = picked.sum() > picked[rank] + picked[JOKER]
            own = self.counts[seat]
            own["claims"] += 1
            own["lies_by_size"][min(int(picked.sum()), 4) - 1] += [1, lie]
            if self._free:
                own["lies_by_hand"][min(self._hand, 14) - 1] += [1, lie]
            else:
                assert lie
            self._free = None
        if mask[act.CHALLENGE]:
            size = min(int(table["group_size"]), 4)
            challenges = action == act.CHALLENGE
            self.counts[seat]["challenges_by_size"][size - 1] += [1, challenges, 0]

    def after(self, tables: Tables, action: int, seat: int) -> None:
        """Count what became of it."""
        claimant, _, size, became, _, taker = tables.state[0]["recent"][0]
        if became == LIE and taker == claimant and action in (act.CHALLENGE, act.LAY):
            self.counts[claimant]["caught"] += 1
            if action == act.CHALLENGE:
                self.counts[seat]["challenges_by_size"][min(size, 4) - 1][2] += 1


@pytest.mark.parametrize("variant", GAMES, ids=name)
def test_counts_are_those_of_a_recount(variant: Any) -> None:
    """Claims, free ones and their lies by hand, chances, challenges, right ones, caught: all."""
    tables = Tables(variant, None, 1, auto_reset=False, deals=1, until=None, max_plays=60)
    lottery, players = Lottery(5), tables.num_players
    free = forced = 0
    for deal in range(4):
        tables.reset(seed=2, deals=deal)
        measures, recount = Measures(1, players), Recount(players)
        while tables.action_mask.any():
            action, seat = lottery.choose(_likely(tables.action_mask[0])), int(tables.seat[0])
            recount.before(tables, action)
            measures.count(tables.state, tables.game, tables.action_mask, np.array([action]))
            tables.step(np.array([action]))
            recount.after(tables, action, seat)
        for what in COUNTS.names or ():
            assert np.array_equal(measures.counts[what][0], recount.counts[what]), what
        assert measures.decisions[0] == recount.decisions
        free += recount.counts["lies_by_hand"].sum()
        forced += recount.counts["claims"].sum() - recount.counts["lies_by_hand"][..., 0].sum()
    assert free > 0
    assert forced > 0 or tables.rules.rank not in ("up", "down", "fixed")


def _likely(mask: np.ndarray) -> np.ndarray:
    """Return a mask in which true cards, laying and accepting are chosen more often."""
    legal = mask.copy()
    if mask[act.LAY]:
        legal[: act.LAY] &= np.arange(act.LAY) % 3 == 0
    return legal


@pytest.mark.parametrize("variant", variants())
def test_counts_are_the_engines_tallies(variant: str) -> None:
    """Where the engine tallies for the seats' memory what is counted here, both agree."""
    n = 40
    tables = Tables(variant, None, n, seed=4, auto_reset=False, deals=1, until=None, max_plays=60)
    measures, rng = Measures(n, tables.num_players), np.random.default_rng(0)
    while tables.action_mask.any():
        actions = np.argmax(tables.action_mask * rng.random(tables.action_mask.shape), axis=1)
        measures.count(tables.state, tables.game, tables.action_mask, actions)
        tables.step(actions)
    tally = tables.state["tally"][:, : tables.num_players].astype(np.int64)
    assert tally.max() < 127  # where they stop
    sizes = measures.counts["challenges_by_size"]
    sizes = np.concatenate([sizes[:, :, :2], sizes[:, :, 2:].sum(axis=2, keepdims=True)], axis=2)
    assert np.array_equal(sizes, tally[..., [ASKED, CHALLENGES, WON]])
    assert np.array_equal(measures.counts["claims"], tally[..., CLAIMS].sum(axis=2))
    believed = tables.rules.believe == "reveal"  # its author gets nothing back
    caught = tally[..., CAUGHT].sum(axis=2)
    assert (measures.counts["caught"] <= caught).all()
    assert believed or np.array_equal(measures.counts["caught"], caught)


def test_counting_changes_nothing() -> None:
    """It only looks: tables that are counted and tables that are not go the same way."""
    seen, unseen = (Tables("russian", 4, 20, seed=4, auto_reset=False) for _ in range(2))
    measures, rng = Measures(20, 4), np.random.default_rng(0)
    while seen.action_mask.any():
        actions = np.argmax(seen.action_mask * rng.random(seen.action_mask.shape), axis=1)
        measures.count(seen.state, seen.game, seen.action_mask, actions)
        seen.step(actions)
        unseen.step(actions)
    assert seen.state.tobytes() == unseen.state.tobytes()
    assert (seen.state["phase"] == OVER).all() and (seen.state["recent"] >= -1).all()
    assert (seen.state["recent"][..., 3] <= LIE).all() and ACCEPTED < LIE


@pytest.mark.parametrize("variant", variants())
def test_counts_fit_together(variant: str) -> None:
    """In the finished games: every claim is free or forced, every right challenge catches one."""
    cell = versus(variant, _usual(variant), "bluffer", "random", 6, max_plays=300)
    counts = [agent["counts"] for agent in cell["agents"].values()]
    for count in counts:
        assert count["claims"] == count["free"] + count["forced"]
        assert count["lies_forced"] == count["forced"]
        assert count["lies_free"] <= count["free"]
        assert count["right"] <= count["challenges"] <= count["asked"]
        assert count["caught"] <= count["lies_free"] + count["forced"]
        assert count["won"] + count["lost"] <= count["games"]
    for agent, count in zip(cell["agents"].values(), counts, strict=True):
        hands, sizes = np.array(agent["lies_by_hand"]), np.array(agent["challenges_by_size"])
        assert hands.shape == (14, 2) and sizes.shape == (4, 3)
        claims = np.array(agent["lies_by_size"])
        lies = count["lies_free"] + count["lies_forced"]
        assert claims.sum(axis=0).tolist() == [count["claims"], lies]
        assert hands.sum(axis=0).tolist() == [count["free"], count["lies_free"]]
        assert sizes.sum(axis=0).tolist() == [count[w] for w in ("asked", "challenges", "right")]
    assert sum(c["games"] for c in counts) == cell["finished"] * cell["players"]
    assert sum(c["claims"] for c in counts) == round(cell["plays"] * cell["finished"])
    assert cell["decisions"] > cell["plays"] or variant == "chui_niu"
    by_itself = sum(c["caught"] for c in counts) - sum(c["right"] for c in counts)
    assert by_itself == 0 or variant == "bluff_honest"
    places = sum(c["place"] for c in counts)
    assert places == cell["finished"] * cell["players"] * (cell["players"] + 1) / 2


def _usual(variant: str) -> int:
    """Return a game's usual number of players."""
    return Tables(variant).num_players


def test_the_habits_of_known_players() -> None:
    """What rules are known to do is what is counted of them."""
    agents = {"honest": "honest", "caller": "caller", "dumper": "dumper", "liar": "bluffer(lie=1)"}
    found = {name: a["counts"] for name, a in mixed("english", agents, 40)["agents"].items()}
    assert found["honest"]["lies_free"] == found["caller"]["lies_free"] == 0
    assert found["honest"]["right"] == found["honest"]["challenges"]  # only of the impossible
    assert found["caller"]["challenges"] == found["caller"]["asked"] > 0
    assert found["dumper"]["challenges"] == 0 < found["dumper"]["asked"]
    assert found["dumper"]["lies_free"] > 0.8 * found["dumper"]["free"]
    assert found["liar"]["lies_free"] == found["liar"]["free"] > 0


def test_hands_and_claims_have_their_own_buckets() -> None:
    """A first play comes from the whole hand; who lays one card at a time is asked about one."""
    cell = versus("english", 4, Fixed(), "honest", 20, cards_per_play=[1, 1])
    one, rest = cell["agents"]["one"], cell["agents"]["rest"]
    hands = np.array(one["lies_by_hand"]) + np.array(rest["lies_by_hand"])
    assert hands[12, 0] > 0  # thirteen cards each
    assert hands[:12, 0].sum() > 0
    assert np.array(rest["challenges_by_size"])[1:].sum() == 0
    assert np.array(rest["challenges_by_size"])[0, 0] > 0
    big = versus("english", 3, "honest", "random", 20)["agents"]["rest"]
    assert big["lies_by_hand"][13][0] > 0  # eighteen cards
