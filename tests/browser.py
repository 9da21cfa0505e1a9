"""A browser without a window, for tests: Chromium, told what to do over its DevTools protocol."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp")

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
if PROGRAM is None:
    pytest.skip("needs Chromium", allow_module_level=True)

#: Seconds after which something that should have come has not.
PATIENCE = 60.0
#: The codes of the keys whose name is not what they write.
CODES = {"Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "End": 35, "Home": 36}


def wait_for(true: Callable[[], Any], what: str) -> None:
    """Wait until something is true; fails after a time."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"{what}: not after {PATIENCE} s"
        time.sleep(0.05)


class Browser:
    """One page of a browser; to be used in a `with` statement.

    Args:
        address: of the page.
        width: of the page, in pixels; a narrow one is a telephone's.
        height: of the page, in pixels.

    Attributes:
        errors: what the page's script threw.
    """

    def __init__(self, address: str, width: int = 1024, height: int = 768) -> None:
        self.errors: list[str] = []
        self._address, self._size, self._sent = address, (width, height), 0

    def __enter__(self) -> Browser:
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        flags += [f"--user-data-dir={self._home.name}", "--hide-scrollbars", "about:blank"]
        self._process = subprocess.Popen([str(PROGRAM), *flags], stderr=subprocess.DEVNULL)
        self._loop = asyncio.new_event_loop()
        told = Path(self._home.name, "DevToolsActivePort")
        wait_for(lambda: told.exists() and told.read_text().count("\n"), "the browser")
        self._loop.run_until_complete(self._connect(int(told.read_text().split()[0])))
        width, height = self._size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **screen)
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        for domain in ("Page", "Runtime"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=self._address)
        wait_for(lambda: self.value("document.readyState") == "complete", self._address)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._session.close())
        self._loop.close()
        self._process.terminate()
        self._process.wait()
        self._home.cleanup()

    async def _connect(self, port: int) -> None:
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = [page for page in await answer.json() if page["type"] == "page"]
        self._socket = await self._session.ws_connect(
            pages[0]["webSocketDebuggerUrl"], max_msg_size=0
        )

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser for something, and return its answer."""
        return self._loop.run_until_complete(self._send(method, parameters))

    async def _send(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._sent += 1
        await self._socket.send_json({"id": self._sent, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=PATIENCE)
            if told.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(told["params"]["exceptionDetails"]))
            if told.get("id") == self._sent:
                assert "error" not in told, (method, told)
                return dict(told["result"])

    def value(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, by what it writes or by its name."""
        code = CODES.get(key, ord(key[0].upper()))
        for kind in ("rawKeyDown", "char", "keyUp") if len(key) == 1 else ("rawKeyDown", "keyUp"):
            told = {"text": key} if kind == "char" else {"windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **told)
