"""`python -m train.evaluate`: formats, files, workers, going on, and bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from evaluating import run

from train import evaluate, jobs, matches
from train.command import CONFIGS

ROOT = CONFIGS.parent
CELL = {"variant", "rules", "players", "scoring", "lineup", "deals", "finished", "truncated"}
CELL |= {"plays", "decisions", "agents"}
AGENT = {"counts", "share", "lost", "reward", "place", "truncated", "lies_by_hand"}
AGENT |= {"lies_by_size", "challenges_by_size"}
COUNTS = {"games", "won", "lost", "place", "claims", "free", "lies_free", "forced", "lies_forced"}
COUNTS |= {"asked", "challenges", "right", "caught"}


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few deals be many jobs."""
    monkeypatch.setattr(matches, "CHUNK", 2)


def document(directory: Path) -> dict[str, Any]:
    """Return what an evaluation wrote, refusing what is no strict JSON."""
    text = (directory / "evaluation.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(
        text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON")
    )
    return found


def lineups(directory: Path) -> list[tuple[str, int, str]]:
    """Return variant, players and lineup of every cell."""
    cells = document(directory)["cells"]
    return [(cell["variant"], cell["players"], " ".join(cell["lineup"])) for cell in cells]


# --- Formats --------------------------------------------------------------------------------------


def test_one_against_the_rest(tmp_path: Path) -> None:
    """Each of --agents in one seat against copies of each of --against; the default."""
    code, directory = run(tmp_path, agents="honest random", against="honest caller", players="3")
    assert code == 0
    assert document(directory)["format"] == "one-vs-rest"
    assert lineups(directory) == [
        ("english", 3, lineup)
        for lineup in (
            *("honest honest honest", "honest caller caller"),
            *("random honest honest", "random caller caller"),
        )
    ]


def test_mixed(tmp_path: Path) -> None:
    """All --agents at one table, in the seats of their order; their number is the table's."""
    names = "honest random caller dumper"
    for players in ("4", None):
        options = {"format": "mixed", "agents": names, "against": None, "players": players}
        code, directory = run(tmp_path / str(players), **options)
        assert code == 0
        assert lineups(directory) == [("english", 4, names)]
    (cell,) = document(directory)["cells"]
    assert list(cell["agents"]) == names.split()
    assert sum(agent["counts"]["won"] for agent in cell["agents"].values()) == cell["finished"]
    text = (directory / "evaluation.md").read_text("utf-8")
    assert all(f"| {name} | the others |" in text for name in names.split())


def test_round_robin(tmp_path: Path) -> None:
    """Every ordered pair, at several numbers of players of several games."""
    options = {"format": "round-robin", "agents": "honest random caller", "against": None}
    options |= {"variant": "english russian", "players": "3 4", "deals": "2"}
    code, directory = run(tmp_path, **options)
    assert code == 0
    pairs = [("honest", "random"), ("honest", "caller"), ("random", "honest")]
    pairs += [("random", "caller"), ("caller", "honest"), ("caller", "random")]
    assert lineups(directory) == [
        (variant, players, " ".join([one, *[other] * (players - 1)]))
        for variant in ("english", "russian")
        for players in (3, 4)
        for one, other in pairs
    ]


