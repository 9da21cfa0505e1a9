"""The players: legal play in every game, and what each rule does in positions made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import GAMES
from positions import mask, place, position, say
from scipy.stats import hypergeom

from agents import Agent, load
from agents.habits import DRAWS, act_by_habits
from agents.registry import RULES
from cheat_env import Tables
from cheat_env import actions as act
from cheat_env.cards import JOKER, RANKS
from cheat_env.observations import LAYOUTS, MEMORY
from cheat_env.options import SHOWN
from cheat_env.values import PROGRESSIONS
from train.networks import new_model
from train.opponents import draw_habits

#: The players that answer at once (of the one that searches: test_search.py).
HEURISTICS = ("random", *RULES)
#: Games with changed rules, which the rules of thumb were not made for.
HOUSE_RULES = {
    "down": ("english", 4, {"rank": "down"}),
    "free": ("english", 4, {"rank": "free", "opening": "free"}),
    "adjacent": ("english", 4, {"rank": "adjacent"}),
    "same_or_adjacent": ("english", 4, {"rank": "same_or_adjacent"}),
    "next": ("english", 4, {"challengers": "next"}),
    "mandatory": ("russian", 3, {"quads": "mandatory"}),
    "two_to_three": ("english", 4, {"cards_per_play": [2, 3]}),
}
HABITS = ("bluffer(lie=0.5, call=0.3, extra=0.5, mix=0.5, noise=0.5)", "honest(odds=0.2)")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a model that was saved untrained."""
    path = tmp_path_factory.mktemp("model") / "model.zip"
    new_model("memory", (16, 16), 0).save(path)
    return str(path)


