"""Games to watch: step by step in the terminal, as a page, and as a film."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from positions import position
from test_scenes import MOVES, QUAD

from agents import __main__ as cli
from agents.base import AgentError
from agents.watch import page, played, step_through
from cheat_env import records
from cheat_env.records import Replay
from cheat_env.scenes import scenes

RECORD = QUAD | {"moves": MOVES}
PAIR = ["--variant", "russian", "--agents", "honest", "honest"]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Write a record into a file."""
    records.save(tmp_path / "game.yaml", RECORD)
    return tmp_path / "game.yaml"


def source() -> Replay:
    """Return the record, ready to be played."""
    return Replay(RECORD)


def data_of(text: str) -> Any:
    """Return the data of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def unfolded(view: Any) -> list[dict[str, Any]]:
    """Return the scenes of a page's view, each whole."""
    whole: dict[str, Any] = {}
    return [whole := whole | changed for changed in view["scenes"]]


# --- Playing --------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_game() -> None:
    """Equal seeds give equal records, another deal another one, and each plays to its end."""
    names = ["honest", "bluffer(lie=0.3)", "random"]
    first = played("russian", names, 3)
    assert first == played("russian", names, 3)
    assert first["moves"] != played("russian", names, 3, deal=1)["moves"]
    assert list(scenes(Replay(first)))[-1].asked == "the deal is over"


def test_house_rules_can_be_watched() -> None:
    """The record of a game by house rules names them."""
    rules = {"base": "russian", "max_plays": 5}
    assert played(rules, ["random", "random"], 1)["variant"] == rules


# --- In the terminal ------------------------------------------------------------------------------


def steps(keys: str) -> list[int]:
    """Return the numbers of the steps that are shown for some keys."""
    out = io.StringIO()
    step_through(list(scenes(source())), io.StringIO(keys), out)
    return [int(number) for number in re.findall(r"== step (\d+) of 4", out.getvalue())]


def test_keys_go_forward_and_back() -> None:
    """Enter and n go on, p back, q ends; so does the end of the answers."""
    assert steps("") == [0]
    assert steps("\nn\np\nN\nq\nn\n") == [0, 1, 2, 1, 2]
    assert steps("p\n" + "\n" * 6) == [0, 0, 1, 2, 3, 4, 4, 4]
    assert steps("x\n") == [0, 0]


def test_the_command_steps_through_a_record(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A seat's view tells nothing of another's cards or quads."""
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\n\n\n"))
    assert cli.main(["watch", str(record), "--seat", "0"]) == 0
    told = capsys.readouterr().out
    assert "-- seat 1 lays 1 as 9" in told
    assert "9 10" in told
    assert "8 8 8" not in told and "keeps" not in told and "quads" not in told


# --- As a page ------------------------------------------------------------------------------------


def test_a_page_holds_every_view() -> None:
    """The page replays the scenes of all seats together and of each one."""
    views = data_of(page(source, "a game"))["views"]
    assert [view["seat"] for view in views] == [None, 0, 1, 2]
    for view in views:
        whole = unfolded(view)
        expected = list(scenes(source(), view["seat"]))
        assert [one["asked"] for one in whole] == [seen.asked for seen in expected]
        assert [one["moves"] for one in whole] == [seen.moves for seen in expected]
        for one, seen in zip(whole, expected, strict=True):
            assert tuple(one["words"]) == seen.words
            for place in seen.places:
                assert one[f"place{place.seat}"] == place._asdict()


def test_the_page_of_a_seat_does_not_hold_what_is_hidden() -> None:
    """Where the others' cards and quads differ in secret, the bytes of a seat's page do not."""
    others = position(["9 10", "8 8 7 J Q", "K 7"], 1, None, [(2, "8")], "russian")
    others["moves"] = [move for move in MOVES if move != "1 keeps"]
    assert page(source, "a game", seat=0) == page(lambda: Replay(others), "a game", seat=0)
    assert page(source, "a game") != page(lambda: Replay(others), "a game")
    assert [view["seat"] for view in data_of(page(source, "a game", seat=0))["views"]] == [0]


def test_a_page_needs_nothing_else() -> None:
    """It names no other resource, and asks the browser to load none."""
    text = page(source, "a game")
    assert not re.search(r"https?:|\bsrc=|\bhref=|url\(|@import|fetch\(", text)
    assert "default-src 'none'" in text
    assert "{{" not in text


def test_names_stay_text() -> None:
    """A name or a title can't end its element or become one."""
    evil = "</script><script>alert('{{data}}')</script>"
    text = page(source, evil, [evil, "honest", "honest"])
    assert text.count("<script") == page(source, "a game").count("<script")
    assert data_of(text)["names"][0] == evil


# --- Files and bad input --------------------------------------------------------------------------


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Agents play a game, which becomes a page and a film; a seat's page does not tell the seed."""
    image = pytest.importorskip("PIL.Image")
    paths = tmp_path / "a" / "game.html", tmp_path / "game.gif"
    rules = "{base: russian, max_plays: 6}"
    command = ["watch", "--variant", rules, "--agents", "honest", "counter", "--seed", "31337"]
    given = [*command, "--html", str(paths[0]), "--gif", str(paths[1])]
    assert cli.main(given) == 0
    assert capsys.readouterr().out == f"wrote {paths[0]} and {paths[1]}\n"
    text = paths[0].read_text("utf-8")
    assert data_of(text)["names"] == ["honest", "counter"]
    assert image.open(paths[1]).n_frames > 3
    assert "31337" in text
    assert cli.main([*command, "--html", str(paths[0]), "--seat", "1"]) == 0
    assert "31337" not in paths[0].read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a RECORD, or --variant and --agents"),
        (["--variant", "russian"], "give a RECORD, or --variant and --agents"),
        (["no.yaml"], "no.yaml: can't be read"),
        (["no.yaml", "--variant", "russian"], "a record needs no --variant"),
        (["--variant", "[", "--agents", "honest"], "--variant '[': is no name and no mapping"),
        (["--variant", "whist", "--agents", "honest"], "variant 'whist': unknown"),
        (["--variant", "russian", "--agents", "honest"], "num_players 1: must be from 2 to 6"),
        (["--variant", "russian", "--agents", "me", "honest"], "agent 'me': must be one of"),
        ([*PAIR, "--seed", "-1"], "seed -1: must be from 0 to"),
        ([*PAIR, "--deal", "-1"], "deal"),
        ([*PAIR, "--seat", "2"], "seat 2: must be from 0 to 1"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What can't be watched is exit code 2 and a line that names it, and no file."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["watch", *arguments, "--html", "out.html"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message}") and told.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_record_that_breaks_off_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An illegal move is named, and neither page nor film is left half-written."""
    path = tmp_path / "game.yaml"
    records.save(path, QUAD | {"moves": [MOVES[0], "0 challenges"]})
    assert cli.main(["watch", str(path), "--html", str(tmp_path / "out.html")]) == 2
    assert capsys.readouterr().err.startswith("error: move 2 (0 challenges): expected a legal move")
    assert list(tmp_path.iterdir()) == [path]


def test_an_agent_that_there_is_not_is_refused() -> None:
    """Playing names the agent that is unknown."""
    with pytest.raises(AgentError, match="agent 'me'"):
        played("russian", ["me", "honest"], 0)
