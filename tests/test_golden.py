"""Golden games: a change of the rules shows as a readable difference of files.

`python tests/test_golden.py --write` plays them again and writes them anew.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import TESTS, VARIANTS, Lottery, random_match

from cheat_env import Tables, records
from cheat_env.cards import format_cards
from cheat_env.records import Replay
from cheat_env.state import NO_RANK, OVER

GOLDEN = TESTS / "golden"
HASHES = GOLDEN / "hashes.yaml"
#: Variant, players, seed and changed rules of every game; some end by the rules, some are cut.
GAMES: list[tuple[str, int, int, dict[str, Any]]] = [
    ("english", 3, 43, {}),
    ("english", 5, 2, {"max_plays": 40}),
    ("marquoir", 3, 44, {"deals": 2}),
    ("marquoir", 7, 2, {"max_plays": 40}),
    ("russian", 2, 4, {}),
    ("russian", 5, 5, {}),
]
#: The table is written down after so many moves, and at the end.
EVERY = 25
DECISIONS = 1000


def path_of(variant: str, players: int, seed: int) -> Path:
    return GOLDEN / f"{variant}_{players}_seed{seed}.yaml"


def found(replay: Replay) -> dict[str, Any]:
    """Return everything that a record may expect of the table as it is."""
    table, players, deck = replay.table, replay.num_players, replay.deck
    over, rank = bool(table["phase"] == OVER), int(table["rank"])
    places = {int(table["out"][seat]): seat for seat in range(players) if table["out"][seat]}
    out = [places[place] for place in sorted(places)]
    return {
        "hands": [format_cards(table["hand"][seat], deck) for seat in range(players)],
        "pile": int(table["pile_size"]),
        "turn": None if over else int(table["turn"]),
        "rank": None if over or rank == NO_RANK else deck[rank],
        "out": out,
        "over": over,
        "truncated": bool(table["truncated"]),
        "winner": out[0] if out and replay.rules.end == "first_out" else None,
        "losers": np.flatnonzero(table["loser"]).tolist(),
        "rewards": [round(float(reward), 6) for reward in table["reward"][:players]],
        "scores": table["score"][:players].tolist(),
    }


def play(variant: str, players: int, seed: int, rules: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a random match, with what is found on the way and at the end."""
    actions = [action for _, action in random_match(variant, players, seed, **rules)]
    document = records.from_actions(variant, players, seed, actions, **rules)
    replay = Replay(document)
    moves: list[Any] = [{"expect": found(replay)}]
    for number, move in enumerate(document["moves"], 1):
        assert replay.move(move) is None
        moves.append(move)
        if number % EVERY == 0 or number == len(document["moves"]) or replay.table["phase"] == OVER:
            moves.append({"expect": found(replay)})
    return {"title": f"Random play, {variant}, seed {seed}"} | document | {"moves": moves}


def hash_of(variant: str) -> str:
    """Return a hash of all states, observations and masks of 1,000 random decisions."""
    tables = Tables(variant, 4, 1, seed=1, max_plays=40)
    lottery, digest = Lottery(1), hashlib.sha256()
    for _ in range(DECISIONS):
        digest.update(tables.observation.tobytes() + tables.action_mask.tobytes())
        tables.step(np.array([lottery.choose(tables.action_mask[0])]))
        for name in tables.state.dtype.names:
            digest.update(np.ascontiguousarray(tables.state[name]).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize(("variant", "players", "seed", "rules"), GAMES, ids=str)
def test_golden_game_is_played_again(variant, players, seed, rules):
    """The same seed and the same choices give the golden game, word by word."""
    written = yaml.safe_load(path_of(variant, players, seed).read_text("utf-8"))
    assert play(variant, players, seed, rules) == written


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*_seed*.yaml")), ids=lambda path: path.stem)
def test_golden_game_replays(path):
    """Every golden file replays without a fault, and is one of the list."""
    assert path in [path_of(*game[:3]) for game in GAMES]
    assert [fault for _, faults in records.load(path).play() for fault in faults] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_hash(variant):
    """Not a byte of states, observations and masks has changed."""
    assert hash_of(variant) == yaml.safe_load(HASHES.read_text("utf-8"))[variant]


def test_golden_games_end_both_ways():
    """Among the golden games some end by the rules and some are cut."""
    ends = [records.load(path_of(*game[:3])).moves[-1]["expect"]["truncated"] for game in GAMES]
    assert True in ends and False in ends


def write() -> None:
    """Play the golden games again and write them anew."""
    for game in GAMES:
        records.save(path_of(*game[:3]), play(*game))
    records.save(HASHES, {variant: hash_of(variant) for variant in VARIANTS})


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("say --write to write the golden games anew")
    write()
