"""A table that nobody sees, for tests: played by keys, and looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agents.table.choice import MOVES, Choice
from agents.table.game import Game
from agents.table.speech import Speech
from cheat_env.cards import SLOTS

pytest.importorskip("textual")

from textual.pilot import Pilot
from textual.widgets import Static

from agents.table.app import Chip, TableApp

SIZE = (80, 24)
OPPONENTS = ["honest", "counter", "bluffer"]
#: Games with the seeds of short deals.
SHORT = [("english", 14), ("marquoir", 15), ("russian", 13)]


def table(
    directory: Path, variant: Any = "russian", language: str = "en", **settings: Any
) -> TableApp:
    """Return a table with the cards of a seed, that does not wait between moves."""
    settings = {"opponents": OPPONENTS, "seed": 5, "directory": directory} | settings
    return TableApp(Game(variant, **settings), Speech(language), pause=0)


def play(app: TableApp, script: Callable[[Pilot[str]], Awaitable[None]], size: Any = SIZE) -> None:
    """Run a script at a table that nobody sees."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await until_asked(pilot)
            await script(pilot)

    asyncio.run(run())


async def until_asked(pilot: Pilot[str]) -> None:
    """Wait until the person is asked or the deal is over, and the screen shows it."""
    app = pilot.app
    await app.workers.wait_for_complete()
    await pilot.pause()


def chips(app: TableApp, kind: str) -> list[Chip]:
    """Return the chips of a kind that may be pressed."""
    return [
        chip for chip in app.query(Chip) if chip.kind == kind and chip.display and not chip.disabled
    ]


def text(app: TableApp, name: str) -> str:
    """Return what a part of the screen says."""
    return str(app.query_one(f"#{name}", Static).content)


def can(app: TableApp, move: str) -> bool:
    """Say whether a button may be pressed."""
    return move in {chip.value for chip in chips(app, "move")}


async def press(pilot: Pilot[str], *keys: str) -> None:
    """Press keys, and wait for what they lead to."""
    await pilot.press(*keys)
    await until_asked(pilot)


async def take_turn(pilot: Pilot[str]) -> None:
    """Take one turn by keys: challenge the fourth claim that may be, else lay one card."""
    app = pilot.app
    app.turns = getattr(app, "turns", 0) + 1
    discards = chips(app, "rank") if app.choice.discards else []
    if discards:
        await press(pilot, discards[0].key)
    elif can(app, "challenge") and (app.turns % 4 == 0 or not app.choice.can_play()):
        await press(pilot, "c" if app.turns % 4 == 0 or not can(app, "accept") else "t")
    else:
        await press(pilot, *(["right"] if app.choice.claims else []), chips(app, "card")[0].key)
        assert can(app, "lay")
        await press(pilot, "enter")


async def to_the_end(pilot: Pilot[str]) -> None:
    """Play a deal to its end."""
    for _ in range(500):
        if pilot.app.game.over:
            return
        await take_turn(pilot)
    raise AssertionError("the deal has no end")


def play_unseen(game: Game) -> None:
    """Play a deal to its end without a screen, in the same way."""
    turns = 0
    while not game.over:
        if game.asked:
            choice, turns = Choice(game.seen(), game.mask()), turns + 1
            game.person.choose(_turn(choice, turns))
        game.step()


def _turn(choice: Choice, turns: int) -> list[int]:
    if choice.discards:
        return choice.discard(choice.discards[0])
    if choice.can("challenge") and (turns % 4 == 0 or not choice.can_play()):
        lets = turns % 4 and choice.can("accept")
        return [MOVES["accept" if lets else "challenge"]]
    choice.turn_claim(1)
    slot = next(slot for slot in range(SLOTS) if choice.can_pick(slot))
    choice.picked[slot] += 1
    return choice.play()


def nothing_cut_off(app: TableApp) -> None:
    """Assert that every part of the screen lies within it, above the next one, and shows all."""
    bottom = 0
    for part in app.screen.children:
        if not part.display or part.region.height == 0:
            continue
        assert part.region.y >= bottom, part
        bottom = part.region.bottom
        assert part.region.right <= app.size.width, part
    assert bottom <= app.size.height
    for chip in app.query(Chip):
        if chip.display:
            assert len(str(chip.content)) <= chip.content_size.width, chip.content
    for seat in app.query("#seats Static"):
        assert seat.region.height >= 1
