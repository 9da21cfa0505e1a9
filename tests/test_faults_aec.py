"""Faults that others met in games like this one: the AEC interface, S15 to S21."""

from __future__ import annotations

import copy
import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import GAMES, PLAYERS, Lottery
from playing import Chooser, drain, ended, look, never_end, snapshot, trace
from positions import mask, place, position, results, same, say, table_of

from cheat_env import IllegalAction, Tables, env, raw_env
from cheat_env import actions as act
from cheat_env.observations import MEMORY
from cheat_env.state import ANNOUNCE, PLAY, QUADS, WINDOW


@pytest.mark.parametrize("players", PLAYERS["english"])
@pytest.mark.parametrize("variant", ["english", "marquoir"])
@pytest.mark.parametrize("make", [env, raw_env])
def test_s15_the_cap_truncates(make: Any, variant: str, players: int) -> None:
    """S15: the tenth play's window is settled, then all are truncated, unpaid, and none ended."""
    game = make(variant, players, max_plays=10)
    game.reset(seed=15)
    lottery, verdicts = Lottery(15), 0
    while not game.truncations[game.agent_selection]:
        table = table_of(game)
        assert not any(game.terminations.values())
        assert table["plays"] < 10 or table["phase"] == WINDOW
        verdicts += table["plays"] == 10
        allowed = mask(game)
        game.step(act.ACCEPT if allowed[act.ACCEPT] else lottery.choose(allowed))
    assert (table_of(game)["plays"], verdicts) == (10, players - 1)
    assert set(game.truncations.values()) == {True}
    assert set(game.terminations.values()) == {False}
    assert results(game) == dict.fromkeys(game.possible_agents, 0.0)
    assert game.agents == []


@pytest.mark.parametrize("players", PLAYERS["russian"])
def test_s15_the_cap_truncates_russian(players: int) -> None:
    """S15: neither nine nor eleven plays, but ten."""
    game = raw_env("russian", players, max_plays=10)
    game.reset(seed=15)
    while not ended(game):
        allowed = mask(game).copy()
        allowed[act.CHALLENGE] = 0
        game.step(int(np.flatnonzero(allowed)[0]))
    assert table_of(game)["plays"] == 10
    assert set(game.truncations.values()) == {True}
    assert set(game.terminations.values()) == {False}
    assert set(results(game).values()) == {0.0}


def test_s15_an_end_on_the_last_play_is_an_end() -> None:
    """S15: a deal won by the very last play allowed is won, not truncated."""
    for variant in ("english", "marquoir"):
        game = place(position(["8", "2 3", "4 5"], 0, "8", (), variant, deals=1, max_plays=1))
        say(game, "0 plays 8", "1 accepts", "2 accepts")
        assert set(game.terminations.values()) == {True}
        assert set(game.truncations.values()) == {False}
    game = place(position(["8", "2 3"], 0, "8", (), "russian", deck="2-A", max_plays=1))
    say(game, "0 plays 8", "1 accepts")
    assert set(game.terminations.values()) == {True}


@pytest.mark.parametrize("make", [env, raw_env])
def test_s16_last_pays_every_reward_once(game: tuple[str, int], make: Any) -> None:
    """S16: sums of `last` are the table's own, each agent has one dead visit, and none is left."""
    variant, players = game
    played = make(variant, players, max_plays=200, deals=3)
    lottery = Lottery(16)
    for seed in range(3):
        played.reset(seed=seed)
        paid, earned = Counter[str](), np.zeros(players)
        dead: Counter[str] = Counter()
        for agent in played.agent_iter():
            observation, reward, terminated, truncated, _ = played.last()
            paid[agent] += reward
            if terminated or truncated:
                dead[agent] += 1
                played.step(None)
            else:
                played.step(lottery.choose(observation["action_mask"]))
                earned += played.unwrapped.tables.reward[0]
        assert played.agents == []
        assert dead == Counter(played.possible_agents)
        assert [paid[a] for a in played.possible_agents] == pytest.approx(earned.tolist())
        assert earned.sum() == pytest.approx(0, abs=1e-5)


def test_s16_a_dead_agent_takes_only_none() -> None:
    """S16: an action for an agent that is done raises."""
    game = place(position(["8", "2 3", "4 5"], 0, "8"))
    say(game, "0 plays 8", "1 accepts", "2 accepts")
    with pytest.raises(ValueError, match="None"):
        game.step(act.ACCEPT)


def test_s16_a_reward_waits_for_the_next_last() -> None:
    """S16: what a deal inside a match pays is found once, at each agent's next `last`."""
    game = place(position(["8", "2 3", "4 5 6"], 0, "8", (), "marquoir", deals=2))
    say(game, "0 plays 8", "1 accepts", "2 accepts")
    assert not ended(game)
    lottery, paid = Lottery(0), {}
    while len(paid) < 3:
        agent = game.agent_selection
        reward = game.last()[1]
        assert reward == (0.0 if agent in paid else {"player_2": -1.0}.get(agent, 0.5))
        paid[agent] = reward
        game.step(lottery.choose(mask(game)))


