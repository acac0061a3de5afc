"""Connection: one question at a time, and its answer as it arrives."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, cast

import httpx

from kinformer.client._stream._answer import Answer
from kinformer.clock import Clock

__all__ = ["Connection"]

_READ: Final = 262_144
"""Bytes that one read may bring. Pages of it that no read has filled yet cost no memory."""

_HIGH: Final = 262_144
"""Unread bytes above which nothing more is read from the socket."""

_LOW: Final = 65_536
"""Unread bytes at which reading goes on."""


class _Failure(NamedTuple):
    """What ended a connection; each who hears of it gets an error of his own, since tracebacks grow."""

    error: Callable[[], httpx.TransportError]
    cause: Exception | None


class Connection(asyncio.BufferedProtocol):
    """A connection to a server, for one task at a time.

    Between two calls it holds at most 512 KiB of the body: what is above the high-water mark, plus one read. asyncio and
    the kernel hold their own, likewise bounded. All that closes it is synchronous, so that no cancellation can come
    in between. It is not closed politely: a server learns of the end from the socket.

    Failures are those of httpx, and final.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._buffer: Final = memoryview(bytearray(_READ))
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._is_paused = False
        self._is_aborted = False
        self._is_lost = False
        self._failure: _Failure | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._on_lost: Callable[[Connection], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a question may be asked, as far as is known; the server may have hung up a moment ago."""
        return self._transport is not None and not self._transport.is_closing() and self._failure is None

    @property
    def has_begun(self) -> bool:
        """Whether a byte has come back since the last question."""
        return self._answer is not None and self._answer.has_begun

    async def ask(self, question: bytes, *, idle: float | None) -> Answer:
        """Send a question and wait for the head of its answer.

        Args:
            question: A whole request.
            idle: Seconds without a byte after which to give up; ``None`` for never.

        Raises:
            httpx.TransportError: None came, or something that is none.
        """
        answer = self._answer = Answer()
        if self._transport is not None:
            self._transport.write(question)
        while not answer.has_head:
            if self._failure is not None:
                raise self._failure.error() from self._failure.cause
            await self._change(idle)
        return answer

    async def read(self, *, idle: float | None) -> bytes:
        """The next bytes of the body, as many as one read brought; ``b""`` at its end.

        Args:
            idle: Seconds without a byte after which to give up; ``None`` for never.

        Raises:
            httpx.TransportError: It broke off, or is malformed. All that came before has been read by then.
        """
        answer = self._answer
        if answer is None:
            raise httpx.StreamClosed
        while not self._pieces:
            if answer.is_whole:
                return b""
            if self._failure is not None:
                raise self._failure.error() from self._failure.cause
            await self._change(idle)
        piece = self._pieces.popleft()
        self._unread -= len(piece)
        if self._is_paused and self._unread <= _LOW:
            self._resume()
        return piece

    def finish(self) -> bool:
        """Be done with the answer, and say whether another question may be asked; if not, the connection is closed."""
        answer, self._answer = self._answer, None
        self._pieces.clear()
        self._unread = 0
        if answer is None or not (answer.is_whole and answer.may_stay and self.is_open):
            self.abort()
            return False
        if self._is_paused:
            self._resume()
        return True

    def abort(self, reason: str = "the connection was closed on this side") -> None:
        """Close the connection; who waits for an answer is told the reason. The socket is gone one turn later."""
        self._is_aborted = True
        self._fail(httpx.ReadError, reason)
        if self._transport is not None:
            self._transport.abort()

    async def aclose(self) -> None:
        """Close the connection, as ``abort`` does; for who finds it as the ``network_stream`` of an answer."""
        self.abort()

    def get_extra_info(self, info: str) -> object:
        """What asyncio's transport knows, such as its ``ssl_object``; for who finds it there too."""
        return None if self._transport is None else self._transport.get_extra_info(info)

    def call_when_lost(self, callback: "Callable[[Connection], None]") -> None:
        """Have ``callback(connection)`` called once the socket is closed, whoever closed it; at once, if it is."""
        if self._is_lost:
            callback(self)
        else:
            self._on_lost = callback

    def is_carried_by(self, transport: asyncio.Transport) -> None:
        """Go on over another transport, which encrypts."""
        self._transport = transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not derived from it
        if self._is_aborted:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 -- asyncio's
        """Called by asyncio: where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Called by asyncio: that many bytes have come."""
        answer = self._answer
        if answer is None:
            self.abort("the server spoke without being asked")
            return
        if piece := answer.feed(self._buffer[:nbytes]):
            self._pieces.append(piece)
            self._unread += len(piece)
            if self._unread > _HIGH and not self._is_paused:
                self._pause()
        if answer.failure:
            self._fail(httpx.RemoteProtocolError, answer.failure)
            self.abort()
        self._wake()

    def eof_received(self) -> None:
        """Called by asyncio, which then closes the connection."""
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio, the last call."""
        if exc is None:
            self._end()
        else:
            self._fail(httpx.ReadError, str(exc) or type(exc).__name__, exc)
        self._is_lost = True
        callback, self._on_lost = self._on_lost, None
        if callback is not None:
            callback(self)

    def _end(self) -> None:
        if self._answer is None:
            self._fail(httpx.ReadError, "the server closed the connection")
        else:
            self._answer.end()
            self._fail(httpx.RemoteProtocolError, self._answer.failure or "the server closed the connection")

    def _fail(self, kind: type[httpx.TransportError], reason: str, cause: Exception | None = None) -> None:
        if self._failure is None:  # what comes after the first is a consequence
            self._failure = _Failure(partial(kind, reason), cause)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _change(self, idle: float | None) -> None:
        if self._waiter is not None:
            raise RuntimeError("another task reads this answer already")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            if idle is None:
                await self._waiter
                return
            with self._clock.move_on_after(idle) as scope:
                await self._waiter
        finally:
            self._waiter = None
        if scope.cancelled_caught:
            raise httpx.ReadTimeout(f"nothing came for {idle:g} s")

    def _pause(self) -> None:
        self._is_paused = True
        if self._transport is not None:
            self._transport.pause_reading()

    def _resume(self) -> None:
        self._is_paused = False
        if self._transport is not None:
            self._transport.resume_reading()
