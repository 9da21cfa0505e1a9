"""The commands of `python -m cheat_env`, and the pictures that they draw."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDS, VARIANTS
from positions import place, position, say

from cheat_env import __main__ as cli
from cheat_env import bench
from cheat_env.actions import NUM_ACTIONS
from cheat_env.observations import MEMORY, TABLE
from cheat_env.records import Replay, dump
from cheat_env.render import ansi
from cheat_env.rules import OPTION_FIELDS, spelled, variants

UNITS = {"call": "us", "threads2": "x", "start": "s"}
CARDS = ["A 9 9", "2 5", "3 6"]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run one command; returns its exit code, what it printed and what it said on stderr."""
    code = cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def record(tmp_path: Path, *moves: Any, name: str = "game.yaml") -> Path:
    """Write a record of three seats and return its path."""
    path = tmp_path / name
    path.write_text(dump(position(CARDS, 0, "9", [(2, "K")]) | {"moves": list(moves)}), "utf-8")
    return path


# --- Rules and layouts ----------------------------------------------------------------------------


def test_rules_lists_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name, one line a game."""
    code, printed, said = run(capsys, "rules")
    assert (code, said) == (0, "")
    assert [line.split()[0] for line in printed.splitlines()] == variants()


@pytest.mark.parametrize("variant", VARIANTS)
def test_rules_explains_a_game(capsys: pytest.CaptureFixture[str], variant: str) -> None:
    """With a name, the game in words, with every option and the sources."""
    code, printed, said = run(capsys, "rules", variant)
    assert (code, said) == (0, "")
    assert printed.startswith(f"{variant}: ")
    for option in OPTION_FIELDS:
        assert f"\n  {spelled(option.name)}: " in printed
    assert "\nSources:\n  " in printed


def test_rules_explains_each_game_differently(capsys: pytest.CaptureFixture[str]) -> None:
    """What is special of a game is in its words, and in no other's."""
    told = {v: run(capsys, "rules", v)[1].partition("Options:")[0] for v in VARIANTS}
    assert [v for v in VARIANTS if "A match is 5 deals." in told[v]] == ["marquoir"]
    assert [v for v in VARIANTS if "discard complete sets of a rank" in told[v]] == ["russian"]
    assert [v for v in VARIANTS if "leads with rank A" in told[v]] == ["english"]


def test_an_unknown_game_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is no game: exit 2, and a line that says so and lists the games."""
    code, printed, said = run(capsys, "rules", "englisch")
    assert (code, printed) == (2, "")
    assert said.count("\n") == 1
    assert "'englisch'" in said
    assert all(variant in said for variant in VARIANTS)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["replay"], ["rules", "english", "more"]])
def test_wrong_usage_is_exit_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """A command that does not exist, or lacks something, ends with exit 2 and the usage."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m cheat_env" in capsys.readouterr().err


def test_layouts_cover_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """Every action and every number of an observation has its row."""
    code, printed, said = run(capsys, "layouts")
    assert (code, said) == (0, "")
    actions, observations = printed.split("### Observations")
    for table, size in ((actions, NUM_ACTIONS), (observations, MEMORY.size)):
        rows = re.findall(r"^\| (\d+)(?:-(\d+))? \|", table, re.MULTILINE)
        places = [n for low, high in rows for n in range(int(low), int(high or low) + 1)]
        assert places == list(range(size))
    assert str(TABLE.size) in observations.splitlines()[-1]


