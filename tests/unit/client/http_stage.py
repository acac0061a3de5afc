"""An ``Http`` that is open, with a clock, and with an ear for its hooks."""

from random import Random
from typing import Any, Self

import anyio

from kinformer.client import Anonymous, Config, Credentials, RateLimit
from kinformer.client._calls import Call
from kinformer.client._http import Http
from kinformer.errors import ClosedError, RequestError
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.testing import FakeClock

GET = Call("GET", "/api/v1/pods", {"limit": "5", "continue": ""})
POST = Call("POST", "/api/v1/pods", content=b"{}")


class Ear(NoHooks):
    def __init__(self) -> None:
        self.heard: list[RequestFinished] = []

    def request_finished(self, event: RequestFinished, /) -> None:
        self.heard.append(event)


class Opened:
    """An ``Http`` that is open while it is entered."""

    def __init__(
        self, script: Any, credentials: Credentials | None = None, *, rate_limit: RateLimit | None = None
    ) -> None:
        self.clock = FakeClock()
        self.ear = Ear()
        self.config = Config("http://server/base", credentials or Anonymous())
        self.http = Http(
            script, timeout=65.0, clock=self.clock, random=Random(1), hooks=self.ear, rate_limit=rate_limit
        )

    async def __aenter__(self) -> Self:
        await self.http.open(self.config)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.http.aclose()


async def outcome(call: Any) -> Any:
    try:
        return await call
    except (RequestError, ClosedError, RuntimeError) as error:
        return error


async def tried(opened: Opened, call: Call, seconds: float = 600.0) -> Any:
    """The outcome of a request, and the moment at which it came."""
    found: list[Any] = []

    async def ask() -> None:
        found.extend([await outcome(opened.http.request(call)), opened.clock.monotonic()])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await opened.clock.advance(seconds)
        tasks.cancel_scope.cancel()
    return found
