"""Faults that others met in games like this one: what agents see, S13 and S14."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import PLAYERS, Lottery
from playing import ALL_VARIANTS, ended, every, look
from positions import mask, place, position, say, selected, table_of, turned

from cheat_env import actions as act
from cheat_env import env, raw_env
from cheat_env.observations import TABLE


@pytest.mark.parametrize("variant", PLAYERS)
def test_s13_hand_sizes_are_kept_apart(variant: str) -> None:
    """S13: opponents with 1 and 9, 5 and 5, 9 and 1 cards make three observations."""
    many = "7 7 8 8 9 9 10 10 J"
    splits = [("6", many), ("6 7 7 8 8", "9 9 10 10 J"), (many, "6")]
    seen = {}
    for others in splits:
        game = place(position(["Q K", *others], 0, "A", (), variant))
        for seat in range(3):
            observation = game.observe(f"player_{seat}")["observation"]
            sizes = [len(cards.split()) for cards in ("Q K", *others)]
            relative = [sizes[(seat + i) % 3] for i in range(3)]
            assert TABLE.view(observation)["hand_sizes"][:3].tolist() == relative
        seen[others] = look(game).tobytes()
    assert len(set(seen.values())) == 3


@every(ALL_VARIANTS)
@pytest.mark.parametrize("observation", ["table", "memory"])
def test_s14_the_play_just_made_is_seen(variant: str, rules: Any, observation: str) -> None:
    """S14: the next seat sees claim, count, claimant and pile of the play before it."""
    start = position(["K K J 2", "3 4", "5 6", "7 8"], 0, "K", (), variant, **rules)
    seen = []
    for cards in ("K", "J K K"):
        game = place(start, observation=observation)
        say(game, f"0 plays {cards}")
        count = len(cards.split())
        for seat in (1, 2, 3) if variant != "russian" else (1,):
            assert selected(game) == seat
            fields = TABLE.view(look(game)[: TABLE.size])
            assert fields["group_size"] == fields["pile_size"] == count
            assert np.flatnonzero(fields["rank"]).tolist() == [12]
            assert np.flatnonzero(fields["claimant"]).tolist() == [4 - seat]
            seen.append(look(game).tobytes())
            if variant != "russian" and seat < 3:
                game.step(act.ACCEPT)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("end", ["terminated", "truncated", "illegal"])
def test_s14_everybody_sees_its_own_hand_at_the_end(game: tuple[str, int], end: str) -> None:
    """S14: however a match ends, what is last seen is the seat's own, with an empty mask."""
    variant, players = game
    most = {"max_plays": 7} if end == "truncated" else {}
    for seed in range(6):
        played = env(variant, players, deals=1, **most)
        played.reset(seed=seed)
        lottery, steps = Lottery(seed), 0
        while not ended(played):
            legal, steps = mask(played), steps + 1
            illegal = end == "illegal" and steps > 9 + seed
            played.step(int(legal.argmin()) if illegal else lottery.choose(legal))
        if end != "illegal" and any(played.truncations.values()) != (end == "truncated"):
            continue
        table, ranks = table_of(played), len(played.tables.deck)
        for agent in played.agent_iter():
            seen, *_ = played.last()
            own = TABLE.view(seen["observation"])["own_hand"]
            hand = table["hand"][played.possible_agents.index(agent)]
            assert np.array_equal(own[:ranks], turned(hand, table, ranks)[:ranks])
            assert not seen["action_mask"].any()
            played.step(None)


def test_s14_everybody_sees_its_own_hand(game: tuple[str, int]) -> None:
    """S14: at every step each seat's own hand is its own, and only who acts has a mask."""
    variant, players = game
    played = raw_env(variant, players, max_plays=30, deals=1)
    played.reset(seed=14)
    lottery = Lottery(14)
    while not ended(played):
        table, ranks = table_of(played), len(played.tables.deck)
        for seat, agent in enumerate(played.agents):
            seen = played.observe(agent)
            own = TABLE.view(seen["observation"])["own_hand"]
            assert np.array_equal(own[:ranks], turned(table["hand"][seat], table, ranks)[:ranks])
            assert seen["action_mask"].any() == (agent == played.agent_selection)
        played.step(lottery.choose(mask(played)))
