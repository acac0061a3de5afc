"""MemoryKV: the storage in memory, a thin shell around ``Mvcc`` and ``Watchers``."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Final

from kinformer.apiserver.storage._errors import CompactedError, StaleError
from kinformer.apiserver.storage._execution import execute
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._memory_watches import MemoryStream, MemoryWatch, Waker
from kinformer.apiserver.storage._mvcc import Change, Mvcc
from kinformer.apiserver.storage._timetable import Timetable
from kinformer.apiserver.storage._transactions import ReadResult, Transaction, TransactionResult
from kinformer.apiserver.storage._watch_messages import WatchRequest
from kinformer.apiserver.storage._watcher_stream import WatcherStream
from kinformer.apiserver.storage._watchers import Watchers
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock

__all__ = ["MemoryKV"]

_RESPONSES: Final = 128
_RESPONSE_BYTES: Final = 1_572_864


class MemoryKV:
    """A ``KV`` that lives as long as the process.

    Every method decides and acts without a pause in between: there is no await in any of them. The numbers are etcd's,
    and so is what becomes of a watch whose client is slow: its stream fills, it keeps one more batch, and then it has
    to catch up from the history. Nobody else notices.

    Args:
        history: How many of the last revisions can be read and watched at least, with what was there before each;
            older ones are compacted away as new ones come. A watch that falls further behind is over.
        first: The revision to begin with. Whoever comes with one from before is told that it is compacted away; so take
            one that no storage whose clients may come here has reached.
        resync_period: Seconds between the passes in which watches catch up; etcd takes 0.1. With 0 they do it as soon as
            there is room in their stream.
        progress_period: Seconds after which a quiet watch that asked for it is told how far it has come, and up to a
            tenth more.
        queue: How many responses a stream holds for its client.
        response_bytes: From which size on a response is cut, for watches that agree to it.
        clock: What the periods are measured on.
        random: Spreads the progress periods.
    """

    def __init__(
        self,
        *,
        history: int = 10_000,
        first: int = 1,
        resync_period: float = 0.0,
        progress_period: float = 600.0,
        queue: int = _RESPONSES,
        response_bytes: int = _RESPONSE_BYTES,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        if history < 1:
            raise ValueError(f"history {history} must be at least 1: a watch could never keep up")
        if queue < 1:
            raise ValueError(f"queue {queue} must be at least 1: nothing could ever be told")
        self._history = history
        self._queue = queue
        self._response_bytes = response_bytes
        self._core = Mvcc(first=first)
        self._watchers = Watchers(self._core, is_eager=not resync_period)
        self._timetable = Timetable(
            self._watchers,
            clock or SystemClock(),
            random or Random(),  # noqa: S311 -- nothing secret is drawn from it
            resync_period=resync_period,
            progress_period=progress_period,
        )

    @property
    def watches(self) -> int:
        """How many watches are open that can still be told something."""
        return len(self._watchers)

    async def revision(self) -> int:
        """The revision of the last change."""
        return self._core.revision

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """Read one key; see ``KV.get``."""
        return self._core.get(key, revision)

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        """Read the keys of a range; see ``KV.range``."""
        return self._core.range(keys, revision=revision, limit=limit, count_only=count_only)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        """Write a key; see ``KV.put``."""
        self._expect(key, expected)
        change = self._core.put(key, value)
        self._commit()
        assert change.current is not None  # noqa: S101 -- a put always leaves a value
        return change.current

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        """Remove a key; see ``KV.delete``."""
        self._expect(key, expected)
        changes = self._core.delete(KeyRange.key(key))
        self._commit()
        return changes[0] if changes else None

    async def transact(self, transaction: Transaction) -> TransactionResult:
        """Do several things as one revision; see ``KV.transact``."""
        result = execute(self._core, transaction)
        self._commit()
        return result

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[MemoryWatch]:
        """Follow the changes of a range; see ``KV.watch``."""
        if keys.is_empty:
            raise ValueError(f"keys {keys} hold none: nothing could ever be told")
        if from_revision < self._core.compacted:
            raise CompactedError(from_revision, self._core.compacted)
        with self._open() as (stream, waker):
            stream.create(WatchRequest(keys, from_revision, prev_kv=True))
            yield MemoryWatch(self._core, stream, waker)

    @asynccontextmanager
    async def watch_stream(self) -> AsyncIterator[MemoryStream]:
        """Open a stream for watches; see ``KV.watch_stream``."""
        with self._open() as (stream, waker), self._timetable.reports(stream):
            yield MemoryStream(stream, waker)

    async def tells_progress(self) -> bool:
        """See ``KV.tells_progress``; it does."""
        return True

    async def compact(self, revision: int) -> None:
        """Forget what is older than a revision; see ``KV.compact``."""
        self._core.compact(revision)

    @contextmanager
    def _open(self) -> Iterator[tuple[WatcherStream, Waker]]:
        waker = Waker()
        stream = self._watchers.open(waker.wake, capacity=self._queue, most_bytes=self._response_bytes)
        try:
            yield stream, waker
        finally:
            stream.close()

    def _expect(self, key: str, expected: int | None) -> None:
        if expected is not None:
            current = self._core.get(key)
            if expected != (current.mod_revision if current else 0):
                raise StaleError(key, expected, current)

    def _commit(self) -> None:
        if changes := self._core.commit():
            self._watchers.notify(changes)
            if len(self._core) > self._history + self._history // 10 + 1:
                self._core.compact(self._core.revision - self._history)
