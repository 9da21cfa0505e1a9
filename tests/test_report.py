"""The report: what it tells, that it needs nothing else, and what it refuses."""

from __future__ import annotations

import base64
import copy
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from made_evaluations import CYCLE, cell, duel, evaluation, round_robin

from train import report
from train.findings import EvaluationError, parse

NASTY = '--><img src="http://x/">&$1_2$|`*'


class Reader(HTMLParser):
    """Collects the tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def written(document: dict[str, Any], directory: Path) -> tuple[str, str]:
    """Return the page and the Markdown of an evaluation."""
    paths = report.write_report(document, directory)
    assert paths == [directory / "report.html", directory / "report.md"]
    assert sorted(directory.iterdir()) == paths
    return paths[0].read_text("utf-8"), paths[1].read_text("utf-8")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """A cycle with deals that were truncated, and another game of two names that need care."""
    document = round_robin(CYCLE)
    document["cells"][0] |= {"finished": 380, "truncated": 20}
    more = {"variant": "russian", "scoring": "last", "rules": {"jokers": 2}}
    document["cells"] += [
        duel(NASTY, "runs/one/model.zip", 0.9, 3, **more),
        duel("runs/one/model.zip", NASTY, None, 3, **more, plays=None, finished=0, truncated=300),
    ]
    return document


@pytest.fixture(scope="module")
def pair(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return written(document, tmp_path_factory.mktemp("report"))


# --- The page -------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else(pair: tuple[str, str]) -> None:
    """Nothing is fetched: no script, no style sheet, and pictures are in the page."""
    page = Reader(pair[0])
    assert {"script", "link", "iframe", "object"}.isdisjoint(tag for tag, _ in page.tags)
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            if name == "href":
                assert str(value).startswith("#")
            elif name == "src":
                assert tag == "img"
                assert str(value).startswith("data:image/svg+xml;base64,")
            else:
                assert name != "srcset"
    style = re.search(r"<style>(.*?)</style>", pair[0], re.DOTALL)
    assert style is not None
    assert not re.search(r"url\(|@import|http", style[1])


def test_pictures_are_whole_and_small(pair: tuple[str, str]) -> None:
    drawings = [base64.b64decode(text) for text in re.findall(r"base64,([^\"]+)", pair[0])]
    assert len(drawings) == 2 * 3
    for drawing in drawings:
        ElementTree.fromstring(drawing)
        assert len(drawing) < 200_000
        drawing = re.sub(rb"<!--.*?-->", b"", drawing, flags=re.DOTALL)
        assert not re.search(rb"(href|src)=\"(?!#)|url\((?!#)|<image|<!DOCTYPE", drawing)


def test_the_page_fits_a_phone_and_the_dark(pair: tuple[str, str]) -> None:
    page = Reader(pair[0])
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert "prefers-color-scheme: dark" in pair[0]
    assert len(re.findall('<div class="box" tabindex="0"><table>', pair[0])) == sum(
        tag == "table" for tag, _ in page.tags
    )


def test_names_are_shown_as_they_are(pair: tuple[str, str]) -> None:
    """No name becomes a tag, nor a cell of a table."""
    page = Reader(pair[0])
    assert NASTY in page.text
    assert all(
        str(attributes.get("src", "data:")).startswith("data:") for _, attributes in page.tags
    )
    rows = [line for line in pair[1].splitlines() if line.startswith("|")]
    for above, row in pairwise(rows):
        if above.startswith("| ---"):
            assert len(re.findall(r"(?<!\\)\|", row)) == len(above.split("|")) - 1


@pytest.mark.parametrize(
    "line",
    [
        "| rock | 3 x scissors | 60.0 | 58.0 - 62.0 | - | - | -0.50 | -"
        " | 2.00 | - | 40 | 380 | 100 x 4 |",
        "| rock | 3 x scissors | 20 | 400 | 5.0 |",
        "| rock | 25.0 | 60.0 (58.0 - 62.0) | 10.0 (8.0 - 12.0) |",
        "| rock > scissors > paper > rock | 60.0, 60.0, 60.0 |",
        "| paper | 33.3 | 100 |",
        "| rock | 3 x scissors | 25.0 (1,400) | 6.7 (1,500) | 10.0 (400) | 50.0 (40) | 20.0 (450)"
        " | 40 |",
        "## russian, 3 seats, jokers: 2",
        '| runs/one/model.zip | 2 x -->\\<img src="http://x/">\\&$1_2$\\|\\`\\*'
        " | 300 | 300 | 100.0 |",
    ],
)
def test_the_tables_tell(pair: tuple[str, str], line: str) -> None:
    assert line in pair[1].splitlines()


def test_both_files_tell_the_same_tables(pair: tuple[str, str]) -> None:
    page = Reader(pair[0])
    assert pair[1].count("\n| --- |") == sum(tag == "table" for tag, _ in page.tags)
    assert "rock > scissors > paper > rock" in page.text
    assert pair[1].index("| agent | against |") < pair[1].index("### Ratings")


def test_an_agent_met_only_in_copies_has_its_share_beside_its_rating(tmp_path: Path) -> None:
    _, text = written(evaluation([duel("a", "b", 0.4)], "one-vs-rest"), tmp_path)
    assert re.search(r"^\| b \| [\d.]+ \| [\d.]+ \| 20.0 \| a, 2 x b \|", text, re.MULTILINE)


def test_the_same_evaluation_gives_the_same_bytes(tmp_path: Path) -> None:
    made = evaluation([duel("a", "b", 0.4), duel("b", "a", 0.2)])
    first = written(made, tmp_path / "one")
    assert written(json.loads(json.dumps(made)), tmp_path / "two") == first


def test_agents_of_one_table_are_all_told(tmp_path: Path) -> None:
    shares: dict[str, float | None] = {"a": 0.1, "b": 0.3}
    _, text = written(evaluation([cell("aabb", shares)], "mixed"), tmp_path)
    assert "| a | a, 2 x b | 10.0 " in text
    assert "| b | 2 x a, b | 30.0 " in text
    assert "No matrix" in text


def test_copies_of_oneself_are_an_equal_share(tmp_path: Path) -> None:
    _, text = written(evaluation([cell("aaaa", {"a": 0.25})], "one-vs-rest"), tmp_path)
    assert "| a | 3 x a | 25.0 " in text
    assert "None: no two agents met" in text


# --- What is refused ------------------------------------------------------------------------------


def changed(document: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    """Return a document with something else at a path; `...` takes it out."""
    made = copy.deepcopy(document)
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return made


CELL = ["cells", 0]
ROCK = [*CELL, "agents", "rock"]
WRONG = [
    (["format"], ..., "format: missing"),
    (["format"], "best-of-three", "format: 'best-of-three' is none of"),
    (["seed"], "1", "seed: must be of type int"),
    (["seed"], True, "seed: must be of type int"),
    (["versions"], [], "versions: must be of type dict"),
    (["cells"], [], "cells: there is none"),
    (CELL, 3, "cells[0]: not a mapping"),
    ([*CELL, "players"], 1, "cells[0].players: fewer than 2"),
    ([*CELL, "lineup"], ["rock"], "cells[0].lineup: must name one agent a seat"),
    ([*CELL, "lineup"], ["rock", "rock", 3, 3], "cells[0].lineup: must name one agent a seat"),
    ([*CELL, "lineup", 1], "nobody", "cells[0].agents.nobody: missing"),
    ([*CELL, "finished"], -1, "cells[0].finished: below 0"),
    ([*CELL, "plays"], "many", "cells[0].plays: must be a number"),
    ([*ROCK, "counts", "caught"], ..., "cells[0].'rock'.counts.caught: missing"),
    ([*ROCK, "counts", "caught"], None, "cells[0].'rock'.counts.caught: must be a number"),
    ([*ROCK, "share"], 0.5, "cells[0].'rock'.share: must be of type dict"),
    ([*ROCK, "share", "low"], float("nan"), "cells[0].'rock'.share.low: must be a number"),
    ([*ROCK, "share", "high"], 10**400, "cells[0].'rock'.share.high: must be a number"),
    ([*ROCK, "lies_by_hand"], [[1, 0]], "cells[0].'rock'.lies_by_hand: must be 14 x 2"),
    ([*ROCK, "challenges_by_size", 0], [1, 0, None], "challenges_by_size[0]: must be a number"),
]


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_what_is_no_evaluation_is_refused_by_its_place(
    path: list[Any], value: Any, message: str, tmp_path: Path
) -> None:
    wrong = changed(round_robin(CYCLE), path, value)
    with pytest.raises(EvaluationError) as error:
        report.write_report(wrong, tmp_path / "out")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ['{"format": "mixed", "cells": [', "[1]", "[" * 10**5, "", "\0"])
def test_what_is_no_json_is_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evaluation.json"
    path.write_text(text, "utf-8")
    assert report.main([str(path)]) == 2
    out = capsys.readouterr()
    assert (out.out, out.err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(tmp_path / "none.json")]) == 2
    assert report.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_the_command_writes_beside_the_file_or_where_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evaluation.json"
    path.write_text(json.dumps(evaluation([duel("a", "b", 0.4)])), "utf-8")
    assert report.main([str(path)]) == 0
    assert report.main([str(path), "--out", str(tmp_path / "deep" / "out")]) == 0
    told = capsys.readouterr().out
    for directory in (tmp_path, tmp_path / "deep" / "out"):
        assert f"{directory / 'report.html'} and {directory / 'report.md'}" in told
        assert (directory / "report.md").is_file()
    assert report.main([str(path), "--out", str(path)]) == 2
    assert "can't write" in capsys.readouterr().err


def test_names_that_cannot_be_printed_are_marked() -> None:
    made = evaluation([duel("a\n\0b", "c", 0.4)])
    assert parse(made).games[0].names == ["a\ufffd\ufffdb", "c"]
