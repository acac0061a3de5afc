"""HttpServer: answers GET and HEAD on one address, for probes, scrapers and browsers."""

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, NamedTuple, Self

import anyio
from anyio.abc import ByteStream, Listener, SocketAttribute, SocketStream, TaskGroup, TaskStatus

from kinformer.clock import Clock
from kinformer.observe._answers import FAILURE, Answer, Routes, answer_to, encoded
from kinformer.observe._questions import Question, Questions

__all__ = ["Address", "HttpServer", "ListenError"]

logger = logging.getLogger("kinformer.observe")

_READ: Final = 4096
"""Bytes of one read."""

_IDLE: Final = 75.0
"""Seconds that a connection stays open without a question."""

_HASTE: Final = 10.0
"""Seconds in which a question that has begun must be whole, and an answer taken."""

_MOST: Final = 64
"""Connections at a time. One beyond takes the place of that which has said nothing for longest."""

_BACKLOG: Final = 64
"""Connections that may wait to be accepted."""

_PAUSE: Final = 1.0
"""Seconds to wait where no connection can be accepted, as when there are no file descriptors left."""

_REFUSAL: Final = Answer("", status=HTTPStatus.BAD_REQUEST)


class Address(NamedTuple):
    """Where to listen.

    Attributes:
        host: A name, or an IP address without brackets; ``""`` is each interface.
        port: 0 takes a free one.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``"host:port"``, ``"[::1]:8080"`` or ``":8080"``.

        Raises:
            TypeError: It is no text.
            ValueError: It is none of these.
        """
        if not isinstance(text, str):
            raise TypeError(f"address={text!r} must be a text such as ':8080' or '127.0.0.1:8080'")
        host, colon, port = text.rpartition(":")
        is_bracketed = host.startswith("[") and host.endswith("]")
        if not colon or (":" in host and not is_bracketed):
            raise ValueError(
                f"address={text!r} must be 'host:port', '[::1]:port', or ':port' for each interface"
            )
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise ValueError(f"address={text!r} has the port {port!r}: it must be a number from 0 to 65535")
        return cls(host[1:-1] if is_bracketed else host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ListenError(OSError):
    """An address is in use, or cannot be listened on. ``errno`` is the system's, ``strerror`` says what to do."""


class HttpServer:
    """Answers what is asked for by GET and HEAD at some paths, until closed. HTTP/1.1, without TLS.

    Nothing that a client does, or leaves undone, holds it up for long: what comes is bounded in size and time, and
    ``close`` does not wait for connections. An answer is made in one go and small, so there is nothing to wait for.
    Connections that stay open without a question keep nobody out, or a probe would fail by them.

    Args:
        address: Where to listen.
        routes: What is said at each path.
        clock: Measures how long clients take.
    """

    name: Final = "HTTP server"

    def __init__(self, address: Address, routes: Routes, *, clock: Clock) -> None:
        self._address = address
        self._routes = routes
        self._clock = clock
        self._threads = anyio.CapacityLimiter(1)  # not of those that reconcilers may all be using
        self._connections = 0
        self._quiet: dict[anyio.CancelScope, None] = {}  # who has no whole question there, the longest first
        self._scope: anyio.CancelScope | None = None
        self.url = ""
        """Where it is reached, without a slash at its end; ``""`` while it does not listen."""

    def close(self) -> None:
        """Let ``run`` return at once."""
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until closed; ``started()`` once it listens. It may run again.

        Raises:
            ListenError: The address is in use, or cannot be listened on.
        """
        with anyio.CancelScope() as self._scope:
            listeners = await self._listen()
            sockets = [listener.extra(SocketAttribute.raw_socket) for listener in listeners]  # noqa: S610 -- no Django
            try:
                self.url = self._url(sockets[0].getsockname()[1])
                logger.info("serving %s at %s", ", ".join(self._routes), self.url)
                async with anyio.create_task_group() as tasks:
                    for listener in listeners:
                        tasks.start_soon(self._accept, listener, tasks)
                    task_status.started()
            finally:
                self.url = ""
                for socket in sockets:  # without an await, which could leave one open
                    socket.close()

    def _url(self, port: int) -> str:
        return f"http://{Address(self._address.host or 'localhost', port)}"

    async def _listen(self) -> Sequence[Listener[SocketStream]]:
        host, port = self._address
        try:
            listener = await anyio.create_tcp_listener(
                local_host=host or None, local_port=port, backlog=_BACKLOG
            )
        except OSError as error:
            reason = error.strerror or error
            raise ListenError(
                error.errno,
                f"cannot listen on address={str(self._address)!r}: {reason}; "
                "choose another host or port, or port 0 for a free one",
            ) from error
        return listener.listeners

    async def _accept(self, listener: Listener[SocketStream], tasks: TaskGroup) -> None:
        while True:
            try:
                await listener.serve(self.converse, tasks)
            except OSError as error:
                logger.warning("no connection can be accepted: %s", error)
                await self._clock.sleep(_PAUSE)

    async def converse(self, stream: ByteStream) -> None:
        """Answer what comes on one connection, then close it."""
        self._connections += 1
        scope = anyio.CancelScope()
        try:
            if self._has_room():
                with scope:
                    await self._answer_all(stream, Questions(), scope)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # it has gone away
        finally:
            self._connections -= 1
            self._quiet.pop(scope, None)
            await anyio.aclose_forcefully(stream)

    def _has_room(self) -> bool:
        """Whether another connection may stay; perhaps since one that asks nothing has to go."""
        if self._connections <= _MOST:
            return True
        longest = next(iter(self._quiet), None)
        if longest is None:
            return False
        del self._quiet[longest]
        longest.cancel()
        return True

    async def _answer_all(self, stream: ByteStream, questions: Questions, scope: anyio.CancelScope) -> None:
        deadline = self._clock.monotonic() + _IDLE
        self._quiet[scope] = None
        while not questions.is_over:
            was_midway = questions.is_midway
            with self._clock.move_on_after(deadline - self._clock.monotonic()) as patience:
                asked = questions.feed(await stream.receive(_READ))
            if patience.cancelled_caught:
                return
            if asked:
                self._quiet.pop(scope, None)
            with self._clock.move_on_after(_HASTE) as patience:
                for question in asked:
                    await self._say(stream, question)
                if questions.failure:
                    await stream.send(encoded(_REFUSAL, _refused(questions.failure), may_stay=False))
            if patience.cancelled_caught:
                return
            if asked:
                self._quiet[scope] = None
            if asked or was_midway is not questions.is_midway:  # and not for each byte of a slow question
                deadline = self._clock.monotonic() + (_HASTE if questions.is_midway else _IDLE)

    async def _say(self, stream: ByteStream, question: Question) -> None:
        answer = answer_to(question, self._routes)
        body = answer.body
        if callable(body):
            try:
                body = await anyio.to_thread.run_sync(body, abandon_on_cancel=True, limiter=self._threads)
            except Exception:  # it may ask collectors of the program
                logger.exception("%s cannot be answered", question.path)
                body, answer = FAILURE, Answer(FAILURE, status=HTTPStatus.INTERNAL_SERVER_ERROR)
        is_head = question.method == "HEAD"
        await stream.send(encoded(answer, body, may_stay=question.may_stay, is_head=is_head))


def _refused(failure: str) -> str:
    return f"this is no request: {failure}\n"
