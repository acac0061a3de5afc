"""EtcdWatch: one watch of a real etcd, which outlives its connections."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from kinformer.apiserver.storage._contracts import Batch
from kinformer.apiserver.storage._errors import CompactedError, UnavailableError
from kinformer.apiserver.storage._keys import KeyRange
from kinformer.apiserver.storage._mvcc import Change
from kinformer.apiserver.storage._watch_messages import WatchRequest, WatchResponse, unpack
from kinformer.apiserver.storage.etcd._calls import Calls
from kinformer.apiserver.storage.etcd._stream import EtcdStream, open_stream
from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["EtcdWatch", "open_watch", "tells_progress"]

_log = logging.getLogger("kinformer.apiserver")

_PROGRESS_PERIOD: Final = 0.1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_TELLS_PROGRESS: Final = {(3, 4): 31, (3, 5): 13}
"""The first patch of a line whose progress neither overtakes events nor fails to come, as kube-apiserver counts."""


class _Server(Protocol):
    """The part of an ``EtcdKV`` that a watch asks."""

    async def version(self) -> str:
        """Its version."""

    async def revision(self) -> int:
        """The revision of the last change."""


class EtcdWatch:
    """A ``Watch`` of an etcd; made by ``open_watch``.

    When the connection is cut it is opened again where it was, after pauses of 0.1 to 2 seconds.

    Progress that was asked for always comes: by the word of etcd itself; without it where no change of the watch can
    have happened yet; and where etcd is too old to be believed, it is no more than what the last event said.

    Invariant: everything before ``_next`` has been handed over; ``_told`` never goes back.
    """

    def __init__(
        self,
        server: _Server,
        calls: Calls,
        keys: KeyRange,
        from_revision: int,
        batches: MemoryObjectSendStream[Batch | CompactedError],
        received: MemoryObjectReceiveStream[Batch | CompactedError],
        clock: Clock,
    ) -> None:
        self._server = server
        self._calls = calls
        self._keys = keys
        self._next = from_revision
        self._told = 0
        self._batches = batches
        self._received = received
        self._clock = clock
        self._stream: EtcdStream | None = None
        self._pieces: list[Change] = []
        self._asked = anyio.Event()
        self._lost: CompactedError | None = None

    def __aiter__(self) -> "EtcdWatch":
        return self

    async def __anext__(self) -> Batch:
        """Wait for changes, or for progress where it was asked for."""
        if self._lost is None:
            batch = await self._received.receive()
            if isinstance(batch, Batch):
                return batch
            self._lost = batch
        raise CompactedError(self._lost.revision, self._lost.compacted)

    def request_progress(self) -> None:
        """Ask for a batch as soon as everything so far has been delivered."""
        self._asked.set()

    async def follow(self) -> None:
        """Read, and begin again where the connection was cut, until what comes next is lost."""
        pause, is_cut = _FIRST_PAUSE, False
        while True:
            try:
                async with open_stream(self._calls) as self._stream:
                    self._pieces = []
                    request = WatchRequest(self._keys, self._next, prev_kv=True, fragment=True)
                    self._stream.create(request)
                    async for response in self._stream:
                        if is_cut:
                            _log.info("a watch of %s goes on at revision %d", self._keys, self._next)
                        pause, is_cut = _FIRST_PAUSE, False
                        if not await self._hear(response):
                            return
            except UnavailableError as error:
                if not is_cut:  # a line for each outage, not for each attempt
                    _log.info("a watch of %s was cut at revision %d: %s", self._keys, self._next, error)
                is_cut = True
            self._stream = None
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def answer(self) -> None:
        """Answer requests for progress."""
        while True:
            await self._asked.wait()
            try:
                now = await self._server.revision()
                can_ask = tells_progress(await self._server.version())
            except UnavailableError:
                await self._clock.sleep(_PROGRESS_PERIOD)
                continue
            if now < self._next:  # none of its changes can have happened
                await self._tell([], now)
            elif not can_ask and self._next:
                await self._tell([], self._next - 1)
            elif self._stream is not None and self._next:
                self._stream.request_progress()
            if self._asked.is_set():  # the request may get lost, where it meets a change
                await self._clock.sleep(_PROGRESS_PERIOD)

    async def _hear(self, response: WatchResponse) -> bool:
        """Hand on what a response brings; whether more can follow.

        Raises:
            UnavailableError: The watch was refused, perhaps since its user has to log in again.
        """
        if response.canceled and not response.compact_revision:
            raise self._calls.failure(response.cancel_reason or "it ended the watch")
        if response.created and not self._next:
            self._next = response.revision + 1
        if response.is_progress:
            self._next = max(self._next, response.revision + 1)
            await self._tell([], response.revision)
            return True
        lost = unpack(response, self._pieces)
        if self._pieces and (lost or not response.fragment):
            changes, self._pieces = self._pieces, []
            self._next = changes[-1].revision + 1
            await self._tell(changes, changes[-1].revision)
        if lost is not None:
            await self._batches.send(lost)
        return lost is None

    async def _tell(self, changes: list[Change], revision: int) -> None:
        if not changes:
            self._asked = anyio.Event()
        self._told = max(self._told, revision)
        await self._batches.send(Batch(changes, self._told))


@asynccontextmanager
async def open_watch(
    server: _Server, calls: Calls, keys: KeyRange, from_revision: int, *, clock: Clock
) -> AsyncIterator[EtcdWatch]:
    """Open a watch, which two tasks keep until the block ends."""
    if keys.is_empty:
        raise ValueError(f"keys {keys} hold none: nothing could ever be told")
    batches, received = anyio.create_memory_object_stream[Batch | CompactedError](1)
    with batches, received:
        async with open_task_group() as tasks:
            watch = EtcdWatch(server, calls, keys, from_revision, batches, received, clock)
            tasks.start_soon(watch.follow)
            tasks.start_soon(watch.answer)
            yield watch
            tasks.cancel_scope.cancel()


def tells_progress(version: str) -> bool:
    """Whether an etcd of this version tells how far a watch has come, in order and always."""
    numbers = [int(part) for part in version.partition("-")[0].split(".") if part.isdigit()]
    line = tuple(numbers[:2])
    first = _TELLS_PROGRESS.get((line[0], line[1])) if len(line) == 2 else None
    return line > (3, 5) if first is None else numbers[2:] >= [first]
