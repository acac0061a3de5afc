"""A scripted server: an httpx transport that answers as it was told and remembers what it was asked."""

import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Self

import anyio
import httpx
import pytest


class Feed(httpx.AsyncByteStream):
    """A body that a test writes while it is read."""

    def __init__(self) -> None:
        self.is_closed = False
        self._parts: deque[bytes | Exception | None] = deque()
        self._changed = anyio.Event()

    def send(self, *parts: bytes | dict[str, Any] | Exception | None) -> None:
        """Bytes, an object for a line of its own, an error to raise, or ``None`` for the end."""
        for part in parts:
            self._parts.append(json.dumps(part).encode() + b"\n" if isinstance(part, dict) else part)
        self._changed.set()
        self._changed = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._parts:
                part = self._parts.popleft()
                if part is None:
                    return
                if isinstance(part, Exception):
                    raise part
                yield part
            await self._changed.wait()

    async def aclose(self) -> None:
        self.is_closed = True


class Script(httpx.AsyncBaseTransport):
    """Answers requests in the order in which the answers were given; without an answer, a request waits for ever."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.authorizations: list[str] = []  # httpx sends a request again with other headers
        self.is_entered = False
        self.is_closed = False
        self.cancelled = 0
        self._answers: deque[httpx.Response | Exception] = deque()

    def answer(
        self, body: Any = b"", code: int = 200, headers: dict[str, str] | list[tuple[str, str]] | None = None
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._answers.append(httpx.Response(code, content=content, headers=headers))

    def status(self, code: int, reason: str, **more: Any) -> None:
        self.answer({"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, **more}, code)

    def fail(self, error: Exception) -> None:
        self._answers.append(error)

    def stream(
        self, code: int = 200, headers: dict[str, str] | None = None, extensions: dict[str, Any] | None = None
    ) -> Feed:
        feed = Feed()
        self._answers.append(httpx.Response(code, stream=feed, headers=headers, extensions=extensions))
        return feed

    @property
    def asked(self) -> list[str]:
        """Method, path and query of each request, with the query decoded."""
        return [
            f"{request.method} {request.url.path}"
            + "".join(f" {name}={value}" for name, value in request.url.params.multi_items())
            for request in self.requests
        ]

    @property
    def sent(self) -> Any:
        """The last body, decoded."""
        return json.loads(self.requests[-1].content)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.authorizations.append(request.headers.get("authorization", ""))
        if not self._answers:
            try:
                await anyio.Event().wait()
            finally:
                self.cancelled += 1
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def __aenter__(self) -> Self:
        self.is_entered = True
        return self

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
def script() -> Script:
    return Script()
