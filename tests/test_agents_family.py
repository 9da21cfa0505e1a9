"""The players in every game of the family: legal play, safe counts, and what they do where."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from any_rules import games
from conftest import FAMILY
from hypothesis import given, settings
from hypothesis import strategies as st
from positions import mask, place, position, say, table_of

from agents import load
from agents.habits import DRAWS, Habits, act_by_habits
from agents.registry import RULES
from cheat_env import Rules, RulesWarning, Tables, variants
from cheat_env import actions as act
from cheat_env.cards import JOKER, format_cards
from cheat_env.observations import MEMORY
from cheat_env.options import SHOWN
from cheat_env.state import OVER
from cheat_env.values import CLAIMANT, PICKER, SAME
from train.opponents import draw_habits

MATCHES = 20
#: The players that answer at once (of the one that searches: test_search.py).
HEURISTICS = ("random", *RULES)
Array = np.ndarray


def house(game: tuple[Any, int], num_tables: int, **options: Any) -> Tables:
    """Return tables of a game, without the warnings of house rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)
        return Tables(*game, num_tables, **options)


# --- Any game -------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", FAMILY, ids=lambda game: f"{game[0]}-{game[1]}")
def test_every_player_plays_the_family_legally(game: tuple[str, int]) -> None:
    """Matches of each player among itself, and of all of them mixed, have only legal actions."""
    rng, agents = np.random.default_rng(game[1]), [load(name) for name in HEURISTICS]
    who = np.repeat(np.arange(len(HEURISTICS)), MATCHES)[:, None].repeat(game[1], axis=1)
    who = np.concatenate([who, rng.integers(len(HEURISTICS), size=(MATCHES, game[1]))])
    tables = house(game, len(who), seed=7, auto_reset=False, max_plays=200)
    actions = np.zeros(len(who), np.int64)
    while (going := np.flatnonzero(tables.state["phase"] != OVER)).size:
        players = who[going, tables.seat[going]]
        for number, agent in enumerate(agents):
            rows = going[players == number]
            seen, allowed = tables.observation[rows], tables.action_mask[rows]
            actions[rows] = agent.act(seen, allowed, rng)
        assert tables.action_mask[going, actions[going]].all()
        tables.step(actions)


@pytest.mark.parametrize("game", FAMILY, ids=lambda game: f"{game[0]}-{game[1]}")
def test_honest_deals_end_by_the_rules(game: tuple[str, int]) -> None:
    """Among honest players no deal is cut off: they do not pass or challenge for ever."""
    tables = house(game, MATCHES, seed=3, auto_reset=False, deals=1, until=None)
    honest, rng, actions = load("honest"), np.random.default_rng(0), np.zeros(MATCHES, np.int64)
    while (going := np.flatnonzero(tables.state["phase"] != OVER)).size:
        actions[going] = honest.act(tables.observation[going], tables.action_mask[going], rng)
        tables.step(actions)
    assert not tables.state["truncated"].any()


def impossible(o: dict[str, Array]) -> Array:
    """Return where the last claim can't be true, or a challenge of it would change nothing."""
    n = np.arange(len(o["rank"]))
    claimant, rank, count = o["recent"][:, 0, :3].astype(int).T
    known = o["known"].astype(int).sum(axis=1) - o["known"][n, claimant - 2]
    located = o["own_hand"].astype(int) + o["own_pile"] + o["own_burnt"] + o["gone"] + known
    left = (o["copies"][:, 0] - located[n, rank]) * (o["quads"][n, rank] == 0)
    shown = dict(zip(SHOWN, o["rules"].T, strict=True))
    again = np.isin(shown["lie_leader"], (PICKER, CLAIMANT)) & (
        o["hand_sizes"][n, claimant - 1] > 0
    )
    again &= (shown["rank_after_challenge"] == SAME) & (o["pile_size"] == o["group_size"])[:, 0]
    return (count > left + o["jokers"][:, 0] - located[:, JOKER]) & ~again


