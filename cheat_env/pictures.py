"""Pictures of a table: arrays for `rgb_array`, and films of records; needs the extra `pictures`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from cheat_env.cards import Deck
from cheat_env.files import write
from cheat_env.options import Options
from cheat_env.records import Replay
from cheat_env.scenes import Place, Row, Scene, scene, scenes
from cheat_env.state import Table

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

Picture = NDArray[np.uint8]

WIDTH, HEIGHT = 1024, 800
#: The size of a seat's place, and the gap between places and to the edge.
PLACE = (236, 136)
GAP = 12
CARD = (28, 34)
#: Room from a card to the next one.
STEP = (31, 38)
#: Where cards end a line of a place, or of the middle.
ACROSS = 7
MIDDLE_ACROSS = 14
#: How many cards a place and a row of the middle show one by one.
SINGLE = 14
TITLE, WORDS, NOTE, SMALL = 17, 18, 13, 11
#: The height of a line of words in the middle.
LINE = 25

ROOM = (38, 42, 48)
FELT, EDGE = (28, 107, 70), (92, 62, 38)
PANEL, ACTING, DIM = (58, 64, 72), (255, 205, 64), (150, 156, 164)
PAPER, INK, BACK, BORDER = (255, 255, 255), (20, 20, 24), (58, 88, 160), (120, 126, 134)
LIGHT = (240, 242, 244)

#: Which of the eight places round the table are taken, clockwise from the middle of the lower side.
ROUND = {
    2: (0, 4),
    3: (0, 3, 5),
    4: (0, 2, 4, 6),
    5: (0, 2, 3, 5, 6),
    6: (0, 1, 3, 4, 5, 7),
    7: (0, 1, 2, 3, 5, 6, 7),
    8: (0, 1, 2, 3, 4, 5, 6, 7),
}


def need_pillow() -> None:
    """Raise `DependencyNotInstalled` where there is no Pillow to draw with."""
    try:
        import PIL.Image  # noqa: F401
    except ModuleNotFoundError:
        raise DependencyNotInstalled(
            "pictures are drawn by Pillow: pip install 'cheat-env[pictures]'"
        ) from None


def picture(table: Table, options: Options, deck: Deck, seat: int | None = None) -> Picture:
    """Return a table as a picture, uint8 (800, 1024, 3).

    With a `seat`, which sits at the lower side, it shows only what that seat may see. Raises
    `DependencyNotInstalled` without Pillow.
    """
    need_pillow()
    return np.asarray(_drawn(scene(table, options, deck, seat), seat)).copy()


def pictures(replay: Replay, seat: int | None = None) -> Iterator[Picture]:
    """Yield a picture for each scene of a record (see `cheat_env.scenes.scenes`)."""
    need_pillow()
    for seen in scenes(replay, seat):
        yield np.asarray(_drawn(seen, seat)).copy()


def gif(
    source: Replay | Mapping[str, Any] | Iterable[Picture],
    path: Path,
    *,
    seat: int | None = None,
    seconds: float = 1.0,
) -> None:
    """Write a film of a game as an animated GIF, whole or not at all.

    Args:
        source: a record that was not played yet, as `Replay` or document, or pictures of one size,
            uint8 (H, W, 3), such as an environment's `render` returns.
        path: the file.
        seat: whose view of a record; None: everybody's hands are open.
        seconds: how long a picture stays.

    Raises `RecordError` where a record can't be played, ValueError where there are no pictures, and
    `DependencyNotInstalled` without Pillow.
    """
    need_pillow()
    from PIL import Image

    if isinstance(source, Mapping):
        source = Replay(source)
    shots = pictures(source, seat) if isinstance(source, Replay) else iter(source)
    first = next(shots, None)
    if first is None:
        raise ValueError("a film needs at least one picture")
    colours = _palette()

    def reduced(shot: Picture) -> Image.Image:
        return Image.fromarray(shot).quantize(palette=colours, dither=Image.Dither.NONE)

    def fill(unfinished: Path) -> None:
        reduced(first).save(
            unfinished,
            format="GIF",
            save_all=True,
            append_images=map(reduced, shots),
            duration=round(1000 * seconds),
            loop=0,
        )

    write(path, fill)


def _palette() -> Image:
    """Return the colours of the pictures and, for smooth letters, steps between some of them."""
    from PIL import Image

    pairs = [(PAPER, INK), (PAPER, DIM), (PANEL, LIGHT), (PANEL, ACTING), (PANEL, DIM)]
    pairs += [(FELT, LIGHT), (FELT, ACTING), (FELT, PAPER), (FELT, EDGE), (ROOM, EDGE)]
    pairs += [(ROOM, PANEL), (PANEL, BORDER), (FELT, BORDER), (PAPER, BORDER), (BACK, PAPER)]
    steps = np.linspace(0, 1, 12)[:, None]
    blends = [np.array(one) * (1 - steps) + np.array(other) * steps for one, other in pairs]
    found = Image.new("P", (1, 1))
    found.putpalette(np.concatenate(blends).round().astype(np.uint8).tobytes())
    return found


# --- Drawing --------------------------------------------------------------------------------------


@cache
def _font(size: int) -> Any:
    """Return the font that Pillow brings."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _drawn(seen: Scene, seat: int | None) -> Image:
    """Return a scene drawn: the room, the table, its middle and the seats round it."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, HEIGHT), ROOM)
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((100, 80, WIDTH - 101, HEIGHT - 81), 90, FELT, EDGE, 10)
    _draw_middle(draw, seen)
    for place in seen.places:
        _draw_place(draw, place, _corner(place.seat, len(seen.places), seat or 0))
    return image


def _corner(seat: int, players: int, lowest: int) -> tuple[int, int]:
    """Return the upper left corner of a seat's place; seat `lowest` sits at the lower side."""
    side = ROUND[players][(seat - lowest) % players]
    left, middle, right = GAP, (WIDTH - PLACE[0]) // 2, WIDTH - GAP - PLACE[0]
    top, centre, bottom = GAP, (HEIGHT - PLACE[1]) // 2, HEIGHT - GAP - PLACE[1]
    return (
        (middle, bottom),
        (left, bottom),
        (left, centre),
        (left, top),
        (middle, top),
        (right, top),
        (right, centre),
        (right, bottom),
    )[side]


