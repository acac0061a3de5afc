"""MemoryKV: the storage in memory, a thin shell around ``Mvcc``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from kinformer.apiserver.storage._contracts import Batch, Change, CompactedError, KeyValue, RangeResult
from kinformer.apiserver.storage._mvcc import Mvcc

__all__ = ["MemoryKV"]

_BATCH: Final = 1000
"""How many changes a watch hands out at once."""


class MemoryKV:
    """A ``KV`` that lives as long as the process.

    A watch is a position in the log and an event to wake it, so a slow one costs the others nothing, and has no buffer
    that could fill. Every method decides and acts without a pause in between: there is no await in any of them.

    Args:
        history: How many of the last changes can be read and watched at least; older ones are compacted away as new
            ones come. A watch that falls further behind ends with ``CompactedError``.
        first: The revision to begin with. Whoever comes with one from before is told that it is compacted away; so take
            one that no storage whose clients may come here has reached.
    """

    def __init__(self, *, history: int = 10_000, first: int = 1) -> None:
        if history < 1:
            raise ValueError(f"history {history} must be at least 1: a watch could never keep up")
        self._history = history
        self._core = Mvcc(first=first)
        self._idle: dict[_MemoryWatch, anyio.Event] = {}

    async def revision(self) -> int:
        """The revision of the last change."""
        return self._core.revision

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """Read one key; see ``KV.get``."""
        return self._core.get(key, revision)

    async def range(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Read the keys with a prefix; see ``KV.range``."""
        return self._core.range(prefix, start=start, revision=revision, limit=limit)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        """Write a key; see ``KV.put``."""
        change = self._core.put(key, value, expected)
        self._publish(change)
        assert change.current is not None  # noqa: S101 -- a put always leaves a value
        return change.current

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        """Remove a key; see ``KV.delete``."""
        change = self._core.delete(key, expected)
        if change is not None:
            self._publish(change)
        return change

    @asynccontextmanager
    async def watch(self, prefix: str, from_revision: int) -> AsyncIterator["_MemoryWatch"]:
        """Follow the changes of the keys with a prefix; see ``KV.watch``."""
        if from_revision < self._core.compacted:
            raise CompactedError(from_revision, self._core.compacted)
        yield _MemoryWatch(self._core, self._idle, prefix, from_revision)

    async def compact(self, revision: int) -> None:
        """Forget what is older than a revision; see ``KV.compact``."""
        self._core.compact(revision)

    def _publish(self, change: Change) -> None:
        for watch in [watch for watch in self._idle if change.key.startswith(watch.prefix)]:
            watch.wake(change.revision)
        if len(self._core) > self._history + self._history // 10:
            self._core.compact(self._core.revision + 1 - self._history)


class _MemoryWatch:
    """A position in the log.

    Invariant: while it is idle nothing that it has to deliver lies between its position and the end of the log; so
    whoever ends the idleness moves the position up, and compaction cannot catch a watch that merely has nothing to do.
    """

    def __init__(
        self, core: Mvcc, idle: "dict[_MemoryWatch, anyio.Event]", prefix: str, position: int
    ) -> None:
        self._core = core
        self._idle = idle
        self.prefix = prefix
        self._position = position
        self._wants_progress = False
        self._guard = anyio.ResourceGuard("reading from")

    def __aiter__(self) -> "_MemoryWatch":
        return self

    async def __anext__(self) -> Batch:
        """Wait for changes, or for progress where it was asked for."""
        with self._guard:
            while True:
                changes, position = self._core.changes(self.prefix, self._position, _BATCH)
                if changes or self._wants_progress:  # from here to the return there may be no await
                    self._position = position
                    self._wants_progress = self._wants_progress and len(changes) == _BATCH
                    return Batch(changes, min(position - 1, self._core.revision))
                self._position = position
                await self._rest()

    def request_progress(self) -> None:
        """Ask for a batch as soon as everything so far has been delivered."""
        self._wants_progress = True
        self.wake(self._core.revision + 1)

    def wake(self, position: int) -> None:
        """End the idleness, if there is any, at this position: all before it is known not to match."""
        if (woken := self._idle.get(self)) is not None and (
            self._wants_progress or position >= self._position
        ):
            del self._idle[self]
            self._position = max(self._position, position)
            woken.set()

    async def _rest(self) -> None:
        woken = self._idle[self] = anyio.Event()
        try:
            await woken.wait()
        finally:
            self.wake(self._core.revision + 1)  # cancelled while idle: leave the room in order
            self._idle.pop(self, None)