def check_certain(tables: Tables, steps: int) -> int:
    """Check that `honest` challenges what is impossible, and that this is a lie; returns how often.

    Liars of all kinds play, at a third of the tables only such as never lie by choice.
    """
    n, rng, found = tables.num_tables, np.random.default_rng(1), 0
    habits = np.array([draw_habits(rng) for _ in range(n)])
    habits[: n // 3, Habits._fields.index("lie")] = 0
    everyone, actions, honest = np.ones(n, np.bool_), np.zeros(n, np.int64), load("honest")
    for _ in range(steps):
        rows = np.flatnonzero(tables.action_mask[:, act.CHALLENGE])
        seen = tables.observation[rows]
        certain = honest.act(seen, tables.action_mask[rows], rng) == act.CHALLENGE
        assert np.array_equal(certain, impossible(MEMORY.view(seen)))
        group, claim = tables.state["group"][rows], tables.state["claim"][rows]
        true_cards = group[np.arange(len(rows)), claim] + group[:, JOKER]
        assert (true_cards < tables.state["group_size"][rows])[certain].all()
        found += int(certain.sum())
        act_by_habits(
            tables.observation,
            tables.action_mask,
            habits,
            rng.random((n, DRAWS)),
            everyone,
            actions,
        )
        tables.step(actions)
    return found


@pytest.mark.parametrize("name", variants())
def test_certain_is_never_wrong(name: str) -> None:
    """What `honest` takes for impossible is a lie, whoever plays and whatever left the game."""
    sizes = Rules.load(name).players
    assert sum(check_certain(house((name, players), 48, seed=5), 300) for players in sizes) > 0


@settings(max_examples=80, deadline=None)
@given(game=games(), seed=st.integers(0, 99))
def test_any_rules(game: tuple[Rules, int], seed: int) -> None:
    """Under rules that nobody plays, too, every action is legal and what is certain is true."""
    check_certain(house(game, 12, seed=seed), 120)


# --- Positions ------------------------------------------------------------------------------------


def table(
    hands: str, rank: str | None, variant: Any, *turns: str, pile: str = "", turn: int = 0
) -> Any:
    """Return an environment in which a seat is to act after some turns, said in words.

    The hands are divided by slashes, and the pile is of the last seat.
    """
    cards = [hand.strip() for hand in hands.split("/")]
    groups = [(len(cards) - 1, pile)] if pile else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)
        env = place(position(cards, turn, rank, groups, variant), observation="memory")
    for said in turns:
        if said.endswith("passes"):
            env.step(act.PASS)
        elif said.endswith("believes"):
            env.step(act.BELIEVE)
        else:
            say(env, said)
    return env


def answer(env: Any, name: str = "honest") -> int:
    """Return the action of a player in the position of an environment."""
    seen = env.observe(env.agent_selection)["observation"][None]
    return int(load(name).act(seen, mask(env)[None], np.random.default_rng(0))[0])


def play(env: Any, name: str = "honest") -> str:
    """Return the cards that a player lays, and the rank if it names one; or "pass" and the like."""
    announced, deck = "", env.unwrapped.tables.deck
    while (action := answer(env, name)) != act.LAY:
        if action in (act.PASS, act.BELIEVE, act.CHALLENGE, act.ACCEPT):
            return act.name(action)
        env.step(action)
        if action >= act.ANNOUNCE_RANK:
            announced = f" as {deck[table_of(env)['rank']]}"
    return format_cards(table_of(env)["picked"], deck) + announced


SIX = "bluff_bengal"  # one rank, up to six cards, jokers, passing, and burnt piles


@pytest.mark.parametrize(
    ("name", "hand", "laid"),
    [
        ("honest", "7 7 Jo 3", "7 7"),
        ("honest", "Jo Jo 3 8", "Jo"),
        ("honest(odds=0.5)", "Jo 3 8", "Jo"),
        ("honest", "3 8 8", "3"),
        ("dumper", "7 7 Jo 3", "7 7 3 Jo"),
        ("dumper", "7 2 3 4 5 8 Jo", "7 8 2 3 4 5"),
        ("honest(lie=1)", "Jo 3 8 8", "3"),
        ("honest(lie=1)", "7 Jo 3", "3"),
        ("honest(lie=1)", "Jo Jo", "Jo"),
        ("honest(mix=1)", "7 Jo 3", "7 3"),
        ("honest(mix=1)", "Jo Jo 3", "Jo"),
    ],
)
def test_jokers_save_from_lying(name: str, hand: str, laid: str) -> None:
    """A joker is laid where the rank is lacking, one alone, and else it is kept."""
    assert sorted(play(table(f"{hand} / K Q / A A", "7", SIX), name).split()) == sorted(
        laid.split()
    )


def test_a_joker_fills_up_a_play_that_is_too_small() -> None:
    """Where two cards must be laid, a true card and a joker are better than a true and a wrong."""
    two = {"base": SIX, "cards_per_play": [2, 6]}
    assert play(table("7 Jo 3 / K Q / A A", "7", two)) == "7 Jo"
    assert play(table("7 Jo 3 / K Q / A A", "7", two, pile="9")) == "7 Jo"
    assert play(table("7 4 3 / K Q / A A", "7", two, pile="9")) == "pass"