def _draw_place(draw: ImageDraw, place: Place, corner: tuple[int, int]) -> None:
    """Draw a seat: its number and cards, and a bright edge where it is asked."""
    x, y = corner
    edge, width = (ACTING, 4) if place.acts else (BORDER, 1)
    draw.rounded_rectangle((x, y, x + PLACE[0] - 1, y + PLACE[1] - 1), 10, PANEL, edge, width)
    colour = ACTING if place.acts else LIGHT
    draw.text((x + 11, y + 7), f"seat {place.seat}: {place.size} cards", colour, _font(TITLE))
    right = (x + PLACE[0] - 12, y + 10)
    draw.text(right, place.score, LIGHT, _font(NOTE), anchor="ra")
    draw.text((x + 11, y + 30), place.notes, LIGHT, _font(NOTE))
    cards = place.cards
    _draw_cards(draw, (x + 11, y + 51), cards or "", place.size if cards is None else 0, ACROSS)


def _draw_middle(draw: ImageDraw, seen: Scene) -> None:
    """Draw the rows of the middle between the seats, as far apart as there is room for."""
    rows = [Row(seen.headline), *seen.rows, Row(seen.asked)]
    heights = [LINE + STEP[1] * bool(row.cards or row.covered) for row in rows]
    room = HEIGHT - 2 * (GAP + PLACE[1]) - 16
    gap = min((room - sum(heights)) / len(rows), 14.0)
    y = HEIGHT / 2 - (sum(heights) + gap * (len(rows) - 1)) / 2
    for number, (row, height) in enumerate(zip(rows, heights, strict=True)):
        colour = ACTING if number == len(rows) - 1 else LIGHT
        draw.text((WIDTH / 2, int(y)), row.text, colour, _font(WORDS), anchor="ma")
        if row.cards or row.covered:
            wide = _width(row, MIDDLE_ACROSS)
            corner = (int(WIDTH - wide) // 2, int(y) + LINE - 1)
            _draw_cards(draw, corner, row.cards, row.covered, MIDDLE_ACROSS)
        y += height + gap


def _faces(cards: str) -> list[tuple[str, int]]:
    """Return cards face up one by one, or by rank with their number where they are many."""
    names = cards.split()
    return [(name, 1) for name in names] if len(names) <= SINGLE else [*Counter(names).items()]


def _width(row: Row, across: int) -> float:
    """Return the width of a row's cards."""
    if row.covered:
        return CARD[0] + _fan(row.covered, across) * (row.covered - 1)
    return STEP[0] * min(len(_faces(row.cards)), across) - (STEP[0] - CARD[0])


def _fan(covered: int, across: int) -> float:
    """Return how far apart covered cards lie, so that all of them keep to one line."""
    return min(STEP[0] / 2, (STEP[0] * (across - 1)) / max(covered - 1, 1))


def _draw_cards(
    draw: ImageDraw, corner: tuple[int, int], cards: str, covered: int, across: int
) -> None:
    """Draw cards face up in lines of `across`, or covered ones as a fan."""
    x, y = corner
    for number in range(covered):
        left = x + math.floor(number * _fan(covered, across))
        _rectangle(draw, left, y, BACK)
    for number, (name, count) in enumerate(_faces(cards)):
        line, column = divmod(number, across)
        left, top = x + column * STEP[0], y + line * STEP[1]
        _rectangle(draw, left, top, PAPER)
        centre, height = left + CARD[0] / 2, CARD[1] / 2 if count == 1 else 12
        draw.text((centre, top + height), name, INK, _font(TITLE), anchor="mm")
        if count > 1:
            draw.text((centre, top + 26), f"x{count}", INK, _font(SMALL), anchor="mm")


def _rectangle(draw: ImageDraw, left: int, top: int, colour: tuple[int, int, int]) -> None:
    edge = BORDER if colour == PAPER else PAPER
    draw.rounded_rectangle((left, top, left + CARD[0] - 1, top + CARD[1] - 1), 4, colour, edge)