def test_it_runs_as_a_module() -> None:
    """`python -m cheat_env` is the same program, and an error is no traceback."""
    command = [sys.executable, "-m", "cheat_env", "rules"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (listed.returncode, listed.stderr) == (0, "")
    failed = subprocess.run([*command, "poker"], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert failed.stderr.startswith("error: ")
    assert "Traceback" not in failed.stderr


# --- Replay ---------------------------------------------------------------------------------------


def test_replay_of_the_records_that_ship(capsys: pytest.CaptureFixture[str]) -> None:
    """Records without faults print nothing."""
    assert run(capsys, "replay", *sorted(RECORDS.glob("*.yaml"))) == (0, "", "")


def test_replay_shows_every_step(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With --show each move is drawn, and a challenge tells what it turned up and moved."""
    path = record(tmp_path, "0 plays A", "1 accepts", {"expect": {"pile": 2}}, "2 challenges")
    code, printed, said = run(capsys, "replay", "--show", path)
    assert (code, said) == (0, "")
    assert printed.startswith(f"== {path}\n")
    told = re.findall(r"^-- (.*)", printed, re.MULTILINE)
    assert told == ["0 plays A", "1 accepts", "2 challenges"]
    assert printed.count("\ndeal 1, ") == 4
    happened = "seat 0 claimed 1 x 9: lie, challenged by seat 2 [A]; seat 0 takes 2 cards"
    assert f"-- 2 challenges\n{happened}\n" in printed
    assert printed.count("takes 2 cards") == 1


def test_replay_names_what_was_illegal_or_not_as_expected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A fault is exit 1 and one line with file, number, move, expectation and finding."""
    good = record(tmp_path, "0 plays 9", name="good.yaml")
    bad = record(tmp_path, "0 plays 9", {"expect": {"pile": 7}}, "2 accepts", name="bad.yaml")
    code, printed, said = run(capsys, "replay", good, bad)
    assert (code, said) == (1, "")
    assert printed.splitlines() == [
        f"{bad}: move 2 (expect pile): expected 7, found 2",
        f"{bad}: move 3 (2 accepts): expected a legal move, found seat 1 is asked",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("variant: [", "is not YAML"),
        ("- 1", "a record is a mapping"),
        ("variant: poker", "'poker'"),
        ("colour: red", "'colour'"),
        ("seed: -1", "seed -1"),
        ("seed: 1\nmoves: [fly]", "'fly'"),
        ("seed: 1\nmoves: [0 plays Z]", "'Z'"),
        ("seed: 1\nmoves: [{expect: {luck: 1}}]", "'luck'"),
        ("players: 9\nseed: 1", "num_players 9"),
        ("start: {hands: [A, A, A, A], turn: 9}", "turn 9"),
        ("start: {hands: [A A A A A, A, A, A], turn: 0}", "rank A"),
    ],
)
def test_a_malformed_record_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, told: str
) -> None:
    """Exit 2 with one line that names the file and what is wrong, also beside good files."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(content, "utf-8")
    code, printed, said = run(capsys, "replay", bad, record(tmp_path, "0 plays 9"))
    assert (code, printed) == (2, "")
    assert said.count("\n") == 1
    assert said.startswith(f"{bad}: ")
    assert told in said


def test_a_file_that_is_not_there_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit 2 and no traceback for what can't be read."""
    for path in (tmp_path / "none.yaml", tmp_path):
        code, printed, said = run(capsys, "replay", path)
        assert (code, printed) == (2, "")
        assert said.startswith(f"{path}: can't be read")
        assert said.count("\n") == 1


# --- Bench ----------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the measurements so small that nothing but their form can be tested."""
    sizes = {"TABLES": 4, "THREADED_TABLES": 4, "REPEATS": 3, "LOOP_STEPS": 3, "AEC_STEPS": 30}
    sizes |= {"CALLS": 30, "SCALING_DECISIONS": 30}
    for name, size in sizes.items():
        monkeypatch.setattr(bench, name, size)
    monkeypatch.setattr(bench, "SCALING_TABLES", (1, 4))
    monkeypatch.setattr(bench, "FIRST_STEP", bench.TIMED.format("pass"))


@pytest.mark.usefixtures("quick")
def test_bench_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON names the machine, the versions and each case with its repeats and their median."""
    code, printed, said = run(capsys, "bench", "--json")
    assert (code, said) == (0, "")
    found = json.loads(printed)
    assert set(found) == {"machine", "versions", "results"}
    assert found["machine"]["cores"] > 0
    assert {"python", "numpy", "numba", "pettingzoo", "gymnasium"} <= set(found["versions"])
    for result in found["results"]:
        assert result["unit"] == UNITS.get(result["name"].split("/")[0], "decisions/s")
        assert sorted(result["repeats"])[1] == result["median"] > 0
        assert len(result["repeats"]) == 3
    names = [result["name"] for result in found["results"]]
    assert len(set(names)) == len(names)
    assert {name.split("/")[0] for name in names} == {
        *("loop", "tables", "call", "aec-raw", "aec-env", "threads2", "start")
    }
    games = {name.split("/")[1] for name in names if not name.startswith("start")}
    assert games == {"english", "russian"}


@pytest.mark.usefixtures("quick")
def test_bench_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json, a heading and one line a case."""
    code, printed, _ = run(capsys, "bench")
    heading, *lines = printed.splitlines()
    assert code == 0
    assert "4 tables, median of 3" in heading
    assert all(re.fullmatch(r"[\w/-]+ +[\d,.]+ (decisions/s|us|x|s)", line) for line in lines)
    assert len(lines) == 14


@pytest.mark.usefixtures("quick")
def test_bench_of_scaling(capsys: pytest.CaptureFixture[str]) -> None:
    """--scaling measures by tables, by every number of seats from 2 to 8, and by threads."""
    code, printed, _ = run(capsys, "bench", "--scaling", "--json")
    found = json.loads(printed)["results"]
    assert code == 0
    assert all(result["unit"] == "decisions/s" and result["median"] > 0 for result in found)
    names = [result["name"].split("/") for result in found]
    assert {name[0] for name in names} == {"tables", "seats", "threads"}
    assert {int(name[2]) for name in names if name[0] == "seats"} == set(range(2, 9))


# --- Pictures -------------------------------------------------------------------------------------


def drawn(moves: list[str], seat: int | None, picks: int = 0) -> list[str]:
    """Return the lines of a position of three seats after some moves and picks."""
    game = place(position(CARDS, 0, "9", [(2, "K")]))
    say(game, *moves)
    for _ in range(picks):
        game.step(0)
    tables = game.tables
    return ansi(tables.state[0], tables.options, tables.deck, seat=seat).splitlines()


def test_everybodys_view_shows_every_card() -> None:
    """Without a seat all hands, the pile and the last group are drawn, and who is asked."""
    assert drawn(["0 plays A 9"], None) == [
        "deal 1, 1 plays, rank: 9",
        "  seat 0:  1 cards  9",
        "> seat 1:  2 cards  2 5",
        "  seat 2:  2 cards  3 6",
        "pile: 3 cards, last 2 x 9 by seat 0 [A 9] on K",
        "seat 1 is asked to accept or challenge",
    ]


@pytest.mark.parametrize("seat", range(3))
def test_a_seats_view_shows_its_own_cards(seat: int) -> None:
    """From a seat the other hands and the pile are counts, the group is the claimant's own."""
    lines = drawn(["0 plays A 9"], seat)
    for other, cards in enumerate(("9", "2 5", "3 6")):
        assert lines[1 + other].endswith("cards" if other != seat else f"cards  {cards}")
    shown = " [A 9]" if seat == 0 else ""
    assert lines[4] == f"pile: 3 cards, last 2 x 9 by seat 0{shown}"


@pytest.mark.parametrize(("seat", "shown"), [(None, True), (0, True), (1, False), (2, False)])
def test_picked_cards_are_shown_to_the_picker(seat: int | None, shown: bool) -> None:
    """What is picked but not laid yet is nobody else's business."""
    assert any("picked 9 9" in line for line in drawn([], seat, picks=2)) == shown


def test_a_challenge_and_the_end_are_told() -> None:
    """The last claim and what became of it stay in sight; an ended deal says who is out."""
    lines = drawn(["0 plays A", "1 challenges"], 2)
    assert "seat 0 claimed 1 x 9: lie, challenged by seat 1 [A]" in lines
    game = place(position(["8", "2 3", "4 5 6"], 0, "8", (), "marquoir", deals=1))
    say(game, "0 plays 8", "1 accepts", "2 accepts")
    lines = ansi(game.tables.state[0], game.tables.options, game.tables.deck).splitlines()
    assert lines[-1] == "the deal is over"
    assert lines[1].endswith("out (1)  score 0")
    assert lines[3].endswith("4 5 6  loses  score 1")
    assert not any(line.startswith(">") for line in lines)


def test_quads_that_are_gone_are_told() -> None:
    """Discarded quads are named to everybody."""
    replay = Replay(position(["8 8 8 J Q", "9 10", "K"], 1, None, [(2, "8")], "russian"))
    for move in ("1 plays 9 as 9", "2 plays K", "0 challenges"):
        assert replay.move(move) is None
    assert "quads gone" not in ansi(replay.table, replay.options, replay.deck, seat=1)
    replay = Replay(position(["8 8 8 J Q", "9 10", "K A"], 2, None, [(2, "8")], "russian"))
    for move in ("2 plays K as K", "0 challenges", "0 discards 8"):
        assert replay.move(move) is None
    assert "quads gone: 8" in ansi(replay.table, replay.options, replay.deck, seat=1)


def test_render_modes(capsys: pytest.CaptureFixture[str]) -> None:
    """Ansi returns the picture and prints nothing; human prints it at every step."""
    start = position(CARDS, 0, "9")
    silent = place(start, render_mode="ansi")
    silent.step(0)
    picture = silent.render()
    assert capsys.readouterr().out == ""
    assert picture == ansi(silent.tables.state[0], silent.tables.options, silent.tables.deck)
    place(start, render_mode="human").step(0)
    assert capsys.readouterr().out == f"{picture}\n"
