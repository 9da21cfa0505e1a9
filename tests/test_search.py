"""The player that searches: its worlds agree with what it sees, and it plays by the rules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from any_rules import games
from conftest import FAMILY, Lottery
from hypothesis import given, settings
from hypothesis import strategies as st
from invariants import cards_of, whole_deck
from positions import mask as mask_of
from positions import place, position, say
from random_positions import often_honest

from agents import AgentError, load
from agents.reading import read_game, read_table
from agents.registry import HELD_OUT
from agents.search import MOST_TURNS
from agents.worlds import deal_world, find_unseen, new_unseen
from cheat_env import Rules, RulesWarning, Tables, variants
from cheat_env import actions as act
from cheat_env.cards import JOKER
from cheat_env.compiled import compiled
from cheat_env.engine import legal_actions
from cheat_env.observations import MEMORY, encode
from cheat_env.state import allocate
from cheat_env.values import ALSO_ON_DEAL, REDEAL

#: Every published game at its fewest and its most players and at a number between.
SEATINGS = sorted({*FAMILY, *((name, sum(Rules.load(name).players) // 2) for name in variants())})
#: Options that no observation shows, or only by relative rank.
NOT_READ = ("names", "opening", "starter", "safe_turns", "until", "deals", "max_plays")


class World(NamedTuple):
    """A sampled world: its state (1,), options (1,), and what its observer sees and may do."""

    state: Any
    game: Any
    observation: np.ndarray
    mask: np.ndarray


@compiled
def remake(
    o: Any, game: Any, state: Any, unseen: Any, luck: float, word: Any, out: Any, mask: Any
) -> None:
    """Deal a world of an observation, and write what its observer sees and may do."""
    options, table = game[0], state[0]
    read_table(o, options, table)
    find_unseen(o, options, table, unseen)
    deal_world(options, table, unseen, luck, word)
    encode(table, options, 0, out)
    legal_actions(table, options, mask)


def dealt(observation: np.ndarray, luck: float, seed: int) -> World:
    """Return one world of an observation."""
    world = World(
        allocate(1),
        read_game(observation, MOST_TURNS),
        np.zeros(MEMORY.size, np.int8),
        np.zeros(act.NUM_ACTIONS, np.int8),
    )
    word = np.array([seed], np.uint64)
    remake(observation, world.game, world.state, new_unseen(), luck, word, *world[2:])
    return world


def house(game: tuple[Any, int], num_tables: int, **options: Any) -> Tables:
    """Return tables of a game, without the warnings of house rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)
        return Tables(*game, num_tables, **options)


def positions(game: tuple[Any, int], steps: int, seed: int = 5, every: int = 5) -> Iterator[Tables]:
    """Play one table by chance and yield it at every few positions."""
    tables, lottery = house(game, 1, seed=seed), Lottery(seed)
    for step in range(steps):
        if step % every == 0:
            yield tables
        tables.step(np.array([often_honest(lottery, tables.action_mask[0])]))


def check_world(tables: Tables, world: World) -> None:
    """A world has every card once, its sizes, and looks to its observer as the true one does."""
    table, options = world.state[0], tables.options
    assert np.array_equal(world.observation, tables.observation[0])
    assert np.array_equal(world.mask, tables.action_mask[0])
    found = cards_of(world.state, int(options["copies"]))[0]
    assert found.tolist() == whole_deck(tables).tolist()
    for name in ("hand", "pile", "group", "aside", "burnt", "gone"):
        assert (table[name] >= 0).all()
    assert table["hand_size"].tolist() == table["hand"].sum(axis=1).tolist()
    assert table["group_size"] == table["group"].sum()
    assert table["pile_size"] == table["pile"].sum() + table["group"].sum()
    assert table["burnt_size"] == table["burnt"].sum()
    assert table["aside"].sum() == options["cards"] - options["dealt"]
    held = table["hand"].copy()
    held[table["claimant"]] += table["group"]
    assert (table["known"] <= held).all()


def search_of(env: Any, worlds: int = 16, seed: int = 0) -> int:
    """Return the action of `search` in the position of an environment."""
    seen = env.observe(env.agent_selection)["observation"][None]
    agent = load(f"search(worlds={worlds})")
    return int(agent.act(seen, mask_of(env)[None], np.random.default_rng(seed))[0])


