"""Evaluations made up for tests, in the form of evaluation.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Share of one seat of the first against copies of the second; equal is .25.
CYCLE = {
    **{("rock", "scissors"): 0.6, ("scissors", "rock"): 0.1},
    **{("paper", "rock"): 0.6, ("rock", "paper"): 0.1},
    **{("scissors", "paper"): 0.6, ("paper", "scissors"): 0.1},
}


def estimate(mean: float | None, half: float | None = 0.02) -> dict[str, float | None]:
    """Return a share with its interval; without a half width there is no interval."""
    if mean is None or half is None:
        return {"mean": mean, "low": None, "high": None}
    return {"mean": mean, "low": max(mean - half, 0.0), "high": min(mean + half, 1.0)}


def record(share: float | None, games: int = 400, half: float | None = 0.02) -> dict[str, Any]:
    """Return what an agent with this share did: a lie in four and a challenge in ten."""
    return {
        "counts": {
            **{"games": games, "won": round((share or 0) * games), "lost": 0, "place": 2.0 * games},
            **{"claims": 1500, "free": 1400, "lies_free": 350, "forced": 100, "lies_forced": 100},
            **{"asked": 400, "challenges": 40, "right": 20, "caught": 90},
        },
        "share": estimate(share, half),
        "lost": estimate(None),
        "reward": estimate(None if share is None else -0.5, None),
        "place": estimate(None if share is None else 2.0, None),
        "truncated": 0.0,
        "lies_by_hand": [[100, 25]] * 14,
        "lies_by_size": [[100, 30]] * 4,
        "challenges_by_size": [[100, 10, 5]] * 4,
    }


def cell(lineup: Sequence[str], shares: Mapping[str, float | None], **more: Any) -> dict[str, Any]:
    """Return a cell of a line-up in which each agent has this share in each of its seats."""
    games, half = 100 * len(lineup), more.pop("half", 0.02)
    return {
        "variant": "english",
        "rules": {},
        "players": len(lineup),
        "scoring": "winner",
        "lineup": list(lineup),
        "deals": 100,
        "finished": games,
        "truncated": 0,
        "plays": 40.0,
        "decisions": 200.0,
        "agents": {
            name: record(share, games * list(lineup).count(name), half)
            for name, share in shares.items()
        },
        **more,
    }


def duel(one: str, other: str, share: float | None, players: int = 4, **more: Any) -> Any:
    """Return the cell of one agent against copies of another."""
    left = None if share is None else (1 - share) / (players - 1)
    if share is not None and more.get("scoring") == "last":
        left = (players - 1 - share) / (players - 1)
    return cell([one, *[other] * (players - 1)], {one: share, other: left}, **more)


def evaluation(cells: Sequence[Any], form: str = "round-robin") -> dict[str, Any]:
    """Return an evaluation of these cells."""
    versions = {"cheat_env": "0.1.0", "numpy": "2.4.6"}
    head = {"format": form, "seed": 1, "versions": versions, "policy": "sampled"}
    return {**head, "cells": list(cells)}


def round_robin(shares: Mapping[tuple[str, str], float | None], **more: Any) -> dict[str, Any]:
    """Return an evaluation in which each pair of agents has this share."""
    return evaluation([duel(*pair, share, **more) for pair, share in shares.items()])
