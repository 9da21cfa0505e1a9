"""Positions for tests: an environment put where a record starts, and turns played in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from cheat_env import actions as act
from cheat_env import raw_env
from cheat_env.cards import JOKER, format_cards, parse_cards
from cheat_env.engine import base_rank
from cheat_env.records import VERBS, Replay
from cheat_env.state import DTYPE, State
from cheat_env.tables import Tables


def position(
    hands: Sequence[str],
    turn: int = 0,
    rank: str | None = None,
    pile: Sequence[tuple[int, str]] = (),
    variant: Any = "english",
    **rules: Any,
) -> dict[str, Any]:
    """Return the record document of a position; `pile` is (seat, cards) from the bottom up."""
    groups = [{"seat": seat, "cards": cards} for seat, cards in pile]
    start = {"hands": list(hands), "pile": groups, "turn": turn, "rank": rank}
    return {"variant": variant, "players": len(hands), "rules": rules, "start": start}


def put(env: AECEnv, state: State) -> None:
    """Put an environment that was reset into a position, shape (1,)."""
    raw = env.unwrapped
    tables: Tables = raw.tables
    tables.take_over(state)
    raw.agent_selection = raw.possible_agents[int(tables.seat[0])]


def place(document: dict[str, Any], make: Any = raw_env, **options: Any) -> AECEnv:
    """Return an environment, made by `make`, in the position of a record document."""
    replay = Replay(document)
    env = make(replay.rules, replay.num_players, **options)
    env.reset(seed=0)
    put(env, replay.state)
    return env


def table_of(env: AECEnv) -> Any:
    """Return the table that an environment plays on."""
    return env.unwrapped.tables.state[0]


def same(one: Any, other: Any) -> bool:
    """Say whether two tables, or two states, are equal in every field."""
    return all(np.array_equal(one[name], other[name]) for name in DTYPE.names)


def hand(env: AECEnv, seat: int) -> str:
    """Return the cards of a seat as text, in the order of the deck."""
    return format_cards(table_of(env)["hand"][seat], env.unwrapped.tables.deck)


def hands(env: AECEnv) -> list[str]:
    """Return the cards of every seat as text."""
    return [hand(env, seat) for seat in range(env.unwrapped.tables.num_players)]


def mask(env: AECEnv) -> np.ndarray:
    """Return the mask of the agent selected."""
    return env.observe(env.agent_selection)["action_mask"]


def legal(env: AECEnv) -> set[int]:
    """Return the legal actions of the agent selected."""
    return set(np.flatnonzero(mask(env)).tolist())


def selected(env: AECEnv) -> int:
    """Return the seat of the agent selected."""
    return env.possible_agents.index(env.agent_selection)


def say(env: AECEnv, *turns: str) -> None:
    """Play turns in the words of a record, like "0 plays 7 K as 7" and "1 challenges"."""
    for turn in turns:
        seat, verb, *rest = turn.split(" ", 2)
        assert selected(env) == int(seat), f"{turn}: {env.agent_selection} is selected"
        _act(env, verb, rest[0] if rest else "")


def _act(env: AECEnv, verb: str, rest: str) -> None:
    deck = env.unwrapped.tables.deck
    if verb == "plays":
        cards, _, rank = rest.partition(" as ")
        if rank:
            env.step(act.ANNOUNCE_RANK + _relative(env, deck.index(rank)))
        picks = [i for i, n in enumerate(parse_cards(cards, deck)) for _ in range(n)]
        for pick in sorted(_relative(env, pick) for pick in picks):
            env.step(act.PICK + pick)
        env.step(act.LAY)
    elif verb == "discards":
        env.step(act.DISCARD + _relative(env, deck.index(rest)))
    else:
        env.step(VERBS[verb])


def _relative(env: AECEnv, rank: int) -> int:
    return (rank - base_rank(table_of(env))) % len(env.unwrapped.tables.deck)


def turned(cards: np.ndarray, table: Any, ranks: int) -> np.ndarray:
    """Return counts by rank of the deck as counts by relative rank, absent ranks 0."""
    found = np.zeros_like(cards)
    found[:ranks] = np.roll(cards[:ranks], -max(int(table["rank"]), 0))
    found[JOKER:] = cards[JOKER:]
    return found


def results(env: AECEnv) -> dict[str, float]:
    """Answer every dead agent with None and return what each `last` paid."""
    paid = {}
    for agent in env.agent_iter(20):
        _, reward, terminated, truncated, _ = env.last()
        assert terminated or truncated
        paid[agent] = paid.get(agent, 0.0) + reward
        env.step(None)
    return paid