def test_house_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Games are named, or mapped as in a config; --rules changes options of all of them."""
    words = ["--variants", "russian", "{base: russian, jokers: 2}"]
    words += ["{base: english, name: mine, pass: allowed}", "--rules", "max_plays=90", "--seed=3"]
    words += ["--players", "4", "--agents", "honest", "--against", "random", "--deals", "2"]
    assert evaluate.main([*words, "--workers", "1", "--out", str(tmp_path)]) == 0
    cells = document(tmp_path)["cells"]
    assert [(cell["variant"], cell["rules"]) for cell in cells] == [
        ("russian", {"max_plays": 90}),
        ("russian", {"jokers": 2, "max_plays": 90}),
        ("mine", {"base": "english", "pass": "allowed", "max_plays": 90}),
    ]
    assert "russian {jokers: 2, max_plays: 90}, 4 seats" in (tmp_path / "evaluation.md").read_text()
    assert capsys.readouterr().err == ""


# --- Files ----------------------------------------------------------------------------------------


def test_the_files(tmp_path: Path) -> None:
    """JSON has a cell for every lineup with all keys, Markdown a row in each of two tables."""
    code, directory = run(tmp_path, agents="honest random", against="random honest_guard")
    assert code == 0
    found = document(directory)
    assert set(found) == {"format", "seed", "versions", "policy", "cells"}
    assert (found["seed"], found["policy"]) == (1, "sampled")
    assert set(found["versions"]) == {"cheat_env", "numpy"}
    for cell in found["cells"]:
        assert set(cell) >= CELL
        assert (cell["variant"], cell["players"], cell["deals"]) == ("english", 4, 6)
        assert cell["equal"] == 0.25
        assert cell["finished"] + cell["truncated"] == 24
        assert set(cell["agents"]) == set(cell["lineup"])
        for agent in cell["agents"].values():
            assert set(agent) == AGENT and set(agent["counts"]) == COUNTS
            assert agent["share"]["low"] <= agent["share"]["mean"] <= agent["share"]["high"]
            assert agent["lost"] == {"mean": None, "low": None, "high": None}
    text = (directory / "evaluation.md").read_text("utf-8")
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 2 * (2 + 4)
    assert "equal share 25.0" in text and "6 x 4" in text
    assert {path.name for path in directory.iterdir()} == {"evaluation.json", "evaluation.md"}


def test_the_report_reads_it(tmp_path: Path) -> None:
    """What is written is what `train.report` takes for an evaluation."""
    report = pytest.importorskip("train.findings")
    directory = run(tmp_path, variant="russian")[1]
    assert report.parse(document(directory)).games


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The same stands on the screen, with the time; without --players the game's own number."""
    pair = ["--agents", "honest", "--against", "counter", "--workers", "1"]
    assert evaluate.main(["--variant", "russian", *pair, "--deals", "3"]) == 0
    printed = capsys.readouterr().out
    assert "russian, 4 seats" in printed and "equal share 75.0" in printed
    assert "3 x counter" in printed and "3 x 4" in printed
    assert re.search(r"^\d+\.\d s$", printed, re.MULTILINE)


# --- The same bytes -------------------------------------------------------------------------------


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    """S28: twice the same is the same file; another seed is another one."""
    files = [run(tmp_path / name, agents="bluffer")[1] for name in "ab"]
    for name in ("evaluation.json", "evaluation.md"):
        assert (files[0] / name).read_bytes() == (files[1] / name).read_bytes()
    other = run(tmp_path / "c", agents="bluffer", seed=2)[1]
    assert document(other)["cells"] != document(files[0])["cells"]


