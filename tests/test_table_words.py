"""The table in its languages and sizes, and the command that opens it."""

from __future__ import annotations

import string
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from agents import __main__ as cli
from agents.table.speech import LANGUAGES, WORDS
from cheat_env.cards import RANKS

pytest.importorskip("textual")

from at_the_table import nothing_cut_off, play, table, take_turn
from textual.pilot import Pilot

from agents.table.command import MISSING

# --- Words ----------------------------------------------------------------------------------------


def placeholders(value: Any) -> Any:
    """Return the names of the places in a word, by form where it has some."""
    if isinstance(value, dict):
        return {form: placeholders(word) for form, word in value.items()}
    return {name for _, name, _, _ in string.Formatter().parse(value) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_the_same_words(language: str) -> None:
    """Each has the same keys, in the same order, with the same places; cards and keys are free."""
    found, english = (
        yaml.safe_load((WORDS / f"{name}.yaml").read_text("utf-8")) for name in (language, "en")
    )
    assert list(found) == list(english)
    free = ("faces", "keyboard")
    assert {key: placeholders(word) for key, word in found.items() if key not in free} == {
        key: placeholders(word) for key, word in english.items() if key not in free
    }
    faces = [found["faces"].get(rank, rank) for rank in (*RANKS, "Jo")]
    assert len(set(faces)) == len(faces)
    assert {path.stem for path in WORDS.iterdir()} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("language", "size"),
    [
        *[(language, size) for language in LANGUAGES for size in ((80, 24), (45, 24))],
        *[("fr", (45, 40)), ("ru", (120, 50))],
    ],
)
def test_nothing_is_cut_off(language: str, size: tuple[int, int], tmp_path: Path) -> None:
    """On a terminal and on a narrow page everything is to be seen, at eight seats too."""
    app = table(tmp_path, "marquoir", language, opponents=["honest"] * 7)

    async def script(pilot: Pilot[str]) -> None:
        for _ in range(3):
            nothing_cut_off(app)
            await take_turn(pilot)

    play(app, script, size)


def test_keys_of_the_language_pick_its_cards(tmp_path: Path) -> None:
    """A card's key is the letter on it, whatever keyboard that is."""
    for language, letter, name in (("fr", "v", "J"), ("ru", "в", "J"), ("en", "j", "J")):
        app = table(tmp_path, language=language, seat=0, seed=0)

        async def script(pilot: Pilot[str], letter: str = letter, name: str = name) -> None:
            slot = pilot.app.game.deck.index(name)
            assert pilot.app.choice.can_pick(slot)
            await pilot.press(letter)
            assert pilot.app.choice.picked[slot] == 1

        play(app, script)


# --- The command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--variant", "poker"], "poker"),
        (["--variant", "{"], "is no name and no mapping"),
        (["--opponents", "nobody"], "agent 'nobody'"),
        (["--opponents", "honest", "honest", "--players", "6"], "--opponents: 2 given"),
        (["--seat", "9"], "--seat 9: must be from 0 to 3"),
        (["--seed", "-1"], "seed"),
        (["--port", "0"], "--port 0"),
        (["--pause", "-1"], "--pause -1"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names what is wrong and ends with 2, before anything is on the screen."""
    assert cli.main(["play", "--records", str(tmp_path / "games"), *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without textual the extra that brings it is told."""
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert cli.main(["play", "--records", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {MISSING}\n"


def test_an_agent_that_fails_ends_the_table_in_words(tmp_path: Path) -> None:
    """The app returns why it stopped, instead of a traceback."""
    app = table(tmp_path, seat=0)

    class Lost:
        name, observation = "lost", "table"

        def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
            return np.array([99])

    app.game.agents[1] = Lost()
    play(app, take_turn)
    assert "agent lost: action 99 is illegal" in str(app.return_value)
