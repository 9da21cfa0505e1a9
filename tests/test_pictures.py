"""Pictures: what `rgb_array` returns, what a seat's view hides, and films of records."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from positions import place, position
from random_positions import Position, positions
from test_hidden_cards import leaks

from cheat_env import env, raw_env
from cheat_env.cards import RANKS
from cheat_env.pictures import CARD, gif, picture
from cheat_env.records import RecordError, Replay
from cheat_env.scenes import scenes

image = pytest.importorskip("PIL.Image")
image_draw = pytest.importorskip("PIL.ImageDraw")

SEATS = [("english", 3), ("english", 6), ("marquoir", 3), ("marquoir", 8), ("russian", 2)]
RECORD = position(["7 K 3", "4 9 J", "2 5 6"], 0, "7", [(1, "Q 2")])
RECORD |= {"moves": ["0 plays 7 K", "1 challenges", "1 plays 4"]}


def drawn(here: Position, seat: int) -> bytes:
    """Return the picture that a seat sees."""
    return picture(here.table, here.options, here.deck, seat).tobytes()


@pytest.mark.parametrize(("variant", "players"), SEATS)
def test_an_environment_draws_its_table(variant: str, players: int) -> None:
    """Equal tables give equal pictures, other tables others."""
    for make in (env, raw_env):
        game = make(variant, players, render_mode="rgb_array")
        game.reset(seed=2)
        first = game.render()
        assert (first.dtype, first.shape) == (np.uint8, (800, 1024, 3))
        assert np.array_equal(first, game.render())
        game.step(int(np.flatnonzero(game.last()[0]["action_mask"])[0]))
        assert not np.array_equal(first, game.render())


def test_hidden_cards_change_no_picture() -> None:
    """K1: exchanging cards that a seat can't see changes no pixel of its picture."""
    found, tried = leaks(drawn, positions()[::16], 1)
    assert found == Counter()
    assert tried.total() > 20


Box = tuple[float, ...]


def _boxes(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Box], list[Box]]:
    """Return two lists that are filled with the boxes of the words and the cards that are drawn."""
    words: list[Box] = []
    cards: list[Box] = []
    write, outline = image_draw.ImageDraw.text, image_draw.ImageDraw.rounded_rectangle

    def noted(self: Any, xy: Any, text: str, fill: Any, font: Any, anchor: Any = None) -> None:
        if text:
            words.append(self.textbbox(xy, text, font, anchor))
        write(self, xy, text, fill, font, anchor)

    def noted_outline(self: Any, xy: Box, *style: Any) -> None:
        if xy[2] - xy[0] + 1 == CARD[0]:
            cards.append(xy)
        outline(self, xy, *style)

    monkeypatch.setattr(image_draw.ImageDraw, "text", noted)
    monkeypatch.setattr(image_draw.ImageDraw, "rounded_rectangle", noted_outline)
    return words, cards


def apart(one: Box, other: Box) -> bool:
    """Say whether two boxes have nothing in common."""
    beside = one[2] <= other[0] or other[2] <= one[0]
    return beside or one[3] <= other[1] or other[3] <= one[1]


def inside(one: Box, other: Box) -> bool:
    """Say whether a box lies within another."""
    return all(one[i] >= other[i] and one[i + 2] <= other[i + 2] for i in (0, 1))


def crowd(table: Any, players: int) -> None:
    """Put a deck into one hand, and all that can be told in the middle and of a seat."""
    table["hand"][:] = 0
    table["hand"][players - 1, :13] = 4
    table["hand_size"] = table["hand"].sum(axis=1)
    table["pile"][:players] = 1
    table["pile_size"] = 14 * players
    table["phase"], table["turn"], table["rank"] = 1, players - 1, 9
    table["picked"][:], table["picked_size"] = 1, 14
    table["recent"][0], table["turned_up"][:] = (1, 9, 12, 4, 0, 1), 2
    table["quads"][:], table["gone"][:], table["burnt"][:] = 1, 3, 1
    table["burnt_size"], table["safe_turns"] = 112, 99
    table["score"][:], table["passed"][:], table["loser"][:] = 127, 1, 1
    table["out"][:], table["plays"] = 8, 12345


@pytest.mark.parametrize("players", range(2, 9))
@pytest.mark.parametrize("open_hands", [True, False])
def test_nothing_overlaps_or_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, players: int, open_hands: bool
) -> None:
    """At every number of seats all words lie apart and within the picture, however many."""
    game = raw_env("russian" if players < 7 else "marquoir", players)
    game.reset(seed=1)
    table = game.tables.state[0]
    for fill in (lambda *_: None, crowd):
        fill(table, players)
        words, cards = _boxes(monkeypatch)
        picture(table, game.tables.options, RANKS, None if open_hands else 0)
        monkeypatch.undo()
        assert len(words) > players and len(cards) > 3
        assert all(inside(box, (0, 0, 1024, 800)) for box in (*words, *cards))
        assert all(apart(*two) for two in combinations(words, 2))
        for box in words:
            assert all(apart(box, card) or inside(box, card) for card in cards)


def test_a_film_shows_every_scene(tmp_path: Path) -> None:
    """A film has a picture for each scene, in its colours, and the same bytes each time."""
    one, other = tmp_path / "one.gif", tmp_path / "other.gif"
    gif(RECORD, one, seconds=0.5)
    gif(Replay(RECORD), other, seconds=0.5)
    assert one.read_bytes() == other.read_bytes()
    film = image.open(one)
    assert film.n_frames == len(list(scenes(Replay(RECORD)))) == 4
    replay = Replay(RECORD)
    for number, move in enumerate([None, *RECORD["moves"]]):
        assert move is None or replay.move(move) is None
        film.seek(number)
        shot = picture(replay.table, replay.options, replay.deck).astype(int)
        assert np.abs(np.asarray(film.convert("RGB")) - shot).max() <= 24
    assert film.info["duration"] == 500


def test_a_film_of_pictures(tmp_path: Path) -> None:
    """What an environment renders is a film too."""
    game = place({key: RECORD[key] for key in RECORD if key != "moves"}, render_mode="rgb_array")
    shots = [game.render()]
    game.step(0)
    shots.append(game.render())
    gif(shots, tmp_path / "film.gif")
    assert image.open(tmp_path / "film.gif").n_frames == 2
    assert all(not np.array_equal(*two) for two in pairwise(shots))


def test_what_is_no_film_leaves_nothing(tmp_path: Path) -> None:
    """A record that breaks off, or no pictures, leave no file."""
    with pytest.raises(RecordError, match="move 2"):
        gif(RECORD | {"moves": ["0 plays 7 K", "2 challenges"]}, tmp_path / "no.gif")
    with pytest.raises(RecordError, match="seat 3"):
        gif(RECORD, tmp_path / "no.gif", seat=3)
    with pytest.raises(ValueError, match="at least one picture"):
        gif([], tmp_path / "no.gif")
    assert not list(tmp_path.iterdir())


def test_without_pillow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for pictures without Pillow is told what to install; text needs none."""
    from gymnasium.error import DependencyNotInstalled

    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(DependencyNotInstalled, match=r"cheat-env\[pictures\]"):
        env("russian", render_mode="rgb_array")
    text = env("russian", render_mode="ansi")
    text.reset(seed=1)
    assert "pile" in text.render()
