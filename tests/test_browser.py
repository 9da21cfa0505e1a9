"""What people see in a browser, seen in one: the page of a game, and the table."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from at_the_table import OPPONENTS, SHORT
from browser import Browser, wait_for

from agents.watch import page, played
from cheat_env import records
from cheat_env.records import Replay

#: Widths and heights in pixels: a desk's and a telephone's.
SIZES = [(1024, 768), (390, 780)]


@pytest.mark.parametrize(("variant", "seed"), SHORT)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_page_replays_a_game_to_its_end(
    variant: str, seed: int, width: int, height: int, tmp_path: Path
) -> None:
    """From a file, by keys, in every seat's view; nothing is wider than the page."""
    document = played(variant, ["counter", "honest", "bluffer", "skeptic"], seed)
    path = tmp_path / "game.html"
    path.write_text(page(lambda: Replay(document), "a game"), "utf-8")
    with Browser(path.as_uri(), width, height) as browser:
        steps = int(browser.value("byId('slider').max"))
        for view in range(1 + 4):
            browser.value(
                f"byId('view').value = {view}; byId('view').onchange({{target: byId('view')}})"
            )
            last = int(browser.value("byId('slider').max"))
            browser.press("Home")
            assert browser.value("byId('step').textContent") == f"0 / {last}"
            for step in range(1, min(last, 20) + 1):
                browser.press("ArrowRight")
                assert browser.value("byId('step').textContent") == f"{step} / {last}"
                assert browser.value("document.documentElement.scrollWidth <= innerWidth")
            browser.press("End")
            assert browser.value("byId('next').disabled")
            assert "out" in browser.value("byId('seats').textContent")
        assert steps > 20
        assert not browser.errors


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "seed"), SHORT)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_deal_is_played_to_its_end_in_a_browser(
    variant: str, seed: int, width: int, height: int, tmp_path: Path
) -> None:
    """By keys alone, without a click first; the game is kept, and its record replays."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "agents", "play", "--web", "--port", str(port)]
    command += ["--variant", variant, "--seed", str(seed), "--opponents", *OPPONENTS]
    command += ["--pause", "0", "--records", str(tmp_path)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: _listens(port), "the server")
        with Browser(f"http://127.0.0.1:{port}", width, height) as browser:
            drawn = "document.body.classList.contains('-first-byte')"
            wait_for(lambda: browser.value(drawn), "the table")
            _press_on(browser, tmp_path)
            assert not browser.errors
    finally:
        server.terminate()
        server.wait()
    for path in tmp_path.iterdir():
        assert not [fault for _, found in records.load(path).play() for fault in found]


def _listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def _press_on(browser: Browser, kept: Path) -> None:
    """Press whatever may be a turn, until a game was kept."""
    cards = "234567890jqka"
    for turn in range(600):
        if any(kept.glob("*.yaml")):
            return
        browser.press("t")
        for key in ("ArrowRight", cards[turn % 13], cards[(turn + 1) % 13], "Enter"):
            browser.press(key)
        if turn % 4 == 3:
            browser.press("c")
    raise AssertionError("the deal has no end")