@pytest.mark.parametrize("at_step", [0, 3, 10])
def test_s17_a_game_after_an_illegal_ending_is_a_fresh_one(
    game: tuple[str, int], at_step: int
) -> None:
    """S17: after an illegal action, or a reset half way through the dead steps, all is as new."""
    variant, players = game
    wrapped, fresh = env(variant, players), env(variant, players)
    for dead_steps in (players, 1):
        wrapped.reset(seed=17)
        fresh.reset(seed=1)
        first, lottery = snapshot(fresh), Lottery(1)
        for _ in range(at_step):
            assert wrapped.agent_selection == wrapped.unwrapped.agent_selection
            wrapped.step(lottery.choose(mask(wrapped)))
        wrapped.step(act.BELIEVE)
        assert ended(wrapped)
        for _ in range(dead_steps):
            assert wrapped.agent_selection == wrapped.unwrapped.agent_selection
            wrapped.step(None)
        assert len(wrapped.agents) == players - dead_steps
        wrapped.reset(seed=1)
        assert wrapped.agents == wrapped.possible_agents
        assert snapshot(wrapped) == first
        expected = trace(fresh, Lottery(2).choose, 60)
        assert trace(wrapped, Lottery(2).choose, 60) == expected


def oracle(table: Any, options: Any, variant: str) -> set[int]:
    """Return the legal actions by the rule book, written again and apart from the engine."""
    ranks, base, most = int(options["num_ranks"]), max(int(table["rank"]), 0), 4
    own, phase = table["hand"][table["turn"]], int(table["phase"])
    found: set[int] = set()
    if variant == "russian":
        most = 3
        if table["group_size"] and phase in (ANNOUNCE, PLAY) and not table["picked"].any():
            found.add(act.CHALLENGE)  # C6
    if phase == WINDOW:
        return {act.ACCEPT, act.CHALLENGE}
    if phase == ANNOUNCE:
        return found | {act.ANNOUNCE_RANK + r for r in range(ranks)}
    if phase == QUADS:
        sets = {r for r in range(ranks) if own[(base + r) % ranks] == options["copies"]}
        return {act.DISCARD + r for r in sets} | {act.KEEP}
    picked = [int(table["picked"][(base + r) % ranks]) for r in range(ranks)]
    lowest = max([r for r in range(ranks) if picked[r]], default=0)
    if sum(picked):
        found.add(act.LAY)
    if sum(picked) < most:
        found |= {r for r in range(lowest, ranks) if own[(base + r) % ranks] > picked[r]}
    return found


def test_s18_the_mask_is_the_rule_book(game: tuple[str, int]) -> None:
    """S18: in 22,500 random states in all the mask is what the rules allow, never empty."""
    variant, _ = game
    tables, rng, phases = Tables(*game, 30, seed=18), Chooser(18), Counter[int]()
    space = tables.layout.space()
    for step in range(400):
        if step % 8 == 0:
            for t in range(30):
                allowed = set(np.flatnonzero(tables.action_mask[t]).tolist())
                assert allowed == oracle(tables.state[t], tables.options, variant)
                assert allowed
                assert space.contains(tables.observation[t])
                phases[int(tables.state[t]["phase"])] += 1
        tables.step(rng.choose(tables.action_mask))
    assert tables.action_mask.dtype == np.int8
    wanted = {"english": {PLAY, WINDOW}, "marquoir": {PLAY, WINDOW}}.get(variant, {ANNOUNCE, PLAY})
    assert wanted <= set(phases)


@pytest.mark.parametrize("variant", PLAYERS)
def test_s18_a_copy_accepts_just_what_is_masked(variant: str) -> None:
    """S18: of all 46 actions a copied environment accepts those of the mask and no other."""
    game, lottery = raw_env(variant, 3), Lottery(18)
    game.reset(seed=18)
    for _ in range(12):
        for _ in range(5):
            game.step(lottery.choose(mask(game)))
        seen = game.observe(game.agent_selection)
        assert game.observation_space(game.agent_selection).contains(seen)
        assert seen["action_mask"].shape == (game.action_space(game.agent_selection).n,)
        accepted = set()
        for action in range(act.NUM_ACTIONS):
            trial = copy.deepcopy(game)
            try:
                trial.step(action)
            except IllegalAction:
                continue
            accepted.add(action)
        assert accepted == set(np.flatnonzero(seen["action_mask"]).tolist())


