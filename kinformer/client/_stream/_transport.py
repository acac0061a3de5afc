"""StreamTransport: which requests go over our own connections, and the life of these."""

import ssl
from collections.abc import AsyncIterator, Callable
from typing import Final, Self

import anyio
import httpx

from kinformer.client._stream._connection import Connection
from kinformer.client._stream._dial import Dialer, Origin
from kinformer.client._stream._idle import IdleConnections
from kinformer.client._stream._question import encode_question
from kinformer.clock import Clock

__all__ = ["StreamTransport"]

_IDLE_CONNECTIONS: Final = 8
_IDLE_AGE: Final = 60.0
"""Seconds; a Go server hangs up on an idle connection after 90 (``apiserver``), some load balancers after 60."""

_DISTRUST: Final = 60.0
"""Seconds for which no connection is used twice, after a request that was made once more was not answered either."""

_CLOSE: Final = 5.0
"""Seconds for which sockets are waited for at the end; they take a turn of the loop."""


class StreamTransport(httpx.AsyncBaseTransport):
    """Answers each GET that has no body by a small HTTP/1.1 client of our own, and hands on everything else.

    Each answer has a connection for itself until it is closed. Then the connection waits for the next request, if the
    answer was read to its end, else it is closed at once. One that waited may have been closed by the server in the
    meantime: where nothing came back on it, the request, being a GET, is made once more on a new one. A server that
    answers neither gets new connections only for the next minute, so that its failures do not count double.

    Redirects, cookies, credentials and compression are httpx's. Timeouts are those of httpx too, ``connect`` for look-up,
    connection and handshake, ``read`` for silence between two bytes; they are measured by ``clock``.

    Args:
        tls: What ``https`` servers are judged by; with ``None``, requests to them are handed on.
        others: Takes all other requests; entered and closed together with this.
        clock: Measures timeouts and the age of idle connections.
    """

    def __init__(self, tls: ssl.SSLContext | None, *, others: httpx.AsyncBaseTransport, clock: Clock) -> None:
        self._others: Final = others
        self._clock: Final = clock
        self._schemes: Final = {"http"} if tls is None else {"http", "https"}
        self._dialer: Final = Dialer(tls, clock)
        self._idle: Final = IdleConnections[Origin, Connection](limit=_IDLE_CONNECTIONS, age=_IDLE_AGE)
        self._open: Final[set[Connection]] = set()
        self._has_lost = anyio.Event()
        self._distrusted_until = clock.monotonic()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self._others.__aenter__()
        return self

    async def aclose(self) -> None:
        """Close all connections; who still reads an answer gets ``httpx.ReadError``."""
        self._is_closed = True
        for connection in tuple(self._open):
            connection.abort("the client was closed")
        try:
            with self._clock.move_on_after(_CLOSE):
                while self._open:
                    await self._has_lost.wait()
        finally:
            await self._others.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request and return as soon as the head of its answer is there.

        Raises:
            httpx.ConnectError: The server cannot be reached, or is not who it must be.
            httpx.ConnectTimeout: Not in time.
            httpx.ReadTimeout: It was silent for too long.
            httpx.ReadError: The connection was lost.
            httpx.RemoteProtocolError: It ended too early, or what came is not HTTP/1.1.
            httpx.LocalProtocolError: The request cannot be written as HTTP/1.1.
        """
        if request.url.scheme not in self._schemes or not _is_bare_get(request):
            return await self._others.handle_async_request(request)
        try:
            question = encode_question(request.method.encode(), request.url.raw_path, request.headers.raw)
        except ValueError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        origin = _origin(request)
        timeouts = request.extensions.get("timeout", {})
        kept = self._take_kept(origin)
        if kept is not None:
            try:
                return await self._exchange(kept, question, origin, timeouts.get("read"))
            except (httpx.ReadError, httpx.RemoteProtocolError):
                if kept.has_begun or self._is_closed:
                    raise
        fresh = await self._dial(origin, timeouts.get("connect"))
        try:
            return await self._exchange(fresh, question, origin, timeouts.get("read"))
        except httpx.TransportError:
            if kept is not None:
                self._distrusted_until = self._clock.monotonic() + _DISTRUST
            raise

    def _take_kept(self, origin: Origin) -> Connection | None:
        now = self._clock.monotonic()
        kept, outdated = self._idle.take(origin, now)
        if kept is not None and now < self._distrusted_until:
            outdated.append(kept)
            kept = None
        for connection in outdated:
            connection.abort()
        return kept

    async def _dial(self, origin: Origin, limit: float | None) -> Connection:
        connection: Connection | None = None
        try:
            with self._clock.move_on_after(float("inf") if limit is None else limit):
                connection = await self._dialer.dial(origin)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error) or type(error).__name__) from error
        if connection is None:
            raise httpx.ConnectTimeout(f"no connection within {limit:g} s")
        self._open.add(connection)
        connection.call_when_lost(self._lost)
        if self._is_closed:
            connection.abort("the client was closed")
        return connection

    async def _exchange(
        self, connection: Connection, question: bytes, origin: Origin, idle: float | None
    ) -> httpx.Response:
        try:
            answer = await connection.ask(question, idle=idle)
        except BaseException:
            connection.abort()
            raise

        def finish() -> None:
            if connection.finish():
                for outdated in self._idle.put(origin, connection, self._clock.monotonic()):
                    outdated.abort()

        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(connection, idle, finish),
            extensions={"network_stream": connection},  # httpcore's name for what can be closed
        )

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._has_lost.set()
        self._has_lost = anyio.Event()


class _Body(httpx.AsyncByteStream):
    """The body of one answer. Closing it does not wait."""

    def __init__(self, connection: Connection, idle: float | None, finish: Callable[[], None]) -> None:
        self._connection = connection
        self._idle = idle
        self._finish: Callable[[], None] | None = finish

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._finish is None:
            raise httpx.StreamClosed
        if piece := await self._connection.read(idle=self._idle):
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()


def _is_bare_get(request: httpx.Request) -> bool:
    return request.method == "GET" and not request.headers.keys() & {
        "content-length",
        "transfer-encoding",
        "upgrade",
    }


def _origin(request: httpx.Request) -> Origin:
    url = request.url
    is_secure = url.scheme == "https"
    host = url.raw_host.decode("ascii")
    return Origin(is_secure, host, url.port or (443 if is_secure else 80))
