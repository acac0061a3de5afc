"""AppTransport: an httpx transport into an ASGI application, in memory, that streams.

``httpx.ASGITransport`` waits for the application to end, so no byte of a watch ever arrives through it
(https://github.com/encode/httpx/issues/3059). Here the application runs in a task of its own while the response is read.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any, Final, Self

import anyio
import httpx
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from kinformer.clock import Clock
from kinformer.system_clock import SystemClock

__all__ = ["AppTransport", "AsgiApp"]

Message = MutableMapping[str, Any]
AsgiApp = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
"""An ASGI 3 application: called with scope, receive and send, once for each request."""

_BUFFER: Final = 65_536
"""Bytes that wait for the reader before the application's ``send`` does; uvicorn's high-water mark."""

_TURNS: Final = 32
"""Turns of the event loop that an application gets to end by itself once ``receive`` has told of the disconnect."""

_GRACE: Final = 5.0
"""Seconds that a cancelled application may take to clean up."""


class AppTransport(httpx.AsyncBaseTransport):
    """Answer httpx's requests by an ASGI application in this process; a response is readable while it is written.

    It is entered with ``async with``, which httpx does when the client is entered, and owns one task for each request:
    closing a response shows the application a disconnect, then cancels it, and returns once it is gone; leaving the
    transport does so for all. ``send`` waits while 64 KiB lie unread. There is no thread, no socket and no timer in
    this, so it goes together with ``FakeClock`` and ``settle``. Timeouts of httpx are not applied.

    A failure of the application arrives as ``httpx.RemoteProtocolError``, with the failure as its cause.

    Args:
        app: The application, such as ``ApiServer.app``. It gets ``http`` scopes only, no ``lifespan``.
        clock: Bounds the clean-up of a cancelled application, 5 seconds.
    """

    def __init__(self, app: AsgiApp, *, clock: Clock | None = None) -> None:
        self._app = app
        self._clock = clock or SystemClock()
        self._tasks: TaskGroup | None = None
        self._exchanges: set[_Exchange] = set()

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise RuntimeError("this AppTransport is open already: make one for each client")
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        tasks, self._tasks = self._tasks, None
        if tasks is None:
            return
        try:
            await self.aclose()
        finally:
            tasks.cancel_scope.cancel()
            if isinstance(exc_value, Exception):  # the group would wrap it; it goes on by itself
                exc_type = exc_value = traceback = None
            await tasks.__aexit__(exc_type, exc_value, traceback)

    async def aclose(self) -> None:
        """End all open exchanges; the transport itself closes when its ``async with`` block ends."""
        for exchange in list(self._exchanges):
            await exchange.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Start the application on ``request`` and return as soon as it has sent the head of its response.

        Raises:
            httpx.RemoteProtocolError: It failed, or ended, before that.
            RuntimeError: The transport is not open.
        """
        if self._tasks is None:
            raise RuntimeError("this AppTransport is not open: enter the client with 'async with'")
        body = await request.aread()
        exchange = _Exchange(request.method, body, self._clock)
        self._exchanges.add(exchange)
        self._tasks.start_soon(self._run, exchange, _scope(request))
        try:
            status, headers = await exchange.head()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx.Response(status, headers=headers, stream=exchange)

    async def _run(self, exchange: "_Exchange", scope: Message) -> None:
        try:
            await exchange.run(self._app, scope)
        finally:
            self._exchanges.discard(exchange)


class _Exchange(httpx.AsyncByteStream):
    """One request and its response: what lies between the application's task and the reader's.

    Either side changes the state and wakes the other by ``_changed``; both test the state in a loop.
    """

    def __init__(self, method: str, body: bytes, clock: Clock) -> None:
        self._has_body = method != "HEAD"
        self._clock = clock
        self._changed = anyio.Event()
        self._task = anyio.CancelScope()
        self._request: bytes | None = body  # None once the application has received it
        self._status: int | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: deque[bytes] = deque()
        self._unread = 0
        self._is_complete = False
        self._is_disconnected = False
        self._is_over = False
        self._failure: Exception | None = None

    async def run(self, app: AsgiApp, scope: Message) -> None:
        """Be the application's task."""
        try:
            with self._task:
                await app(scope, self._receive, self._send)
        except Exception as failure:  # noqa: BLE001 -- whatever the application raises is the answer to its caller
            self._failure = failure
        finally:
            self._is_over = True
            self._wake()

    async def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        while self._status is None:
            if self._is_over:
                await checkpoint_if_cancelled()  # what ended the application may be meant for us, too
                raise self._broken("the application ended without a response")
            await self._changed.wait()
        return self._status, self._headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._unread -= len(chunk)
                self._wake()
                yield chunk
            if self._is_complete:
                return
            if self._is_disconnected or self._is_over:
                await checkpoint_if_cancelled()
                raise self._broken("the response broke off before its end")
            await self._changed.wait()

    async def aclose(self) -> None:
        """Show the application a disconnect, let it end by itself, else cancel it; return once it is gone."""
        self._is_disconnected = True
        self._wake()
        with anyio.CancelScope(shield=True), self._clock.move_on_after(_GRACE):
            for _ in range(_TURNS):
                if self._is_over:
                    return
                await checkpoint()
            self._task.cancel()
            while not self._is_over:
                await self._changed.wait()

    async def _receive(self) -> Message:
        body, self._request = self._request, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        while not (self._is_disconnected or self._is_complete):
            await self._changed.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self._is_disconnected:
            return  # as uvicorn does: nobody listens any more
        if message["type"] == "http.response.start":
            if self._status is not None:
                raise RuntimeError("the application started its response twice")
            self._headers = list(message.get("headers", ()))
            self._status = message["status"]
        elif self._status is None or self._is_complete:
            raise RuntimeError(f"the application sent {message['type']!r} outside of a response")
        else:
            await self._put(message.get("body", b"") if self._has_body else b"")
            self._is_complete = not message.get("more_body", False)
        self._wake()

    async def _put(self, chunk: bytes) -> None:
        while chunk and self._unread >= _BUFFER and not self._is_disconnected:
            await self._changed.wait()
        if chunk:
            self._chunks.append(chunk)
            self._unread += len(chunk)

    def _broken(self, message: str) -> httpx.RemoteProtocolError:
        error = httpx.RemoteProtocolError(f"{message}: {self._failure!r}" if self._failure else message)
        error.__cause__ = self._failure
        return error

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _scope(request: httpx.Request) -> Message:
    """The ASGI scope of a request: https://asgi.readthedocs.io/en/latest/specs/www.html."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 0),
    }