def seen(game: tuple[str, int], n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and masks of random positions."""
    found = [(t.observation[0].copy(), t.action_mask[0].copy()) for t in positions(game, n * 5)]
    return np.stack([o for o, _ in found]), np.stack([m for _, m in found])


# --- Worlds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", SEATINGS, ids=lambda game: f"{game[0]}-{game[1]}")
def test_worlds_agree_with_what_is_seen(game: tuple[str, int]) -> None:
    """Whether the open claim is taken for true or a lie, all that the observer sees is the same."""
    for number, tables in enumerate(positions(game, 400)):
        for luck in (0.0, 1.0):
            check_world(tables, dealt(tables.observation[0], luck, number))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(game=games(), seed=st.integers(0, 2**32 - 1))
def test_worlds_agree_under_any_rules(game: tuple[Rules, int], seed: int) -> None:
    """The same under rules drawn over every option."""
    for number, tables in enumerate(positions(game, 120, seed)):
        check_world(tables, dealt(tables.observation[0], number % 2, seed))


@pytest.mark.parametrize("game", FAMILY, ids=lambda game: f"{game[0]}-{game[1]}")
def test_the_game_is_read(game: tuple[str, int]) -> None:
    """Every option that playing on needs is read, and the opening rank where it is known."""
    for tables in positions(game, 100):
        world, options = dealt(tables.observation[0], 0.5, 1), tables.options
        for name in options.dtype.names:
            if name not in NOT_READ:
                assert np.array_equal(world.game[0][name], options[name]), name
        opening = int(world.game[0]["opening"])
        assert (opening < 0) == (int(options["opening"]) < 0)


def test_worlds_differ() -> None:
    """What is not known is dealt anew each time: any of many cards may lie in any hand."""
    (*_, tables) = positions(("english", 4), 100)
    hands = np.stack([dealt(tables.observation[0], 0.9, n).state[0]["hand"] for n in range(50)])
    assert len({hand.tobytes() for hand in hands}) == 50
    assert (hands[:, 0] == hands[0, 0]).all()
    assert ((hands[:, 1:4, :13] > 0).any(axis=0).mean(axis=1) > 0.7).all()


def test_an_open_claim_is_true_by_luck() -> None:
    """Where luck is low it is a lie of wrong cards alone, where it is high it is true."""
    lies = truths = 0
    for tables in positions(("english", 4), 1500):
        for luck in (0.0, 1.0):
            table = dealt(tables.observation[0], luck, 3).state[0]
            size, claim = int(table["group_size"]), int(table["claim"])
            if size == 0:
                continue
            true = int(table["group"][claim] + table["group"][JOKER])
            if luck:
                possible = whole_deck(tables)[0] - table["hand"][0, claim] >= size
                truths += possible and true == size
            else:
                lies += true < size
    assert lies > 50 and truths > 50


@pytest.mark.parametrize("game", FAMILY, ids=lambda game: f"{game[0]}-{game[1]}")
def test_no_hand_holds_a_set_that_would_be_gone(game: tuple[str, int]) -> None:
    """Where complete sets leave the game at once, hardly a sampled hand holds one."""
    found = worlds = 0
    for tables in positions(game, 300):
        options = tables.options
        if options["quads"] not in (ALSO_ON_DEAL, REDEAL):
            return
        table = dealt(tables.observation[0], 1.0, 1).state[0]
        found += (table["hand"][1:, : len(tables.deck)] >= options["copies"]).any()
        worlds += 1
    assert found <= 0.02 * worlds


# --- Play -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", FAMILY, ids=lambda game: f"{game[0]}-{game[1]}")
def test_search_plays_the_family_legally(game: tuple[str, int]) -> None:
    """At some tables, among its own kind and chance, every answer is one that the mask allows."""
    tables, rng = house(game, 4, seed=3), np.random.default_rng(1)
    agent, lottery = load("search(worlds=1)"), load("random")
    for step in range(40):
        player = lottery if step % 4 == 3 else agent
        actions = player.act(tables.observation, tables.action_mask, rng)
        assert tables.action_mask[np.arange(4), actions].all()
        tables.step(actions)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(game=games(), seed=st.integers(0, 2**32 - 1))
def test_search_plays_legally_under_any_rules(game: tuple[Rules, int], seed: int) -> None:
    """The same under rules drawn over every option."""
    agent, rng = load("search(worlds=1)"), np.random.default_rng(seed)
    for tables in positions(game, 60, seed):
        action = agent.act(tables.observation, tables.action_mask, rng)
        assert tables.action_mask[0, action[0]]


@pytest.mark.parametrize("game", [("english", 4), ("russian", 3), ("marquoir", 5)], ids=str)
def test_equal_generators_give_equal_actions(game: tuple[str, int]) -> None:
    """All chance comes from the generator, whatever was asked before; nothing given is changed."""
    observation, mask = seen(game)
    given = observation.copy(), mask.copy()
    agent, seeds = load("search(worlds=8)"), np.random.default_rng
    first = agent.act(observation, mask, seeds(1))
    np.random.seed(9)
    assert np.array_equal(first, agent.act(observation, mask, seeds(1)))
    assert np.array_equal(first, load("search(worlds=8)").act(observation, mask, seeds(1)))
    assert np.array_equal(observation, given[0]) and np.array_equal(mask, given[1])


def test_the_size_of_a_batch_changes_nothing() -> None:
    """Rows asked one by one, or in parts of several games, get the same answers."""
    (ours, our_mask), (theirs, their_mask) = seen(("english", 4), 30), seen(("russian", 3), 30)
    observation = np.stack([ours, theirs], axis=1).reshape(60, -1)
    mask = np.stack([our_mask, their_mask], axis=1).reshape(60, -1)
    observation.flags.writeable = mask.flags.writeable = False
    agent, rng = load("search(worlds=6)"), np.random.default_rng(4)
    whole = agent.act(observation, mask, np.random.default_rng(4))
    single = [int(agent.act(observation[i, None], mask[i, None], rng)[0]) for i in range(60)]
    assert whole.tolist() == single
    assert agent.act(observation[:0], mask[:0], rng).shape == (0,)


def test_hidden_cards_change_nothing() -> None:
    """Where other seats and the cards aside trade what the observer can't see, it acts alike."""
    agent, traded = load("search(worlds=4)"), 0
    for tables in positions(("english", 4), 400, every=11):
        options, seat = tables.options, int(tables.seat[0])
        before = agent.act(tables.observation, tables.action_mask, np.random.default_rng(2))
        state = tables.state.copy()
        one, two = (seat + 1) % 4, (seat + 2) % 4
        free = state["hand"][0] - state["known"][0, seat]
        mine, yours = (np.flatnonzero(free[other] > 0) for other in (one, two))
        if not len(mine) or not len(yours) or mine[0] == yours[-1]:
            continue
        for other, gives, takes in ((one, mine[0], yours[-1]), (two, yours[-1], mine[0])):
            state["hand"][0, other, gives] -= 1
            state["hand"][0, other, takes] += 1
        out = np.zeros((1, MEMORY.size), np.int8)
        encode(state[0], options, seat, out[0])
        assert np.array_equal(out, tables.observation)
        after = agent.act(out, tables.action_mask, np.random.default_rng(2))
        assert before.tolist() == after.tolist()
        traded += 1
    assert traded > 10


# --- Sense ----------------------------------------------------------------------------------------


def test_it_challenges_a_lie_that_it_sees_through() -> None:
    """A last card claimed of a rank that it holds whole is no way out."""
    env = place(position(["2", "A A A A 9 J", "3 4 5 6 8"], 0, "A", ()), observation="memory")
    say(env, "0 plays 2")
    assert search_of(env) == act.CHALLENGE


def test_it_goes_out_with_a_true_last_card() -> None:
    """With its last two cards, both true, it lays both."""
    env = place(position(["A A", "9 9 J J", "3 4 5 6 8"], 0, "A", ()), observation="memory")
    assert search_of(env) == act.PICK
    env.step(act.PICK)
    assert search_of(env) == act.PICK


def test_a_budget_of_more_worlds_is_another_player() -> None:
    """The budget tells on what it does, and its name says which it is."""
    observation, mask = seen(("english", 4))
    acts = [
        load(name).act(observation, mask, np.random.default_rng(0)).tolist()
        for name in ("search(worlds=1)", "search(worlds=12)")
    ]
    assert acts[0] != acts[1]
    assert load("search( worlds = 12 )").name == "search( worlds = 12 )"
    assert "search" in HELD_OUT


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("search(worlds=0)", "worlds=0"),
        ("search(worlds=-3)", "worlds=-3"),
        ("search(worlds=1.5)", "worlds=1.5"),
        ("search(worlds=many)", "worlds=many"),
        ("search(worlds=1000000)", "worlds=1000000"),
        ("search(worlds)", "worlds="),
        ("search(8)", "'8'"),
        ("search(lie=0.1)", "'lie'"),
    ],
)
def test_a_bad_budget_is_one_clear_line(name: str, told: str) -> None:
    """What is no budget is refused with the name and what is allowed."""
    with pytest.raises(AgentError) as caught:
        load(name)
    assert told in str(caught.value) and name in str(caught.value)
    assert "worlds" in str(caught.value)
    assert "\n" not in str(caught.value)
