"""evaluation.json: what the chunks of each cell came to, put together."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import agents
import cheat_env
from cheat_env.version import __version__
from train import intervals
from train.matches import Cell, Result, equal_share, names_losers
from train.measures import ASKED, CHALLENGES, FREE, LIES, RIGHT

#: Agents draw their actions from their policy: a bluffer must mix.
POLICY = "sampled"


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    return {"cheat_env": __version__, "numpy": np.__version__}


@cache
def code() -> str:
    """Return what tells the code that runs here from other code: the version and its sources."""
    packages = (cheat_env, agents, sys.modules[__package__])
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted(Path(package.__path__[0]).glob("*.py")):
            digest.update(path.read_bytes())
    return f"cheat_env {__version__} ({digest.hexdigest()[:12]})"


def document(
    form: str, seed: int, cells: Sequence[Cell], results: Sequence[Sequence[Result]]
) -> dict[str, Any]:
    """Return what evaluation.json holds: of each cell the results of its chunks, in order."""
    return {
        "format": form,
        "seed": seed,
        "versions": versions(),
        "policy": POLICY,
        "cells": [cell_document(cell, chunks) for cell, chunks in zip(cells, results, strict=True)],
    }


def cell_document(cell: Cell, chunks: Sequence[Result]) -> dict[str, Any]:
    """Return the figures of a cell, of every agent by itself; None where there is nothing to tell.

    A figure of an agent counts its seats in the finished games: in one seat of n an equal share of
    the wins is 1/n, and so it is in all other seats together.
    """
    finished = np.concatenate([chunk["finished"] for chunk in chunks])
    games = int(finished.sum())
    return {
        "variant": cell.variant,
        "rules": cell.changed,
        "players": cell.players,
        "scoring": cell.rules.scoring,
        "equal": equal_share(cell.rules, cell.players),
        "lineup": list(cell.lineup),
        "deals": cell.deals,
        "finished": games,
        "truncated": cell.deals * cell.players - games,
        "plays": _total(chunks, "plays") / games if games else None,
        "decisions": _total(chunks, "decisions") / games if games else None,
        "agents": {
            name: _agent(cell, name, finished, [chunk["agents"][name] for chunk in chunks])
            for name in cell.names
        },
    }


def _agent(cell: Cell, name: str, finished: np.ndarray, chunks: Sequence[Result]) -> Result:
    games = finished * cell.lineup.count(name)
    won, lost, reward, place = (
        np.concatenate([chunk[what] for chunk in chunks])
        for what in ("won", "lost", "reward", "place")
    )
    hands = np.sum([chunk["lies_by_hand"] for chunk in chunks], axis=0)
    claims_by_size = np.sum([chunk["lies_by_size"] for chunk in chunks], axis=0)
    sizes = np.sum([chunk["challenges_by_size"] for chunk in chunks], axis=0)
    claims, free = _total(chunks, "claims"), int(hands[:, FREE].sum())
    return {
        "counts": {
            "games": int(games.sum()),
            "won": int(won.sum()),
            "lost": int(lost.sum()),
            "place": float(place.sum()),
            "claims": claims,
            "free": free,
            "lies_free": int(hands[:, LIES].sum()),
            "forced": claims - free,
            "lies_forced": claims - free,
            "asked": int(sizes[:, ASKED].sum()),
            "challenges": int(sizes[:, CHALLENGES].sum()),
            "right": int(sizes[:, RIGHT].sum()),
            "caught": _total(chunks, "caught"),
        },
        "share": intervals.share(won, games),
        "lost": intervals.share(lost, games) if names_losers(cell.rules) else intervals.unknown(),
        "reward": intervals.mean(reward, games),
        "place": intervals.mean(place, games),
        "truncated": 1 - float(finished.sum()) / (cell.deals * cell.players),
        "lies_by_hand": hands.tolist(),
        "lies_by_size": claims_by_size.tolist(),
        "challenges_by_size": sizes.tolist(),
    }


def _total(chunks: Sequence[Result], what: str) -> int:
    return sum(chunk[what] for chunk in chunks)
