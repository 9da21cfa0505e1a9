"""Game records: what is written replays, what is malformed is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import GAMES, RECORDS, random_match

from cheat_env import actions as act
from cheat_env import records
from cheat_env.__main__ import main
from cheat_env.records import RecordError, Replay

FILES = sorted(RECORDS.rglob("*.yaml"))
GOOD = RECORDS / "a12_worked_example.yaml"


def position(**changes: object) -> dict:
    """Return a good document with some keys changed; None leaves a key out."""
    start = {"hands": ["7 K 3", "4 9 J", "2 5 6"], "turn": 0, "rank": "7"}
    document = {"variant": "english", "players": 3, "start": start, "moves": ["0 plays 7"]}
    for key, value in changes.items():
        inside = start if key in records.START_KEYS else document
        inside[key] = value
        if value is None:
            del inside[key]
    return document


def play(document: object) -> list[records.Fault]:
    """Play a document to its end and return its faults."""
    return [fault for _, faults in Replay(document).play() for fault in faults]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_record_holds(path):
    """Every record in tests/records plays without a fault."""
    assert [fault for _, faults in records.load(path).play() for fault in faults] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_record_expects_something(path):
    """No record of a rule is empty of expectations."""
    moves = yaml.safe_load(path.read_text("utf-8"))["moves"]
    assert any(isinstance(move, dict) and move["expect"] for move in moves)


MALFORMED = {
    "not a mapping": (["0 plays 7"], "mapping"),
    "nothing": (None, "mapping"),
    "a number": (7, "mapping"),
    "unknown key": (position(colour="red"), "colour"),
    "unknown start key": (position() | {"start": {"hand": []}}, "hand"),
    "seed and start": (position(seed=7), "seed"),
    "neither seed nor start": (position() | {"start": None}, "start"),
    "no seed, no start": ({"variant": "english", "players": 3}, "seed"),
    "start not a mapping": (position() | {"start": ["7 K"]}, "start"),
    "unknown variant": (position(variant="poker"), "poker"),
    "variant not a name": (position(variant=["english"]), "variant"),
    "house rules without base": (position(variant={"deals": 2}), "base"),
    "too few players": (position(players=2), "num_players 2"),
    "too many players": (position(players=7), "num_players 7"),
    "players in words": (position(players="three"), "three"),
    "rules not a mapping": (position(rules=["deals"]), "rules"),
    "unknown rule": (position(rules={"max_play": 3}), "max_play"),
    "bad rule value": (position(rules={"deals": 0}), "deals 0"),
    "rule value of a wrong type": (position(rules={"rank": ["up"]}), "rank"),
    "negative seed": ({"seed": -1}, "seed -1"),
    "seed too large": ({"seed": 2**64}, "seed"),
    "seed in words": ({"seed": "seven"}, "seven"),
    "seed true": ({"seed": True}, "True"),
    "deal in words": ({"seed": 1, "deal": "first"}, "first"),
    "no hands": (position(hands=None), "hands"),
    "hands count": (position(hands=["7", "K"]), "hands"),
    "hands one text": (position(hands="7K3"), "hands"),
    "unknown rank in a hand": (position(hands=["7 Z", "4", "2"]), "'Z'"),
    "rank that the deck lacks": (position(variant="russian", hands=["7", "2", "6"]), "'2'"),
    "jokers": (position(hands=["7 Jo", "4", "2"]), "joker"),
    "five of a rank": (position(hands=["7 7 7", "7 7", "2"]), "rank 7"),
    "five of a rank with the pile": (
        position(hands=["7 7 7", "7", "2"], pile=[{"seat": 0, "cards": "7"}]),
        "rank 7",
    ),
    "two hundred of a rank": (position(hands=["7 " * 200, "4", "2"]), "rank 7"),
    "nine of a rank in two decks": (
        position(variant="marquoir", players=7, hands=["5 5 5 5 5 5 5 5 5", *"234678"]),
        "rank 5",
    ),
    "pile not a list": (position(pile=3), "pile"),
    "pile group without a seat": (position(pile=[{"cards": "7"}]), "pile"),
    "pile group of words": (position(pile=["7 7"]), "pile"),
    "pile seat out of range": (position(pile=[{"seat": 3, "cards": "7"}]), "3"),
    "pile of an unknown rank": (position(pile=[{"seat": 1, "cards": "1"}]), "pile"),
    "no turn": (position(turn=None), "turn"),
    "turn out of range": (position(turn=3), "turn 3"),
    "turn in words": (position(turn="zero"), "turn"),
    "turn of a seat that is out": (
        position(variant="russian", hands=["", "7", "8"], rank=None),
        "turn 0",
    ),
    "one seat left": (position(variant="russian", hands=["7", "", ""], rank=None), "hands"),
    "a seat out where the first out ends it": (position(hands=["7 K 3", "", "2"]), "hands"),
    "rank in force unknown": (position(rank="1"), "'1'"),
    "moves not a list": (position(moves="0 plays 7"), "moves"),
    "moves a mapping": (position(moves={"expect": {}}), "moves"),
    "move of one word": (position(moves=["plays"]), "plays"),
    "move without a seat": (position(moves=["challenges"]), "challenges"),
    "move empty": (position(moves=[""]), "move"),
    "move nothing": (position(moves=[None]), "move"),
    "move of a list": (position(moves=[["0 plays 7"]]), "move"),
    "wrong verb": (position(moves=["0 lays 7"]), "lays"),
    "accepts with an object": (position(moves=["0 accepts 7"]), "accepts 7"),
    "plays nothing": (position(moves=["0 plays"]), "plays"),
    "plays an unknown card": (position(moves=["0 plays 1"]), "'1'"),
    "plays as an unknown rank": (position(moves=["0 plays 7 as Z"]), "plays 7 as Z"),
    "plays as nothing": (position(moves=["0 plays 7 as"]), "plays 7 as"),
    "discards nothing": (position(moves=["0 discards"]), "discards"),
    "move and expect": (position(moves=[{"expect": {}, "move": "0 plays 7"}]), "move 1"),
    "expect not a mapping": (position(moves=[{"expect": "pile"}]), "move 1"),
    "unknown expect key": (position(moves=[{"expect": {"piles": 0}}]), "piles"),
    "unknown expect key later": (position(moves=["0 plays 7", {"expect": {"x": 0}}]), "move 2"),
    "expect hands of unknown cards": (position(moves=[{"expect": {"hands": ["Z"]}}]), "'Z'"),
    "expect legal not a list": (position(moves=[{"expect": {"legal": 5}}]), "legal"),
    "expect legal one text": (position(moves=[{"expect": {"legal": "0 plays 7"}}]), "move"),
    "expect hands not a list": (position(moves=[{"expect": {"hands": 5}}]), "hands"),
}


@pytest.mark.parametrize(("document", "named"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_record_is_named(document, named):
    """A malformed record is a RecordError of one line that names what is wrong."""
    with pytest.raises(RecordError) as error:
        play(document)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


REFUSED = {
    "another seat": ("1 plays 4", "seat 0 is asked"),
    "a card not held": ("0 plays 8", "illegal"),
    "more than held": ("0 plays 7 7", "illegal"),
    "more than the most": ("0 plays 7 K 3 3 3", "illegal"),
    "two hundred cards": ("0 plays " + "7 " * 200, "illegal"),
    "another rank": ("0 plays 7 as 8", "rank is 7"),
    "out of turn challenge": ("0 challenges", "illegal"),
    "no quads here": ("0 discards 7", "illegal"),
    "no pass here": ("0 passes", "illegal"),
    "a seat that is not there": ("9 plays 7", "seat 0 is asked"),
}


@pytest.mark.parametrize(("move", "found"), REFUSED.values(), ids=REFUSED)
def test_refused_move_changes_nothing(move, found):
    """A move that the rules refuse says why and leaves the table as it was."""
    replay = Replay(position())
    before = replay.state.copy()
    assert found in replay.move(move)
    assert (replay.state == before).all()


WRONG = [
    {"hands": ["7 K 3", "4 9 J", "2 5"]},
    {"hands": ["7 K 3", "4 9 J"]},
    {"pile": 1},
    {"turn": 1},
    {"rank": "8"},
    {"rank": None},
    {"legal": ["0 plays 8"]},
    {"illegal": ["0 plays 7"]},
    {"out": [0]},
    {"over": True},
    {"truncated": True},
    {"winner": 0},
    {"losers": [1]},
    {"rewards": [1, 0, 0]},
    {"rewards": [0, 0]},
    {"rewards": None},
    {"scores": [1, 0, 0]},
    {"scores": [0, 0]},
]


@pytest.mark.parametrize("expected", WRONG, ids=str)
def test_wrong_expectation_is_a_fault(expected):
    """Each key of `expect` is checked."""
    (key,) = expected
    faults = play(position(moves=[{"expect": expected}]))
    assert [(fault.number, fault.text) for fault in faults] == [(1, f"expect {key}")]


def test_hands_are_multisets():
    """The order of the cards in a hand is free."""
    assert play(position(moves=[{"expect": {"hands": ["3 K 7", "J 9 4", "6 5 2"]}}])) == []


def test_replay_stops_at_an_illegal_move():
    """Nothing is played after a move that was refused."""
    faults = play(position(moves=["0 plays 8", "1 accepts", {"expect": {"pile": 9}}]))
    assert [fault.number for fault in faults] == [1]


# --- The command ----------------------------------------------------------------------------------


def write(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def test_command_good(capsys):
    """Records that hold: exit 0 and not a word."""
    assert main(["replay", *map(str, FILES)]) == 0
    assert capsys.readouterr() == ("", "")


def test_command_show(capsys):
    """--show draws every step and says what a challenge showed."""
    assert main(["replay", "--show", str(GOOD)]) == 0
    drawn = capsys.readouterr().out
    assert "-- 1 challenges" in drawn
    assert "seat 0 takes 7 cards" in drawn
    assert drawn.count("pile: ") == 3


def test_command_fault(tmp_path, capsys):
    """A fault: exit 1 and one line with file, number, text, expected and found."""
    wrong = GOOD.read_text("utf-8").replace("{pile: 7, turn: 1", "{pile: 8, turn: 1")
    path = write(tmp_path / "wrong.yaml", wrong)
    assert main(["replay", path, str(GOOD)]) == 1
    out, err = capsys.readouterr()
    assert out == f"{path}: move 2 (expect pile): expected 8, found 7\n"
    assert err == ""


def test_command_illegal_move(tmp_path, capsys):
    """An illegal move: exit 1 and one line."""
    wrong = GOOD.read_text("utf-8").replace("- 0 plays 7 K\n", "- 0 plays 8\n")
    path = write(tmp_path / "wrong.yaml", wrong)
    assert main(["replay", path]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{path}: move 1 (0 plays 8): expected a legal move, found")


NO_RECORDS = {
    **{"not yaml": "moves: [", "tabs": "a:\n\t- b"},
    **{"a list": "- 1", "empty": ""},
    "two documents": "a: 1\n---\nb: 2",
    "python object": "!!python/object:os.system {}",
    "bad move": "seed: 1\nmoves: [0 lays 7]",
    "control character": "title: \x00",
    "a date as a seed": "seed: 2020-01-01",
    "no such date": "title: 2024-02-30",
    "endless brackets": "[" * 3000,
    "unhashable key": "? [a]\n: 1",
    "pile a number": "start: {hands: [7, 8, 9, 10], turn: 0, pile: 3}",
    "legal a number": "seed: 1\nmoves: [{expect: {legal: 5}}]",
    "rewards a word": "seed: 1\nmoves: [{expect: {rewards: much}}]",
}


@pytest.mark.parametrize("text", NO_RECORDS.values(), ids=NO_RECORDS)
def test_command_malformed(text, tmp_path, capsys):
    """A malformed record: exit 1 or 2 and one line that names the file, never a traceback."""
    path = write(tmp_path / "bad.yaml", text)
    code = main(["replay", path])
    out, err = capsys.readouterr()
    (line,) = (out + err).splitlines()
    assert line.startswith(f"{path}: ")
    assert code == (2 if err else 1)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_command_unreadable(name, tmp_path, capsys):
    """A file that can't be read: exit 2 and one line."""
    assert main(["replay", str(tmp_path / name)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_command_not_utf8(tmp_path, capsys):
    """Bytes that are no UTF-8: exit 2 and one line."""
    (tmp_path / "bad.yaml").write_bytes(b"title: \xff\xfe")
    assert main(["replay", str(tmp_path / "bad.yaml")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_command_malformed_beats_faults(tmp_path, capsys):
    """A malformed record among wrong ones: exit 2, and the others are still played."""
    wrong = write(tmp_path / "wrong.yaml", "seed: 1\nmoves: [{expect: {pile: 9}}]")
    bad = write(tmp_path / "bad.yaml", "- 1")
    assert main(["replay", bad, wrong]) == 2
    out, err = capsys.readouterr()
    assert out.startswith(f"{wrong}: ") and err.startswith(f"{bad}: ")


# --- Writing --------------------------------------------------------------------------------------

ROUND_TRIPS = [(*game, {}) for game in GAMES] + [
    ("english", 4, {"challengers": "next", "rank": "down", "max_plays": 90}),
    ("russian", 3, {"quads": "mandatory", "challengers": "anyone"}),
    ("marquoir", 5, {"rank": "same_or_adjacent", "cards_per_play": [2, 3], "max_plays": 90}),
]


@pytest.mark.parametrize(("variant", "players", "rules"), ROUND_TRIPS, ids=str)
def test_round_trip(variant, players, rules, tmp_path):
    """A written match replays to the same bytes, all of its deals."""
    actions = []
    for tables, action in random_match(variant, players, 11, **rules):  # noqa: B007
        actions.append(action)
    document = records.from_actions(variant, players, 11, actions, **rules)
    records.save(tmp_path / "game.yaml", document)
    replay = records.load(tmp_path / "game.yaml")
    assert [fault for _, faults in replay.play() for fault in faults] == []
    assert replay.state.tobytes() == tables.state.tobytes()
    assert yaml.safe_load(records.dump(document)) == document


def test_round_trip_plays_five_deals():
    """A Marquoir match that is not cut is five deals in one record."""
    actions = [action for _, action in random_match("marquoir", 4, 2)]
    replay = Replay(records.from_actions("marquoir", 4, 2, actions))
    assert [fault for _, faults in replay.play() for fault in faults] == []
    assert replay.table["deal"] == 4
    assert replay.table["score"].sum() >= 5


def test_record_of_a_later_match():
    """`deal` names the match of the seed, and another match is another game."""
    hands = [Replay({"seed": 3, "deal": deal}).table["hand"].tobytes() for deal in (0, 1, 0)]
    assert hands[0] == hands[2] != hands[1]


def test_unfinished_picks_are_left_out():
    """Cards that were picked but not laid are no move."""
    tables = next(random_match("english", 3, 5))[0]
    pick = int(np.flatnonzero(tables.action_mask[0])[0])
    assert records.from_actions("english", 3, 5, [pick])["moves"] == []
    (move,) = records.from_actions("english", 3, 5, [pick, act.LAY])["moves"]
    assert move.startswith(f"{tables.seat[0]} plays ")
