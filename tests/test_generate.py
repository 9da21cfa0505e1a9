"""Data sets: what they hold, that they are whole, and the command that writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import agents.generate as room
from agents import __main__ as command
from agents import load
from agents.generate import DataError, generate
from cheat_env import Tables, raw_env
from cheat_env.observations import MEMORY
from cheat_env.records import Replay

LINEUP = ("honest", "counter", "bluffer")


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def made(path: Path, deals: int = 3, variant: Any = "russian", **options: Any) -> Path:
    """Write a data set and return its path."""
    generate(variant, LINEUP, 3, 5, deals, path, **options)
    return path


def test_decisions_are_those_of_the_games(tmp_path: Path) -> None:
    """Played again from (seed, deal), a game shows what the rows say, and ends as they say."""
    found = rows(made(tmp_path / "games.jsonl"))
    for deal in range(3):
        own = [row for row in found if row["deal"] == deal]
        env = raw_env("russian", 3, observation="memory")
        env.reset(seed=5, options={"deal": deal})
        for step, row in enumerate(own):
            seen = env.observe(env.agent_selection)
            assert row["step"] == step
            assert row["seat"] == env.possible_agents.index(env.agent_selection)
            assert row["agent"] == LINEUP[row["seat"]]
            assert row["observation"] == seen["observation"].tolist()
            assert row["action_mask"] == seen["action_mask"].tolist()
            env.step(row["action"])
        assert all(env.terminations.values())
        for seat, agent in enumerate(env.possible_agents):
            mine = [row for row in own if row["seat"] == seat]
            assert {row["reward"] for row in mine} == {env.rewards[agent]}
            assert [row["terminated"] for row in mine] == [False] * (len(mine) - 1) + [True]
            assert not any(row["truncated"] for row in mine)


def test_rows_come_deal_by_deal_in_the_order_of_play(tmp_path: Path) -> None:
    """A deal's decisions follow one another, also across chunks."""
    many = room.CHUNK + 2
    found = rows(made(tmp_path / "games.jsonl", many))
    order = [(row["deal"], row["step"]) for row in found]
    assert order == sorted(order)
    assert {deal for deal, _ in order} == set(range(many))


def test_records_replay(tmp_path: Path) -> None:
    """A record is a game that the rules accept, and ends with the rewards beside it."""
    for variant in ("russian", {"base": "marquoir", "max_plays": 12}):
        for row in rows(made(tmp_path / "games.jsonl", variant=variant, what="records")):
            replay = Replay(yaml.safe_load(row["record"]))
            assert not [fault for _, faults in replay.play() for fault in faults]
            table = replay.table
            assert row["agents"] == list(LINEUP)
            assert row["rewards"] == table["reward"][:3].tolist()
            assert row["out"] == table["out"][:3].tolist()
            assert row["losers"] == table["loser"][:3].tolist()
            assert row["truncated"] == table["truncated"] == (variant != "russian")
            assert (row["seed"], row["decisions"] > 10) == (5, True)


def test_deals_that_are_cut_are_truncated(tmp_path: Path) -> None:
    """The last decision of each seat says so, and pays nothing."""
    found = rows(made(tmp_path / "a.jsonl", variant={"base": "english", "max_plays": 9}))
    assert sum(row["truncated"] for row in found) == 9
    assert not any(row["terminated"] or row["reward"] for row in found)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("what", ["observations", "records"])
def test_a_seed_gives_the_same_bytes(what: str, suffix: str, tmp_path: Path) -> None:
    """Twice the same, another seed something else; nothing but the file is left."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    first, second = (made(tmp_path / f"{n}{suffix}", what=what).read_bytes() for n in "ab")
    assert first == second
    generate("russian", LINEUP, 3, 6, 3, tmp_path / f"c{suffix}", what)
    assert (tmp_path / f"c{suffix}").read_bytes() != first
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.parametrize("what", ["observations", "records"])
def test_parquet_holds_the_same_rows(what: str, tmp_path: Path) -> None:
    """Both formats have the same columns and values; observations are int8 of one length."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(made(tmp_path / "a.parquet", what=what))
    assert table.to_pylist() == rows(made(tmp_path / "a.jsonl", what=what))
    if what == "observations":
        kind = table.schema.field("observation").type
        assert (kind.value_type, kind.list_size) == (arrow.int8(), MEMORY.size)