def test_the_number_of_workers_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process or two: the same bytes."""
    options = {"agents": "bluffer", "deals": "150"}
    alone = run(tmp_path / "1", **options)[1] / "evaluation.json"
    monkeypatch.setattr(jobs, "ALONE_SECONDS", 0)
    code, both = run(tmp_path / "2", **options, workers="2")
    assert code == 0
    assert (both / "evaluation.json").read_bytes() == alone.read_bytes()
    assert {path.name for path in both.iterdir()} == {"evaluation.json", "evaluation.md"}


@pytest.mark.usefixtures("small_chunks")
def test_a_stopped_evaluation_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C: exit 130, what is done is kept; the same command plays the rest: the same bytes."""
    whole = run(tmp_path / "whole", agents="bluffer")[1]
    play_chunk, played = jobs.play_chunk, []

    def stopping(cell: Any, agents: Any, chunk: int) -> Any:
        played.append((cell.lineup, chunk))
        if len(played) in (3, 5):
            raise KeyboardInterrupt
        return play_chunk(cell, agents, chunk)

    monkeypatch.setattr(jobs, "play_chunk", stopping)
    for kept in (2, 3):
        code, directory = run(tmp_path / "parts", agents="bluffer")
        assert code == 130
        assert {path.name for path in directory.iterdir()} == {"partial.jsonl"}
        lines = (directory / "partial.jsonl").read_bytes().splitlines()
        assert len(lines) == 1 + kept
    with (directory / "partial.jsonl").open("ab") as file:
        file.write(b'{"cell": 1, "chu')  # a kill in the middle of a line
    assert run(tmp_path / "parts", agents="bluffer")[0] == 0
    assert "going on after 3 finished jobs" in capsys.readouterr().out
    assert len(played) == 6 + 2  # six jobs, of which two were stopped
    for name in ("evaluation.json", "evaluation.md"):
        assert (directory / name).read_bytes() == (whole / name).read_bytes()
    assert {path.name for path in directory.iterdir()} == {"evaluation.json", "evaluation.md"}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "other", [{"deals": "7"}, {"seed": "2"}, {"against": "random"}, {"variant": "russian"}]
)
def test_leftovers_of_another_request_are_refused(
    other: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 2 and a line; the leftovers stay, and the command that left them goes on."""
    _stop_after(2, monkeypatch)
    assert run(tmp_path)[0] == 130
    before = (tmp_path / "partial.jsonl").read_bytes()
    assert run(tmp_path, **other)[0] == 2
    said = capsys.readouterr().err
    assert "partial.jsonl" in said and said.count("\n") == 1
    assert (tmp_path / "partial.jsonl").read_bytes() == before
    assert run(tmp_path)[0] == 0


def _stop_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come once, after some jobs."""
    play_chunk, left = jobs.play_chunk, [count]

    def stopping(*words: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            raise KeyboardInterrupt
        return play_chunk(*words)

    monkeypatch.setattr(jobs, "play_chunk", stopping)


def test_another_model_is_another_request(tmp_path: Path) -> None:
    """The fingerprint knows a model by its bytes."""
    asked = evaluate.plan("one-vs-rest", ["english"], [4], ["m"], ["random"], 5, 1)
    asked.sources["m"] = str(tmp_path / "model.zip")
    prints = []
    for content in (b"one", b"two", b"one"):
        (tmp_path / "model.zip").write_bytes(content)
        prints.append(evaluate.fingerprint(asked))
    assert prints[0] == prints[2] != prints[1]


def _killed(how: signal.Signals, out: Path) -> subprocess.CompletedProcess[str]:
    """Evaluate with two workers and send a signal once both have played; returns what was said.

    From the keyboard every process of the session gets it; else the one that started the others.
    Fails where a process stays.
    """
    code = "import sys; from train import evaluate, jobs; jobs.ALONE_SECONDS = 0;"
    code += " sys.exit(evaluate.main())"
    command = [sys.executable, "-c", code, "--variant", "english", "--agents", "counter"]
    command += ["--against", "random", "--deals", "50000", "--workers", "2", "--out", str(out)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        partial = out / "partial.jsonl"
        while process.poll() is None and (
            not partial.exists() or partial.read_bytes().count(b"\n") < 2
        ):
            time.sleep(0.05)
        if how == signal.SIGINT:
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        said = process.communicate(timeout=60)
        deadline = time.monotonic() + 20
        with pytest.raises(ProcessLookupError):
            while time.monotonic() < deadline:  # until init has buried them too
                os.killpg(process.pid, 0)
                time.sleep(0.1)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, *said)


def test_ctrl_c_ends_the_workers_too(tmp_path: Path) -> None:
    """Exit 130, no traceback, and no process stays."""
    ended = _killed(signal.SIGINT, tmp_path)
    assert ended.returncode == 130
    assert "the same command goes on" in ended.stdout
    assert ended.stderr == ""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_what_started_them(how: signal.Signals, tmp_path: Path) -> None:
    """No process stays when the first one is killed."""
    assert _killed(how, tmp_path).returncode == -how


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"variant": "poker"}, "'poker'"),
        ({"variant": "{base:poker}"}, "poker"),
        ({"variant": "{base"}, "{base"),
        ({"variant": "english english"}, "twice"),
        ({"players": "9"}, "num_players 9"),
        ({"players": "3 2"}, "num_players 2"),
        ({"players": "0"}, "num_players 0"),
        ({"players": "-1"}, "num_players -1"),
        ({"players": "3 3"}, "twice"),
        ({"rules": "wings=2"}, "'wings'"),
        ({"rules": "jokers=many"}, "jokers"),
        ({"rules": "jokers"}, "KEY=VALUE"),
        ({"rules": "deck=["}, "--rules"),
        ({"agents": "honset"}, "'honset'"),
        ({"agents": "honest honest"}, "twice"),
        ({"against": "random honset"}, "'honset'"),
        ({"against": None}, "--against"),
        ({"agents": "nowhere.zip"}, "'nowhere.zip'"),
        ({"agents": "honest(sly=1)"}, "'sly'"),
        ({"deals": "0"}, "--deals"),
        ({"workers": "0"}, "--workers"),
        ({"seed": "-1"}, "--seed"),
        ({"seed": str(2**64)}, "--seed"),
        ({"format": "mixed"}, "--against"),
        ({"format": "mixed", "against": None, "agents": "honest random"}, "2 agents for 4"),
        ({"format": "mixed", "against": None, "agents": "honest", "players": None}, "num_players"),
        ({"format": "round-robin"}, "--against"),
        ({"format": "round-robin", "against": None}, "at least two"),
        ({"out": __file__}, "no directory"),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_bad_input_is_one_clear_line(
    options: dict[str, Any], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, a line on stderr that names the thing, and nothing is written."""
    code, directory = run(tmp_path / "out", **options)
    said = capsys.readouterr().err
    assert code == 2
    assert told in said
    assert said.count("\n") == 1
    assert not directory.exists()


@pytest.mark.parametrize(
    "options", [{"deals": "many"}, {"players": "x"}, {"wings": "2"}, {"format": "duel"}]
)
def test_wrong_usage_is_exit_2(
    options: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no option, or no number, ends with exit 2 and the usage."""
    assert run(tmp_path, **options)[0] == 2
    assert "usage: python -m train.evaluate" in capsys.readouterr().err
