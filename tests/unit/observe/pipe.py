"""Pipe: one end of a connection in memory, which a server talks on, and a test at its other end."""

import errno
from collections import deque
from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import ByteStream, Listener, SocketStream, TaskGroup
from anyio.lowlevel import checkpoint


class Pipe(ByteStream):
    """What a test says is received; what is sent can be read by the test.

    ``is_stuck`` is a client that reads nothing, ``is_gone`` one that has hung up; with ``yields`` each call waits for a turn.
    """

    def __init__(
        self, *said: bytes, is_stuck: bool = False, is_gone: bool = False, yields: bool = False
    ) -> None:
        self.sent = b""
        self.is_closed = False
        self.is_gone = is_gone
        self._is_stuck = is_stuck
        self._yields = yields
        self._said = deque(said)
        self._woken = anyio.Event()

    def say(self, data: bytes) -> None:
        self._said.append(data)
        self._woken.set()

    def hang_up(self) -> None:
        self.is_gone = True
        self._woken.set()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while not self._said:
            if self.is_gone:
                raise anyio.EndOfStream
            self._woken = anyio.Event()
            await self._woken.wait()
        data = self._said.popleft()
        if len(data) > max_bytes:
            self._said.appendleft(data[max_bytes:])
        return data[:max_bytes]

    async def send(self, item: bytes) -> None:
        if self._is_stuck:
            await anyio.sleep_forever()
        if self._yields:
            await checkpoint()
        if self.is_gone:
            raise anyio.BrokenResourceError
        self.sent += item

    async def send_eof(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        self.is_closed = True
        if self._yields:
            await checkpoint()


class Refusing(Listener[SocketStream]):
    """A listener without a file descriptor to spare."""

    def __init__(self) -> None:
        self.tries = 0

    async def serve(
        self, handler: Callable[[SocketStream], Any], task_group: TaskGroup | None = None
    ) -> None:
        self.tries += 1
        raise OSError(errno.EMFILE, "Too many open files")

    async def aclose(self) -> None:
        raise NotImplementedError
