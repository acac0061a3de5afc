"""FaultProxy: stands on loopback between a client and a server, and breaks what passes when it is told to.

It knows as much HTTP as it takes to tell requests apart: each is a GET without a body, and on a connection the next one
comes when the last is answered. Faults are counted in bytes of the answer, its head included.
"""

import asyncio
import socket
import struct
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

_RESETS: Final = struct.pack("ii", 1, 0)
"""``SO_LINGER``: closing sends a RST and forgets what was not sent yet."""

_END_OF_HEAD: Final = b"\r\n\r\n"


class Phase(StrEnum):
    """What a request is for."""

    LIST = "LIST"
    PAGE = "PAGE"
    """A later page of a LIST."""
    STREAM = "STREAM"
    """A watch-list."""
    WATCH = "WATCH"


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection in good order after so many bytes."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection after so many bytes."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Freeze:
    """Swallow everything after so many bytes and tell nobody: the connection is only half there."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Insert:
    """Put a line before the first one of a stream."""

    line: bytes


@dataclass(frozen=True, slots=True)
class Garble:
    """Let a byte that no JSON text may hold take the place of the one after so many bytes."""

    after: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer in the server's place, which never hears of it."""

    code: int
    body: bytes = b""
    headers: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The answer on the wire."""
        lines = [f"HTTP/1.1 {self.code} Told", f"Content-Length: {len(self.body)}", *self.headers]
        return "\r\n".join(lines).encode() + _END_OF_HEAD + self.body


Break: TypeAlias = Cut | Reset | Freeze
Fault: TypeAlias = Break | Insert | Garble | Answer


class FaultProxy:
    """A port on loopback that leads to a server while ``running`` is entered, and refuses connections otherwise."""

    def __init__(self) -> None:
        self.upstream = 0
        self.exchanges: list[Exchange] = []
        self.moves = 0
        """Grows with everything that passes, so that one can see whether anything does."""
        self.has_small_pages = False
        """Whether a LIST in pages of 500 is passed on as one in pages of 2, as if there were hundreds of objects."""
        self._planned: defaultdict[Phase, deque[Fault]] = defaultdict(deque)
        self._lasting: dict[Phase, Fault] = {}
        self._listener = _bound(0)
        self._port: Final = int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self._port}"

    def plan(self, phase: Phase, *faults: Fault) -> None:
        """Let the next requests of this phase fail so, one each."""
        self._planned[phase].extend(faults)

    def always(self, phase: Phase, fault: Fault) -> None:
        """Let all requests of this phase fail so, where nothing else is planned."""
        self._lasting[phase] = fault

    def begin(self, head: bytes, relay: "_Relay") -> "Exchange":
        """Note a request."""
        target = head.split(b" ", 2)[1].decode()
        phase = _phase_of(target)
        planned = self._planned[phase]
        exchange = Exchange(target, phase, relay)
        exchange.fault = planned.popleft() if planned else self._lasting.get(phase)
        self.exchanges.append(exchange)
        return exchange

    @asynccontextmanager
    async def running(self, upstream: int) -> AsyncIterator[None]:
        """Relay to this port until the block ends, which closes all connections."""
        self.upstream = upstream
        self._listener.listen()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._accept, tasks)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._listener.close()
        self._listener = _bound(self._port)

    def close(self) -> None:
        """Give the port back."""
        self._listener.close()

    async def _accept(self, tasks: TaskGroup) -> None:
        while True:
            client, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            self.moves += 1
            tasks.start_soon(_Relay(self, client).run)


class Exchange:
    """A request and what has got through of its answer."""

    def __init__(self, target: str, phase: Phase, relay: "_Relay") -> None:
        self.target: Final = target
        self.phase: Final = phase
        self.fault: Fault | None = None
        """What is to happen, or has happened."""
        self.passed = bytearray()
        self._begins_at = 0
        self._relay = relay

    def strike(self, fault: Break | Garble) -> None:
        """Let something happen to an answer that is under way; ``after`` counts from here."""
        self.fault, self._begins_at = fault, len(self.passed)
        self.strike_if_due()

    def insert(self, line: bytes) -> None:
        """Put a line into a stream in which nothing is under way right now."""
        self._relay.send(_chunk(line))

    def strike_if_due(self) -> bool:
        """Let the fault happen now if its bytes have passed; gives whether it has happened."""
        if not isinstance(self.fault, Break) or len(self.passed) < self._begins_at + self.fault.after:
            return False
        if not isinstance(self.fault, Freeze):
            self._relay.end(resets=isinstance(self.fault, Reset))
        return True

    def admit(self, data: bytes) -> bytes:
        """What gets through of more of the answer."""
        if isinstance(self.fault, Insert):
            head, end, body = data.partition(_END_OF_HEAD)  # a server sends its head in one piece
            assert end
            data = head + end + _chunk(self.fault.line) + body
            self.fault = None
        if isinstance(self.fault, Break):
            data = data[: max(0, self._begins_at + self.fault.after - len(self.passed))]
        if isinstance(self.fault, Garble):
            at = self._begins_at + self.fault.after - len(self.passed)
            if 0 <= at < len(data):
                data = data[:at] + b"\x01" + data[at + 1 :]
        self.passed += data
        return data


class _Relay:
    """A connection of a client, and the one to the server that belongs to it."""

    def __init__(self, proxy: FaultProxy, client: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = _socket()
        self._exchange: Exchange | None = None
        self._loop = asyncio.get_running_loop()
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Relay until one side closes, or a fault does."""
        self._client.setblocking(False)
        with self._client, self._server, suppress(OSError), self._scope:
            await self._loop.sock_connect(self._server, ("127.0.0.1", self._proxy.upstream))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._forth)
                tasks.start_soon(self._back)
        self._proxy.moves += 1

    def send(self, data: bytes) -> None:
        """Send a little to the client, past everything."""
        assert self._client.send(data) == len(data)

    def end(self, *, resets: bool) -> None:
        """Close both connections, that of the client perhaps by a reset."""
        if resets:
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
        self._scope.cancel()

    async def _forth(self) -> None:
        """From the client to the server."""
        with suppress(OSError):
            while head := await self._loop.sock_recv(self._client, 65_536):
                self._proxy.moves += 1
                exchange = self._exchange = self._proxy.begin(head, self)
                if isinstance(exchange.fault, Answer):
                    await self._loop.sock_sendall(self._client, exchange.fault.to_bytes())
                elif not exchange.strike_if_due():
                    small = head.replace(b"limit=500", b"limit=2") if self._proxy.has_small_pages else head
                    await self._loop.sock_sendall(self._server, small)
        self._scope.cancel()

    async def _back(self) -> None:
        """From the server to the client."""
        with suppress(OSError):
            while data := await self._loop.sock_recv(self._server, 65_536):
                self._proxy.moves += 1
                assert self._exchange is not None
                if admitted := self._exchange.admit(data):
                    await self._loop.sock_sendall(self._client, admitted)
                self._exchange.strike_if_due()
        if self._exchange is None or not isinstance(self._exchange.fault, Freeze):
            self._scope.cancel()


def _phase_of(target: str) -> Phase:
    if "watch=true" in target:
        return Phase.STREAM if "sendInitialEvents=true" in target else Phase.WATCH
    return Phase.PAGE if "continue=" in target else Phase.LIST


def _chunk(line: bytes) -> bytes:
    return b"%x\r\n%s\n\r\n" % (len(line) + 1, line)


def _bound(port: int) -> socket.socket:
    made = _socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


def _socket() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited by what a listener accepts
    return made