@pytest.mark.parametrize(
    ("name", "hand", "laid"),
    [
        ("honest", "3 8", "pass"),
        ("honest", "7 3", "7"),
        ("honest", "Jo 3", "Jo"),
        ("caller", "3 8", "pass"),
        ("bluffer(lie=0, call=0)", "3 8", "pass"),
        ("honest(lie=1)", "3 8 8", "3"),
        ("honest(lie=1)", "7 8", "8"),
    ],
)
def test_honest_passes_instead_of_lying(name: str, hand: str, laid: str) -> None:
    """It passes where it has neither the rank nor a joker; a liar by habit lies."""
    assert play(table(f"{hand} / K Q / A A", "7", SIX, pile="9"), name) == laid


def test_a_liar_lies_with_its_chance_and_else_passes() -> None:
    """Of 4000 answers with lie=0.3 three tenths lie, within 3 %, and all others pass."""
    env = table("3 8 / K Q / A A", "7", SIX, pile="9")
    seen = env.observe(env.agent_selection)["observation"][None].repeat(4000, axis=0)
    allowed = mask(env)[None].repeat(4000, axis=0)
    actions = load("honest(lie=0.3)").act(seen, allowed, np.random.default_rng(0))
    assert abs((actions < act.LAY).mean() - 0.3) < 0.03
    assert (actions[actions >= act.LAY] == act.PASS).all()


def test_a_leader_lies_where_it_may_not_pass() -> None:
    """There is nothing to pass on an empty table."""
    assert play(table("3 8 / K Q / A A", "7", "cheat_british")) == "8"
    assert play(table("3 8 / K Q / A A", "7", "cheat_british", pile="9")) == "pass"


RISING = {"base": "cheat_british", "players": [3, 8], "deck": "7-A"}  # 8 ranks


@pytest.mark.parametrize(
    ("hands", "rank", "variant", "laid"),
    [
        # Of four seats and eight ranks, a seat asked for 7 is asked for J next, then 7 again.
        ("8 / K Q / A A / 9", "7", RISING, "8"),
        ("8 J / K Q / A A / 9", "7", RISING, "pass"),
        ("8 J / K Q / A A", "7", RISING, "pass"),
        ("8 / K Q / A A / 9", "7", RISING | {"all_pass": "burn_pile"}, "pass"),
        ("3 / K Q / A A", "7", {"base": SIX, "pass": "allowed", "all_pass": "nothing"}, "3"),
    ],
)
def test_nobody_passes_for_ever(hands: str, rank: str, variant: Any, laid: str) -> None:
    """It passes only where that burns the pile or can bring the turn to a rank that it holds."""
    assert play(table(hands, rank, variant, pile="9")) == laid


@pytest.mark.parametrize(
    ("name", "hand", "rules", "laid"),
    [
        ("honest", "7 6 8 8 2 2 2", {}, "8 8 as 8"),
        ("honest", "6 2 2 2", {}, "6 as 6"),
        ("honest", "2 2 3", {}, "3 as 6"),
        ("honest", "2 2 3", {"pass": "allowed"}, "3 as 6"),
        ("honest", "2 2 3", {"pass": "allowed", "all_pass": "burn_pile"}, "pass"),
        ("honest", "2 6", {"pass": "allowed", "all_pass": "burn_pile"}, "6 as 6"),
        ("honest", "2 Jo", {"pass": "allowed", "all_pass": "burn_pile", "jokers": 2}, "Jo as 6"),
        ("honest", "2 2 7", {"rank": "adjacent"}, "7 as 6"),
        ("honest", "2 2 7", {"rank": "free"}, "2 2 as 2"),
    ],
)
def test_announcing(name: str, hand: str, rules: dict[str, Any], laid: str) -> None:
    """Of the ranks that it may claim it names that of which it holds most, none: pass or lie."""
    variant = {"base": "cheat_neighbours"} | rules
    turns = ("2 plays 7 as 7", "0 accepts", "1 accepts")
    env = table(f"{hand} / K Q / 7 A", None, variant, *turns, turn=2)
    assert play(env, name) == laid


