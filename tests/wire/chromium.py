"""Chromium without a window, driven over a pipe by its DevTools protocol: nothing needs to be installed for that.

https://chromedevtools.github.io/devtools-protocol/
"""

import asyncio
import fcntl
import json
import os
import shutil
import signal
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio

__all__ = ["CHROMIUM", "Page", "opened"]

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
"""Where it is; ``""`` where there is none."""

_OPTIONS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
    ),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"),
)
_LARGEST: Final = 64 * 1024 * 1024


class Page:
    """One tab, and what it complained of: messages of its console, errors of its script, requests that failed."""

    def __init__(self, reader: asyncio.StreamReader, writer: int) -> None:
        self.complaints: list[str] = []
        self._reader = reader
        self._writer = writer
        self._numbers = count(1)
        self._session = ""

    async def call(self, method: str, **params: Any) -> Any:
        """One call of the protocol, to the tab once there is one; its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | (
            {"sessionId": self._session} if self._session else {}
        )
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._hear(answer)

    async def open(self, url: str, *, is_dark: bool = False, width: int = 1320, height: int = 900) -> None:
        """Go to a page, and wait until it is there."""
        if not self._session:
            target = await self.call("Target.createTarget", url="about:blank")
            attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                await self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete'")

    async def value(self, expression: str) -> Any:
        """What an expression, or a promise, comes to in the page."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, claim: str) -> None:
        """Wait until an expression is true in the page; the limit for a test is the limit."""
        await self.value(
            f"new Promise(done => {{ const look = () => ({claim}) ? done() : setTimeout(look, 20); look(); }})"
        )

    async def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])

    def _hear(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case (
                "Runtime.consoleAPICalled"
                | "Runtime.exceptionThrown"
                | "Log.entryAdded"
                | "Network.loadingFailed"
            ):
                self.complaints.append(json.dumps(params)[:1000])
            case _:
                pass


@asynccontextmanager
async def opened() -> AsyncIterator[Page]:
    """Run a browser with an empty profile around a block."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        theirs_in, ours_out = map(_moved, os.pipe())
        ours_in, theirs_out = map(_moved, os.pipe())
        process = os.posix_spawn(  # noqa: ASYNC221 -- only this can give it descriptors 3 and 4, and it does not wait
            CHROMIUM,
            [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs_in, 3),  # the protocol's own numbers
                (os.POSIX_SPAWN_DUP2, theirs_out, 4),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setpgroup=0,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        reader = asyncio.StreamReader(limit=_LARGEST)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb", buffering=0)
        )
        try:
            yield Page(reader, ours_out)
        finally:
            transport.close()
            os.close(ours_out)
            os.killpg(process, signal.SIGKILL)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(os.waitpid, process, 0)


def _moved(descriptor: int) -> int:
    """Out of the way of the numbers that the browser wants."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
