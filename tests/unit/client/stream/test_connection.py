"""A connection over a pair of sockets, of which the test holds the other end."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import httpx
import pytest

from kinformer.client._stream._connection import Connection
from kinformer.testing import FakeClock, settle

QUESTION = b"GET / HTTP/1.1\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
MiB = 1024 * 1024


class Wire:
    """A connection and its peer."""

    def __init__(self, connection: Connection, peer: socket.socket, clock: FakeClock) -> None:
        self.connection, self.peer, self.clock = connection, peer, clock
        self.lost: list[Connection] = []
        connection.call_when_lost(self.lost.append)

    async def asked(self, answer: bytes = HEAD) -> None:
        """Ask, and get this much of the answer."""
        self.peer.sendall(answer)
        await self.connection.ask(QUESTION, idle=None)

    async def send_what_goes(self, data: bytes) -> bytes:
        """Send until nobody takes any more, and give what is left."""
        left, refusals = memoryview(data), 0
        while left and refusals < 3:
            try:
                left = left[self.peer.send(left[:65_536]) :]
                refusals = 0
            except BlockingIOError:
                refusals += 1
                await settle()
        return bytes(left)

    def sees_the_end(self) -> bool:
        """Whether the peer has been hung up on, after all that was sent to it."""
        try:
            while self.peer.recv(65_536):
                pass
        except BlockingIOError:
            return False
        except ConnectionResetError:
            pass
        return True


@asynccontextmanager
async def wired() -> AsyncIterator[Wire]:
    clock, (ours, peer) = FakeClock(), socket.socketpair()
    peer.setblocking(False)
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(clock), sock=ours)
    with peer:
        yield Wire(connection, peer, clock)
        connection.abort()
        await settle()
    assert clock.next_timer is None


async def test_a_question_is_sent_and_its_answer_read_piece_by_piece() -> None:
    async with wired() as wire:
        await wire.asked(HEAD + b"3\r\nabc\r\n")
        assert wire.peer.recv(100) == QUESTION
        assert await wire.connection.read(idle=None) == b"abc"
        wire.peer.sendall(b"2\r\nde\r\n1\r\nf\r\n0\r\n\r\n")
        assert await wire.connection.read(idle=None) == b"def"
        assert await wire.connection.read(idle=None) == b""
        assert await wire.connection.read(idle=None) == b""


async def test_one_answer_after_the_other_comes_over_the_same_connection() -> None:
    async with wired() as wire:
        for body in (b"a", b"b"):
            await wire.asked(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + body)
            assert await wire.connection.read(idle=None) == body
            assert wire.connection.finish()
            assert wire.connection.is_open
        assert wire.lost == []


async def test_an_answer_of_which_the_rest_is_not_wanted_may_be_followed_by_another() -> None:
    async with wired() as wire:
        await wire.asked(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        assert wire.connection.finish()
        await wire.asked(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb")
        assert await wire.connection.read(idle=None) == b"b"


@pytest.mark.parametrize("rest", [b"", b"3\r\nab"], ids=["nothing yet", "half"])
async def test_an_answer_that_is_left_early_closes_the_connection(rest: bytes) -> None:
    async with wired() as wire:
        await wire.asked(HEAD + rest)
        assert not wire.connection.finish()
        assert not wire.connection.is_open
        await settle()
        assert wire.sees_the_end()
        assert wire.lost == [wire.connection]


@pytest.mark.parametrize("close", ["Connection: close\r\n", ""])
async def test_a_server_that_hangs_up_after_its_answer_is_not_asked_again(close: str) -> None:
    async with wired() as wire:
        wire.peer.sendall(f"HTTP/1.1 200 OK\r\n{close}Content-Length: 0\r\n\r\n".encode())
        if not close:
            wire.peer.shutdown(socket.SHUT_WR)
        await wire.connection.ask(QUESTION, idle=None)
        await settle()
        assert not wire.connection.finish()
        await settle()
        assert wire.lost == [wire.connection]


async def test_a_server_that_speaks_without_being_asked_is_hung_up_on() -> None:
    async with wired() as wire:
        await wire.asked(EMPTY)
        assert wire.connection.finish()
        wire.peer.sendall(EMPTY)
        await settle()
        assert not wire.connection.is_open
        assert wire.sees_the_end()
        with pytest.raises(httpx.ReadError, match="without being asked"):
            await wire.connection.ask(QUESTION, idle=None)


async def test_an_idle_connection_that_the_server_closes_is_no_longer_open() -> None:
    async with wired() as wire:
        await wire.asked(EMPTY)
        assert wire.connection.finish()
        wire.peer.shutdown(socket.SHUT_WR)
        await settle()
        assert not wire.connection.is_open
        assert wire.lost == [wire.connection]
        with pytest.raises(httpx.ReadError, match="the server closed the connection"):
            await wire.connection.ask(QUESTION, idle=None)
        assert not wire.connection.has_begun


async def test_who_asks_to_be_told_of_the_loss_too_late_is_told_at_once() -> None:
    async with wired() as wire:
        wire.connection.abort()
        await settle()
        wire.connection.call_when_lost(wire.lost.append)
        assert wire.lost == [wire.connection, wire.connection]


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (b"", httpx.RemoteProtocolError, "without an answer"),
        (b"HTTP/1.1 2", httpx.RemoteProtocolError, "in the middle"),
        (b"garbage", httpx.RemoteProtocolError, "no HTTP answer: Expected HTTP/"),
    ],
)
async def test_what_is_no_answer_raises_from_asking(
    answer: bytes, kind: type[httpx.TransportError], reason: str
) -> None:
    async with wired() as wire:
        if answer:
            wire.peer.sendall(answer)
        wire.peer.shutdown(socket.SHUT_WR)
        with pytest.raises(kind, match=reason):
            await wire.connection.ask(QUESTION, idle=None)
        assert wire.connection.has_begun == bool(answer)
        assert not wire.connection.is_open


async def test_what_breaks_off_raises_after_all_that_came_before() -> None:
    async with wired() as wire:
        await wire.asked(HEAD + b"3\r\nabc\r\n3\r\nde")
        wire.peer.shutdown(socket.SHUT_WR)
        await settle()
        assert await wire.connection.read(idle=None) == b"abcde"
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError, match="in the middle"):
                await wire.connection.read(idle=None)


async def test_what_turns_to_garbage_raises_after_all_that_came_before_and_closes_the_connection() -> None:
    async with wired() as wire:
        await wire.asked(HEAD + b"3\r\nabc\r\nxyz")
        assert await wire.connection.read(idle=None) == b"abc"
        with pytest.raises(httpx.RemoteProtocolError, match="Invalid character in chunk size"):
            await wire.connection.read(idle=None)
        await settle()
        assert wire.sees_the_end()


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with wired() as wire:
        await wire.asked(b"HTTP/1.1 200 OK\r\n\r\nab")
        wire.peer.sendall(b"c")
        wire.peer.shutdown(socket.SHUT_WR)
        pieces = [await wire.connection.read(idle=None) for _ in range(2)]
        assert b"".join(pieces) in {b"abc", b"ab"}
        while piece := await wire.connection.read(idle=None):
            pieces.append(piece)
        assert b"".join(pieces) == b"abc"
        assert not wire.connection.finish()


async def test_silence_is_given_up_on_after_its_time_whether_for_the_head_or_in_the_body() -> None:
    async with wired() as wire:
        raised: list[tuple[str, float]] = []

        async def ask() -> None:
            for wait in (wire.connection.ask(QUESTION, idle=5.0), wire.connection.read(idle=7.0)):
                try:
                    await wait
                except httpx.ReadTimeout as error:
                    raised.append((str(error), wire.clock.monotonic()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await wire.clock.advance(20.0)
        assert raised == [("nothing came for 5 s", 5.0), ("nothing came for 7 s", 12.0)]


async def test_each_byte_ends_the_silence() -> None:
    async with wired() as wire:
        await wire.asked()
        pieces: list[bytes] = []

        async def read() -> None:
            while piece := await wire.connection.read(idle=5.0):
                pieces.append(piece)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            for _ in range(3):
                await wire.clock.advance(4.0)
                wire.peer.sendall(b"1\r\na\r\n")
                await settle()
            wire.peer.sendall(b"0\r\n\r\n")
        assert pieces == [b"a", b"a", b"a"]


async def test_a_slow_reader_bounds_what_is_held_and_gets_it_all() -> None:
    async with wired() as wire:
        await wire.asked(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (8 * MiB))
        left = await wire.send_what_goes(bytes(8 * MiB))
        assert len(left) > 6 * MiB, "what the kernel holds, and what the connection does"
        read = 0
        while piece := await wire.connection.read(idle=None):
            read += len(piece)
            assert len(piece) <= 262_144
            left = await wire.send_what_goes(left)
        assert read == 8 * MiB
        assert wire.connection.finish()


async def test_a_connection_that_was_left_unread_reads_on_for_the_next_answer() -> None:
    async with wired() as wire:
        await wire.asked(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
        assert await wire.send_what_goes(bytes(300_000)) == b""
        await settle()
        assert wire.connection.finish()
        await wire.asked(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        assert await wire.connection.read(idle=None) == b"a"


async def test_aborting_tells_who_waits_and_closes() -> None:
    async with wired() as wire:
        await wire.asked()
        raised: list[str] = []

        async def read() -> None:
            with pytest.raises(httpx.ReadError) as caught:
                await wire.connection.read(idle=None)
            raised.append(str(caught.value))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await settle()
            wire.connection.abort("enough")
        assert raised == ["enough"]
        assert wire.sees_the_end()
        await wire.connection.aclose()


async def test_two_readers_at_once_are_a_mistake() -> None:
    async with wired() as wire:
        await wire.asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(wire.connection.read, idle=None))
            await settle()
            with pytest.raises(RuntimeError, match="another task"):
                await wire.connection.read(idle=None)
            tasks.cancel_scope.cancel()


async def test_a_cancelled_reader_loses_nothing() -> None:
    async with wired() as wire:
        await wire.asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(wire.connection.read, idle=None))
            await settle()
            wire.peer.sendall(b"1\r\na\r\n")
            tasks.cancel_scope.cancel()
        await settle()
        wire.peer.sendall(b"1\r\nb\r\n0\r\n\r\n")
        await settle()
        read = b""
        while piece := await wire.connection.read(idle=None):
            read += piece
        assert read == b"ab"


async def test_reading_without_having_asked_is_a_closed_stream() -> None:
    async with wired() as wire:
        with pytest.raises(httpx.StreamClosed):
            await wire.connection.read(idle=None)


async def test_a_connection_that_is_given_up_while_it_is_made_closes_once_it_is() -> None:
    ours, peer = socket.socketpair()
    with peer:
        connection = Connection(FakeClock())
        connection.abort()
        await asyncio.get_running_loop().create_connection(lambda: connection, sock=ours)
        await settle()
        assert peer.recv(1) == b""
        assert not connection.is_open