@pytest.mark.parametrize(
    ("name", "hand", "laid"),
    [
        ("honest", "6 9", "believe"),
        ("honest", "10 9", "10"),
        ("honest", "10 10 9", "10 10"),
        ("honest(certain=0)", "6 9", "believe"),
        ("caller", "6 9", "challenge"),
        ("dumper", "6 9", "6 9"),
        ("honest(lie=1)", "6 9", "6"),
        ("honest(odds=0.5)", "6 9", "believe"),
    ],
)
def test_believing(name: str, hand: str, laid: str) -> None:
    """What it does not suspect it believes where it would have to lie to go on."""
    turns = "0 plays 10 10 as 10"
    assert play(table(f"10 10 4 / {hand} / J 3 7 / Q 2", None, "veryu", turns), name) == laid


def test_what_is_impossible_is_not_believed() -> None:
    """Three tens can't be where the observer holds two."""
    hands = "4 5 8 A / 10 10 9 / J 3 7 / Q 2"
    assert play(table(hands, None, "veryu", "0 plays 4 5 8 as 10")) == "challenge"


@pytest.mark.parametrize(("odds", "done"), [(0.05, "challenge"), (0.8, "believe"), (0.95, "6")])
def test_one_that_counts_believes_what_it_takes_to_be_true(odds: float, done: str) -> None:
    """With odds=c it challenges above c, believes up to 1 - c, and lies where it can't say.

    Two of four tens among three of 50 cards: 276/19600. A liar by choice might have named any of
    13 ranks, and two cards: 0.1 x 0.2/13. Together that makes a lie 11 %.
    """
    env = table("10 10 4 / 6 9 / J 3 7 / Q 2", None, "veryu", "0 plays 10 10 as 10")
    assert play(env, f"honest(odds={odds})") == done


def test_own_burnt_cards_are_counted() -> None:
    """Six sevens are claimed: four sevens and two jokers less the seven that seat 0 saw burn."""
    turns = ["0 plays 7 as 7", "1 passes", "2 passes", "0 plays 2 as 3", "1 challenges"]
    claim = ["1 plays A 3 4 5 8 9 as 7", "2 passes"]
    hands = "{} 2 5 / A 3 4 5 8 9 9 / K Q"
    env = table(hands.format("7"), None, "bluff_honest", *turns, *claim)
    assert answer(env) == act.CHALLENGE
    assert answer(env, "honest(certain=0)") == act.PASS
    assert answer(table(hands.format("6"), None, "bluff_honest", *claim, turn=1)) == act.PASS


@pytest.mark.parametrize(
    ("hand", "claim", "certain"),
    [
        ("K Q", "A 2 3 4 5 6", False),
        ("Jo Q", "A 2 3 4 5 6", True),
        ("Jo Q", "A 2 3 4 5", False),
        ("7 Q", "A 2 3 4 5 6", True),
        ("7 Jo", "A 2 3 4 5", True),
        ("7 Jo", "A 2 3 4", False),
        ("7 7 7 7", "A 2", False),
        ("7 7 7 7", "A 2 3", True),
        ("7 7 7 Jo", "A 2", False),
    ],
)
def test_a_claim_may_be_true_with_jokers(hand: str, claim: str, certain: bool) -> None:
    """Of four sevens and two jokers those count that the observer does not hold itself."""
    env = table(f"A 2 3 4 5 6 8 / {hand} / 9 9", None, SIX, f"0 plays {claim} as 7")
    assert (answer(env) == act.CHALLENGE) == certain


def test_cards_that_left_the_game_face_up_are_counted() -> None:
    """Two tens were believed and are gone: three others there can't be."""
    hands = "10 10 4 / 9 6 A 8 / J 3 7 / Q 2"
    turns = ["0 plays 10 10 as 10", "1 believes"]
    env = table(hands, None, "veryu", *turns, "1 plays 6 A 8 as 10")
    assert answer(env) == act.CHALLENGE
    env = table(hands, None, "veryu", *turns, "1 plays 6 A as 10")
    assert answer(env) == act.BELIEVE


@pytest.mark.parametrize("name", ["honest", "caller", "honest(odds=0.5)"])
def test_nobody_challenges_in_vain(name: str) -> None:
    """A liar that would lead again with the same rank and cards is let go, but not out."""
    held = "7 7 7 7 2 / K Q"
    assert answer(table(f"3 9 / {held}", "7", "bullshit_same", "0 plays 3"), name) == act.ACCEPT
    for hands, pile, variant in (
        (f"3 9 / {held}", "5", "bullshit_same"),
        (f"3 / {held}", "", "bullshit_same"),
        (f"3 9 / {held}", "", "doubt_picker"),
        (f"3 9 / {held}", "", "english"),
    ):
        seats = hands + " / J J" if variant == "doubt_picker" else hands
        env = table(seats, "7", variant, "0 plays 3", pile=pile)
        assert answer(env, name) == act.CHALLENGE