def seen(
    variant: str, players: int, steps: int = 120, n: int = 16, **rules: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and masks out of many positions of a game, played by several rules."""
    tables = Tables(variant, players, n, seed=5, **rules)
    rng = np.random.default_rng(5)
    habits = np.array([draw_habits(rng) for _ in range(n)])
    observations, masks = [], []
    for _ in range(steps):
        observations.append(tables.observation.copy())
        masks.append(tables.action_mask.copy())
        actions = np.zeros(n, np.int64)
        draws, everyone = rng.random((n, DRAWS)), np.ones(n, np.bool_)
        act_by_habits(tables.observation, tables.action_mask, habits, draws, everyone, actions)
        tables.step(actions)
    return np.concatenate(observations), np.concatenate(masks)


def plays_legally(agent: Agent, variant: str, players: int, **rules: Any) -> None:
    """Play one agent, mixed with random moves, and check every action against the mask."""
    tables = Tables(variant, players, 16, seed=3, observation=agent.observation, **rules)
    rng, lottery = np.random.default_rng(1), load("random")
    for _ in range(120):
        actions = agent.act(tables.observation, tables.action_mask, rng)
        assert actions.shape == (16,)
        assert tables.action_mask[np.arange(16), actions].all()
        others = lottery.act(tables.observation, tables.action_mask, rng)
        tables.step(np.where(rng.random(16) < 0.3, others, actions))


def answer(env: Any, name: str) -> int:
    """Return the action of an agent in the position of an environment."""
    seen = env.observe(env.agent_selection)["observation"][None]
    return int(load(name).act(seen, mask(env)[None], np.random.default_rng(0))[0])


def lays(name: str, hand: str, rank: str, players: int = 4, variant: Any = "english") -> str:
    """Return the cards that an agent lays from a hand, in the order of the deck."""
    others = [rank for rank in RANKS if rank not in hand.split()][: players - 1]
    env = place(position([hand, *others], 0, rank, (), variant), observation="memory")
    deck, table = env.unwrapped.tables.deck, env.unwrapped.tables.state[0]
    while (action := answer(env, name)) != act.LAY:
        env.step(action)
    return " ".join(deck[i] for i in range(len(deck)) for _ in range(table["picked"][i]))


# --- Any agent ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*HEURISTICS, *HABITS, "model"])
def test_agents_only_play_legal_actions(name: str, model: str) -> None:
    """In every game at every number of players, each answer is one that the mask allows."""
    for variant, players in GAMES:
        plays_legally(load(model if name == "model" else name), variant, players)


@pytest.mark.parametrize("house", HOUSE_RULES)
@pytest.mark.parametrize("name", [*HEURISTICS, HABITS[0], "model"])
def test_agents_play_legally_under_changed_rules(name: str, house: str, model: str) -> None:
    """The same where a rank falls, is free, only the next may challenge, and so on."""
    variant, players, rules = HOUSE_RULES[house]
    plays_legally(load(model if name == "model" else name), variant, players, **rules)


@pytest.mark.parametrize("name", [*HEURISTICS, HABITS[0], "model"])
def test_equal_generators_give_equal_actions(name: str, model: str) -> None:
    """All chance comes from the generator, and what the agent is given stays as it was."""
    agent = load(model if name == "model" else name)
    observation, mask = seen("english", 4)
    observation = observation[:, : LAYOUTS[agent.observation].size].copy()
    given = observation.copy(), mask.copy()
    first = agent.act(observation, mask, np.random.default_rng(1))
    np.random.seed(9)
    assert np.array_equal(first, agent.act(observation, mask, np.random.default_rng(1)))
    assert np.array_equal(observation, given[0]) and np.array_equal(mask, given[1])
    if name in ("random", "bluffer", HABITS[0], "model"):
        assert not np.array_equal(first, agent.act(observation, mask, np.random.default_rng(2)))


@pytest.mark.parametrize("game", [("english", 4), ("russian", 3)], ids=["english", "russian"])
def test_rows_do_not_meet(game: tuple[str, int]) -> None:
    """A row's action depends on its own observation, habits and draws, wherever it stands."""
    observation, mask = seen(*game)
    n, rng = len(mask), np.random.default_rng(2)
    habits = np.array([draw_habits(rng) for _ in range(n)])
    draws, acts = rng.random((n, DRAWS)), rng.random(n) < 0.8
    actions, permuted = np.full(n, -1), np.full(n, -1)
    act_by_habits(observation, mask, habits, draws, acts, actions)
    order = rng.permutation(n)
    rows = [np.ascontiguousarray(a[order]) for a in (observation, mask, habits, draws, acts)]
    act_by_habits(*rows, permuted)
    assert np.array_equal(actions[order], permuted)
    assert np.array_equal(actions == -1, ~acts)


def test_random_gives_every_legal_action_the_same_chance() -> None:
    """Of four legal actions each comes up in a quarter of 8,000 answers, within 3 %."""
    mask = np.zeros((8000, act.NUM_ACTIONS), np.int8)
    mask[:, [0, 14, 29, 45]] = 1
    observation = np.zeros((8000, LAYOUTS["table"].size), np.int8)
    actions = load("random").act(observation, mask, np.random.default_rng(0))
    chosen, counts = np.unique(actions, return_counts=True)
    assert chosen.tolist() == [0, 14, 29, 45]
    assert np.abs(counts / 8000 - 0.25).max() < 0.03


# --- Laying ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["honest", "honest_guard", "caller", "honest(odds=0.5)"])
@pytest.mark.parametrize(
    ("hand", "rank", "laid"),
    [
        ("7 A 7 K 7", "7", "7 7 7"),
        ("7 7 7 7 A", "7", "7 7 7 7"),
        ("K", "K", "K"),
        # Of four seats, the first is asked for A 5 9 K 4 8 Q 3 7 J 2 6 10 in turn.
        ("6 10 2", "A", "10"),
        ("5 6 2 K", "A", "6"),
        ("9 9 K", "A", "K"),
        # The same with 7 in force: 7 J 2 6 10 A 5 9 K 4 8 Q 3.
        ("3 3 8 J", "7", "3"),
    ],
)
def test_honest_rules_lay_what_is_true(name: str, hand: str, rank: str, laid: str) -> None:
    """Every true card is laid; without one, one card of the rank that it will need last."""
    assert lays(name, hand, rank) == laid


@pytest.mark.parametrize(
    ("hand", "players", "rules", "laid"),
    [
        # Of three seats, the first is asked for A 4 7 10 K 3 6 9 Q 2 5 8 J in turn.
        ("8 J 4", 3, {}, "J"),
        ("8 K Q", 3, {}, "8"),
        # Of four seats where the rank falls: A 10 6 2 J 7 3 Q 8 4 K 9 5.
        ("5 10 9", 4, {"rank": "down"}, "5"),
        ("K 10 Q", 4, {"rank": "down"}, "K"),
        # Two cards at least, in the order of their ranks.
        ("2 6 10 Q", 4, {"cards_per_play": [2, 3]}, "10 Q"),
        # Where the rank does not run, the rank of which it holds fewest.
        ("7 7 8 9 9", 4, {"rank": "fixed", "rank_after_challenge": "free"}, "8"),
    ],
)
def test_the_card_needed_last(hand: str, players: int, rules: dict[str, Any], laid: str) -> None:
    """Which card is needed last depends on the seats, and on how the rank runs."""
    assert lays("honest", hand, "A", players, {"base": "english"} | rules) == laid


@pytest.mark.parametrize(("hand", "count"), [("7 2 3 4 5 9", 4), ("A A", 2), ("9", 1)])
def test_dumper_lays_as_many_as_it_may(hand: str, count: int) -> None:
    """Four cards of six, and all where there are fewer."""
    assert len(lays("dumper", hand, "7").split()) == count


def test_a_liar_lies_though_it_holds_the_rank() -> None:
    """With lie=1 no true card goes, with extra=1 as many as may, with mix=1 wrong ones too."""
    assert lays("bluffer(lie=1, call=0)", "7 7 3 3 8", "7") == "3"
    assert lays("bluffer(lie=1, extra=1)", "7 7 3 3 8", "7") == "3 7 7 8"
    assert lays("bluffer(lie=0, mix=1)", "7 7 3", "7") == "3 7 7"


@pytest.mark.parametrize("name", ["honest", "counter", "dumper"])
def test_quads_are_shown(name: str) -> None:
    """Where a quad may be discarded it is."""
    observation, mask = seen("russian", 2, 400)
    rows = mask[:, act.KEEP] == 1
    assert rows.any()
    actions = load(name).act(observation[rows], mask[rows], np.random.default_rng(0))
    assert (actions[mask[rows, act.DISCARD : act.KEEP].any(axis=1)] < act.KEEP).all()


def test_honest_announces_what_it_holds_most_of() -> None:
    """A leader names the rank of its largest group, and lays it."""
    env = place(position(["7 7 7 K", "8 9", "10 J"], variant="russian"), observation="memory")
    assert answer(env, "honest") == act.ANNOUNCE_RANK + env.unwrapped.tables.deck.index("7")


# --- Challenging ----------------------------------------------------------------------------------


def asked(hands: list[str], *turns: str, turn: int = 0, pile: Any = ()) -> Any:
    """Return an environment in which the next seat is asked about the last of these turns."""
    env = place(position(hands, turn, "7", pile), observation="memory")
    say(env, *turns)
    return env


@pytest.mark.parametrize(
    ("hands", "turns", "pile", "impossible"),
    [
        (["A 2 3 9", "7 7 K", "Q J"], ["0 plays A 2"], (), False),
        (["A 2 3 9", "7 7 K", "Q J"], ["0 plays A 2 3"], (), True),
        (["A 2 3 9", "7 K", "Q J"], ["0 plays A 2 3"], [(1, "7")], True),
        (["A 2 3 9", "7 K", "Q J"], ["0 plays A 2 3"], [(2, "7")], False),
    ],
    ids=["possible", "own hand", "own pile", "pile of another"],
)
def test_honest_challenges_what_it_sees_to_be_impossible(
    hands: list[str], turns: list[str], pile: Any, impossible: bool
) -> None:
    """A claim is impossible where own hand and own pile leave fewer cards than it names."""
    env = asked(hands, *turns, pile=pile)
    assert answer(env, "honest") == (act.CHALLENGE if impossible else act.ACCEPT)
    assert answer(env, "bluffer(certain=0, lie=0, call=0)") == act.ACCEPT


def test_honest_counts_cards_that_others_are_known_to_hold() -> None:
    """Two eights that all saw going into a third hand can't be in the claimant's."""
    env = asked(["A 2 3 4", "K Q", "8 8 9", "J J 10 5"], "2 plays 8 8", turn=2)
    say(env, "3 accepts", "0 accepts", "1 challenges", "3 plays J J 10")
    assert answer(env, "honest") == act.CHALLENGE
    assert answer(env, "bluffer(certain=0, lie=0, call=0)") == act.ACCEPT


def test_guard_challenges_an_emptied_hand() -> None:
    """Of the honest only the guard challenges a claimant that would go out."""
    env = asked(["7", "K Q", "A J"], "0 plays 7")
    assert answer(env, "honest") == act.ACCEPT
    assert answer(env, "honest_guard") == act.CHALLENGE
    env = asked(["7 8", "K Q", "A J"], "0 plays 7")
    assert answer(env, "honest_guard") == act.ACCEPT


@pytest.mark.parametrize(("variant", "players"), [("english", 4), ("russian", 3), ("marquoir", 7)])
def test_who_challenges_when(variant: str, players: int) -> None:
    """Caller always, dumper never, honest exactly where its counts leave too few cards."""
    observation, mask = seen(variant, players, 400)
    rows = mask[:, act.CHALLENGE] == 1
    observation, mask = observation[rows], mask[rows]
    o, rng = MEMORY.view(observation), np.random.default_rng(0)
    claimant, rank, count = o["recent"][:, 0, :3].astype(int).T
    n = np.arange(len(claimant))
    known = o["known"].astype(int).sum(axis=1) - o["known"][n, claimant - 2]
    located = (o["own_hand"] + o["own_pile"] + known)[n, rank]
    impossible = (o["copies"][:, 0] - located < count) | (o["quads"][n, rank] == 1)
    assert impossible.any() and not impossible.all()
    challenges = {
        name: load(name).act(observation, mask, rng) == act.CHALLENGE
        for name in ("caller", "dumper", "honest")
    }
    assert challenges["caller"].all()
    assert not challenges["dumper"].any()
    assert np.array_equal(challenges["honest"], impossible)


#: What one that counts believes of others (see `chance_of_lie`).
VOLUNTARY_LIE, LIE_SIZES = 0.1, (0.7, 0.2, 0.1)


def way_out(o: dict[str, np.ndarray]) -> tuple[float, int]:
    """Return the chance of a lie without the rank, and the ranks to choose from (`_choice`)."""
    shown, ranks = dict(zip(SHOWN, o["rules"], strict=True)), int(o["num_ranks"][0])
    led = o["pile_size"][0] == o["group_size"][0]
    progression = PROGRESSIONS[int(np.argmax(o["progression"]))]
    if progression in ("adjacent", "same_or_adjacent", "free"):
        near = {"adjacent": 2, "same_or_adjacent": 3, "free": ranks}
        return VOLUNTARY_LIE, ranks if led else near[progression]
    if (shown["passing"] or shown["believe"]) and (not led or progression == "fixed"):
        return VOLUNTARY_LIE, ranks if led else 1
    return 1.0, 1


def expected_chance(o: dict[str, np.ndarray], count: int, rank: int, claimant: int) -> float:
    """Return the chance of a lie by the words of `chance_of_lie`, with scipy's distribution."""
    known = o["known"].astype(int)
    if known[claimant - 1, rank] > 0 or (count == 1 and known[claimant - 1, JOKER] > 0):
        return VOLUNTARY_LIE
    known[claimant - 1] = 0
    located = o["own_hand"].astype(int) + o["own_pile"] + known.sum(axis=0)
    located += o["own_burnt"].astype(int) + o["gone"]
    located[:13][o["quads"] == 1] = o["copies"][0]
    every = int(o["copies"][0]) * int(o["num_ranks"][0]) + int(o["jokers"][0])
    naturals, jokers = int(o["copies"][0] - located[rank]), int(o["jokers"][0] - located[JOKER])
    unseen = every - int(located.sum())
    held = min(int(o["hand_sizes"][claimant]) + count, unseen)
    none = hypergeom(unseen, naturals + jokers, held).pmf(0)
    chances, size = hypergeom(unseen, naturals, held), LIE_SIZES[min(count, 3) - 1]
    truth = chances.pmf(count) + (chances.pmf(0) - none if count == 1 else 0)
    if o["most"][0] == 1:
        truth, size = 1 - none, 1
    must, ranks = way_out(o)
    lie = (must * none + VOLUNTARY_LIE * (1 - none)) * size / ranks
    return lie / (lie + (1 - VOLUNTARY_LIE) * truth)


COUNTED = [("english", 4), ("russian", 3), ("marquoir", 7), ("mogeln", 6), ("idi", 3), ("veryu", 4)]
COUNTED += [("cheat_neighbours", 4), ("chui_niu", 3), ("bluff_bengal", 5), ("dubito_two_left", 4)]


@pytest.mark.parametrize(("variant", "players"), COUNTED)
def test_one_that_counts_challenges_by_its_odds(variant: str, players: int) -> None:
    """The chance of a lie is Bayes' rule on a hypergeometric hand; `odds` says from where on."""
    observation, mask = seen(variant, players, 400)
    rows = np.flatnonzero(mask[:, act.CHALLENGE])[::7]
    chances = []
    for row in observation[rows]:
        o = MEMORY.view(row)
        claimant, rank, count = (int(o["recent"][0, i]) for i in range(3))
        chances.append(expected_chance(o, count, rank, claimant - 1))
    for odds in np.quantile(chances, (0.3, 0.6, 0.9)) - 1e-9:
        counting = load(f"honest(odds={odds}, certain=0)")
        actions = counting.act(observation[rows], mask[rows], np.random.default_rng(0))
        assert np.array_equal(actions == act.CHALLENGE, np.array(chances) > odds)


def test_counting_by_hand() -> None:
    """Three of four sevens in the own hand; the claimant held 3 of the 9 other cards."""
    variant = {"base": "english", "deck": "7-9", "opening": "7"}
    hands = ["7 8 8", "7 7 7", "8 8 9", "9 9 9"]
    env = place(position(hands, 0, "7", (), variant), observation="memory")
    say(env, "0 plays 8")
    holds = 3 / 9
    lie = 0.7 * (1 - holds + 0.1 * holds)  # it must, or it chooses to; and then with one card
    chance = lie / (lie + 0.9 * holds)
    assert answer(env, f"honest(odds={chance - 1e-9})") == act.CHALLENGE
    assert answer(env, f"honest(odds={chance + 1e-9})") == act.ACCEPT