def test_numbers_are_written_as_json() -> None:
    """The fast way to write rows of numbers is the plain one."""
    values = np.array([[0, 9, 10], [99, 100, 127]], np.int8)
    assert list(room._digits(values)) == ["0,9,10", "99,100,127"]


def test_pandas_reads_both(tmp_path: Path) -> None:
    """A data frame has a row for each decision."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    one = pandas.read_json(made(tmp_path / "a.jsonl"), lines=True)
    other = pandas.read_parquet(made(tmp_path / "a.parquet"))
    assert list(one.columns) == list(other.columns)
    assert len(one) == len(other)
    assert np.stack(other["observation"]).dtype == np.int8
    assert (np.stack(other["observation"]) == np.array(one["observation"].tolist())).all()


def test_an_agent_can_be_fed_what_is_written(tmp_path: Path) -> None:
    """Rows are what an agent reads: `honest` answers them as it did in the game."""
    found = [row for row in rows(made(tmp_path / "a.jsonl")) if row["agent"] == "honest"]
    seen = np.array([row["observation"] for row in found], np.int8)
    mask = np.array([row["action_mask"] for row in found], np.int8)
    actions = load("honest").act(seen, mask, np.random.default_rng(0))
    assert actions.tolist() == [row["action"] for row in found]


def test_one_agent_sits_everywhere(tmp_path: Path) -> None:
    """At as many seats as the game usually has, or as asked for."""
    generate("english", ["honest"], None, 0, 1, tmp_path / "a.jsonl")
    assert {row["seat"] for row in rows(tmp_path / "a.jsonl")} == set(
        range(Tables("english").num_players)
    )


def test_what_fails_on_the_way_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was there stays as it was."""
    path = tmp_path / "a.jsonl"
    path.write_text("old", "utf-8")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(room.JsonLines, "add", fail)
    with pytest.raises(OSError, match="disk full"):
        made(path)
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_without_pyarrow_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to install, or which format needs nothing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"cheat-env\[data\], or name a \.jsonl"):
        made(tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


GIVEN = {"variant": "russian", "agents": "honest", "players": "3", "deals": "2", "seed": "1"}


def arguments(path: Path, **changed: str) -> list[str]:
    """Return the arguments of the command, some of them changed."""
    given = GIVEN | {"out": str(path / "a.jsonl")} | changed
    return ["generate", *(word for k, v in given.items() for word in (f"--{k}", *v.split(" ")))]


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And says what is in it."""
    assert command.main(arguments(tmp_path, variant="{'base':'russian'}")) == 0
    found = rows(tmp_path / "a.jsonl")
    told = f"{tmp_path / 'a.jsonl'}: 2 deals, {len(found)} decisions\n"
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"variant": "rusian"}, "rusian"),
        ({"variant": "{base:"}, "--variant"),
        ({"variant": "3"}, "3"),
        ({"agents": "honset"}, "'honset'"),
        ({"agents": "honest honest"}, "2 for 3 players"),
        ({"players": "9"}, "num_players 9"),
        ({"deals": "0"}, "--deals 0"),
        ({"seed": "-1"}, "--seed -1"),
        ({"out": "games.csv"}, ".jsonl or .parquet"),
        ({"out": "/dev/null/games.jsonl"}, "/dev/null"),
    ],
)
def test_bad_input_is_one_line(
    changed: dict[str, str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing is written."""
    assert command.main(arguments(tmp_path, **changed)) == 2
    shown = capsys.readouterr()
    assert told in shown.err and shown.err.count("\n") == 1 and not shown.out
    assert not list(tmp_path.iterdir())