@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.parametrize("variant", PLAYERS)
def test_s19_copies_keep_the_game(variant: str, make: Any) -> None:
    """S19: in every phase deepcopy and pickle go on as the original and apart from it."""
    phases = set()
    for steps in range(0, 400, 11):
        game = make(variant, 3, observation="memory", deals=2)
        game.reset(seed=steps)
        lottery = Lottery(steps)
        for _ in range(steps):
            if not ended(game):
                game.step(lottery.choose(mask(game)))
        phases.add(int(table_of(game)["phase"]))
        copies = [copy.deepcopy(game), pickle.loads(pickle.dumps(game))]
        expected = trace(game, Lottery(19).choose, 30)
        for copied in copies:
            assert trace(copied, Lottery(19).choose, 30) == expected
        for copied in copies:
            assert same(table_of(copied), table_of(game))
    assert {"russian": {ANNOUNCE, PLAY, QUADS}}.get(variant, {PLAY, WINDOW}) <= phases


@pytest.mark.parametrize("make", [env, raw_env])
def test_s20_a_seed_is_a_deal(game: tuple[str, int], make: Any) -> None:
    """S20: the same seed deals the same, another one another, whatever global generators did."""
    played = make(*game)
    deals = []
    for seed in (7, 7, 8):
        played.reset(seed=seed)
        deals.append(played.state().tobytes())
        random.random()
        np.random.random()
    assert deals[0] == deals[1] != deals[2]


def test_s20_without_a_seed_the_sequence_goes_on(game: tuple[str, int]) -> None:
    """S20: reset() after reset(seed=7) deals something new, and the same new thing each time."""

    def deals(steps: int) -> list[bytes]:
        played, found, lottery = raw_env(*game), [], Lottery(steps)
        played.reset(seed=7)
        for _ in range(4):
            found.append(played.state().tobytes())
            for _ in range(steps):
                if not ended(played):
                    played.step(lottery.choose(mask(played)))
            played.reset()
        return found

    assert deals(0) == deals(50)
    assert len(set(deals(0))) == 4


def test_s20_unseeded_games_differ() -> None:
    """S20: two environments that were never given a seed deal differently."""
    games = [raw_env(), raw_env()]
    for game in games:
        game.reset()
    assert games[0].state().tobytes() != games[1].state().tobytes()


def test_s20_global_generators_are_left_alone(game: tuple[str, int]) -> None:
    """S20: reset and a hundred steps neither read nor disturb them."""
    random.seed(1)
    np.random.seed(1)
    before = (random.getstate(), str(np.random.get_state()))
    played = env(*game)
    played.reset(seed=20)
    trace(played, Lottery(20).choose, 100)
    played.reset()
    assert (random.getstate(), str(np.random.get_state())) == before


def test_s20_games_side_by_side_are_apart(game: tuple[str, int]) -> None:
    """S20: two environments stepped in turn play as each does alone."""
    alone = []
    for seed in (1, 2):
        played = raw_env(*game)
        played.reset(seed=seed)
        alone.append(trace(played, Lottery(seed).choose, 60))
    both = [raw_env(*game), raw_env(*game)]
    lotteries = [Lottery(1), Lottery(2)]
    for seed, played in enumerate(both, 1):
        played.reset(seed=seed)
    found: list[list[Any]] = [[], []]
    for _ in range(60):
        for i in (0, 1):
            found[i] += trace(both[i], lotteries[i].choose, 1)
    assert found == alone


#: Every option other than the English game's.
CHANGED: dict[str, Any] = {
    "players": [2, 7],
    "deck": "2-Q",
    "decks": 2,
    "cards_per_play": [2, 3],
    "opening": "5",
    "rank": "down",
    "challengers": "next",
    "lie_leader": "picker",
    "truth_leader": "claimant",
    "rank_after_challenge": "same",
    "quads": "mandatory",
    "removed_cards": 2,
    "scoring": "most_cards",
    "deals": 2,
    "max_plays": 77,
}


@pytest.mark.parametrize("make", [env, raw_env])
def test_s21_options_outlive_resets(make: Any) -> None:
    """S21: after any reset of any copy the rules, the cap and the layout are those asked for."""
    game = make("english", 5, observation="memory", render_mode="ansi", **CHANGED)
    for start in (lambda e: e.reset(), lambda e: e.reset(seed=3), lambda e: e.reset(seed=9)):
        for played in (game, copy.deepcopy(game)):
            start(played)
            assert played.agents == [f"player_{seat}" for seat in range(5)]
            options = played.unwrapped.tables.rules.as_options()
            assert {name: options[name] for name in CHANGED} == CHANGED
            assert look(played).shape == (MEMORY.size,)
            assert isinstance(played.render(), str)
            drain(played, never_end)
            table = table_of(played)
            assert table["deal"] == 1 or table["plays"] == 77
            assert table["plays"] <= 77


@pytest.mark.parametrize(("variant", "players"), GAMES)
def test_s21_rewards_are_those_of_the_game_after_any_reset(variant: str, players: int) -> None:
    """S21: three games on one environment are those of three new ones."""
    once = raw_env(variant, players, max_plays=200, deals=1)
    for seed in (1, 2, 3):
        new = raw_env(variant, players, max_plays=200, deals=1)
        once.reset(seed=seed)
        new.reset(seed=seed)
        assert drain(once, Lottery(seed).choose) == drain(new, Lottery(seed).choose)
