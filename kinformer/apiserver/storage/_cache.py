"""Cache: one watch of a storage, and from it any number of reads and watches.

What etcd's client-side module ``cache`` does: https://pkg.go.dev/go.etcd.io/etcd/cache/v3
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kinformer.apiserver.storage._cache_watch import CacheWatch
from kinformer.apiserver.storage._contracts import KV, WatchStream
from kinformer.apiserver.storage._demux import Demux, LocalWatcher
from kinformer.apiserver.storage._errors import (
    ClosedError,
    FutureRevisionError,
    InconsistentError,
    KeyRangeError,
    UnavailableError,
    UnsupportedRequestError,
)
from kinformer.apiserver.storage._freshness import Freshness
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._memory_watches import Waker
from kinformer.apiserver.storage._readiness import Readiness
from kinformer.apiserver.storage._snapshots import Snapshots
from kinformer.apiserver.storage._transactions import ReadResult
from kinformer.apiserver.storage._watch_messages import WatchRequest, WatchResponse
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group

__all__ = ["Cache"]

_log = logging.getLogger("kinformer.apiserver")

_PAUSE: Final = 0.05
_UNSUPPORTED: Final = ("prev_kv", "fragment", "no_put", "no_delete")


class Cache:
    """What a prefix of a storage holds, kept by a single watch.

    ``run`` does the work, until ``close``. When the watch is lost, everything is read again; until then the cache is not
    ready, but reads that need not be the latest are still answered from what it knows. Local watches survive only where
    nothing can have been missed.

    Two things differ from upstream unless it is ``strict``: a local watch that meets a gap between revisions, begins in
    the past, or was slow, is told as soon as there is room, and not up to 50 ms later; and progress is passed on before
    there was any change.

    Progress is not believed where the storage does not vouch for it: then a read that must be fresh waits in vain, unless
    what it waits for is a change of the prefix.

    Args:
        kv: The storage.
        prefix: What its keys begin with; the empty one caches everything.
        window: How many past states can be read, and how many revisions local watches may lag behind.
        buffer: How many responses wait for the reader of a local watch, besides the one in hand.
        timeout: Seconds that a read waits to be as fresh as the storage.
        resync_period: Seconds between two attempts of those who lag to catch up, where it is strict.
        progress_request_period: Seconds between two requests for progress, while somebody waits for it.
        progress_period: Seconds of silence after which a local watch that asked for it is told how far it has come.
        strict: Keep upstream's times.
        clock: What the periods are measured on.
    """

    def __init__(
        self,
        kv: KV,
        prefix: str,
        *,
        window: int = 2048,
        buffer: int = 10,
        timeout: float = 3.0,
        resync_period: float = 0.05,
        progress_request_period: float = 0.1,
        progress_period: float = 600.0,
        strict: bool = False,
        clock: Clock | None = None,
    ) -> None:
        if window < 1:
            raise ValueError(f"window {window} must be at least 1: nothing could be read or watched")
        if buffer < 0:
            raise ValueError(f"buffer {buffer} must not be negative")
        self._kv = kv
        self._keys = KeyRange.prefix(prefix)
        self._server = KeyRange.key(prefix or "/")
        self._buffer = buffer
        self._resync_period = resync_period
        self._progress_period = progress_period
        self._strict = strict
        self._clock = clock or SystemClock()
        self._snapshots = Snapshots(window)
        self._demux = Demux(window, strict=strict)
        self._readiness = Readiness()
        self._freshness = Freshness(
            lambda: self._snapshots.revision,
            timeout=timeout,
            period=progress_request_period,
            clock=self._clock,
        )
        self._stream: WatchStream | None = None
        self._tells_progress = True
        self._closed = anyio.Event()
        self._is_running = False

    @property
    def revision(self) -> int:
        """Up to where it knows the storage; 0 before it was ready for the first time."""
        return self._snapshots.revision

    @property
    def is_ready(self) -> bool:
        """Whether it follows the storage."""
        return self._readiness.is_ready

    async def wait_ready(self) -> None:
        """Wait until it follows the storage.

        Raises:
            ClosedError: It was closed.
        """
        self._check_open()
        await self._readiness.wait_ready()
        self._check_open()

    async def wait_not_ready(self) -> None:
        """Wait until it does not."""
        await self._readiness.wait_not_ready()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the storage until ``close``; ``started()`` once the cache is ready for the first time.

        Raises:
            RuntimeError: It runs already.
        """
        if self._is_running:
            raise RuntimeError("this Cache runs already; several readers share one")
        self._is_running = True
        try:
            async with open_task_group() as tasks:
                tasks.start_soon(self._follow)
                tasks.start_soon(self._freshness.run, self._ask_for_progress)
                if self._strict:
                    tasks.start_soon(self._resync)
                await self._readiness.wait_ready()
                task_status.started()
                await self._closed.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._is_running = False
            self._readiness.reset()
            self._demux.purge()

    def close(self) -> None:
        """Let ``run`` return, and all local watches end. Whoever waits gets ``ClosedError``."""
        self._closed.set()
        self._readiness.set()  # so that nobody waits for it any more
        self._freshness.close()

    async def get(self, key: str, *, revision: int = 0, serializable: bool = False) -> KeyValue | None:
        """Read one key; see ``range``."""
        found = await self.range(KeyRange.key(key), revision=revision, serializable=serializable)
        return found.items[0] if found.items else None

    async def range(
        self,
        keys: KeyRange,
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        serializable: bool = False,
    ) -> ReadResult:
        """Read the keys of a range, as fresh as the storage is now.

        Args:
            keys: Which; they must be below the prefix.
            revision: Read the past; 0 means now.
            limit: Not supported.
            count_only: Not supported.
            serializable: What is known will do: no question to the storage, and no wait but for the first content.

        Raises:
            UnsupportedRequestError: It cannot be read from a cache.
            KeyRangeError: The keys are not in it.
            FutureRevisionError: The revision is yet to come.
            CompactedError: The revision is before the window.
            CacheTimeoutError: The cache did not catch up with the storage in time.
            ClosedError: The cache was closed.
        """
        if limit or count_only:
            what = "limit" if limit else "count_only"
            raise UnsupportedRequestError(f"{what} cannot be read from a cache: ask the storage")
        self._check_keys(keys)
        if revision < 0:
            raise ValueError(f"revision {revision} must not be negative")
        self._check_open()
        if not self._snapshots.revision:
            await self.wait_ready()
        if not serializable:
            now = (await self._kv.range(self._server, count_only=True)).revision
            if revision > now:
                raise FutureRevisionError(revision, now)
            await self.wait_for(now)
        return self._snapshots.range(keys, revision)

    async def wait_for(self, revision: int) -> None:
        """Wait until the cache knows the storage up to a revision; asks the storage for progress meanwhile.

        Raises:
            CacheTimeoutError: It does not come so far in time.
            ClosedError: The cache was closed.
        """
        await self._freshness.wait_for(revision)
        self._check_open()

    @asynccontextmanager
    async def watch(self, request: WatchRequest) -> AsyncIterator[CacheWatch]:
        """Follow the changes of some keys, from a revision on, or from now on where it is 0.

        Entering waits until the cache is ready. The watch tells what a stream of the storage would, but for ``created``;
        it ends after a response that is ``canceled``: at once where the request makes no sense here, later where its
        reader lags beyond the window. It ends without one where changes may have been missed, and then it has to be
        opened anew.

        Raises:
            ClosedError: The cache was closed.
        """
        await self.wait_ready()
        waker = Waker()
        if reason := self._problem(request):
            watcher = LocalWatcher(self._demux, request.keys, 1, waker.wake)
            watcher.end(WatchResponse(0, self.revision, canceled=True, cancel_reason=reason))
        else:
            watcher = self._demux.register(
                request.keys, request.start_revision, capacity=self._buffer + 1, wake=waker.wake
            )
        watch = CacheWatch(self._demux, watcher, waker, request.watch_id, self._clock)
        try:
            with watch.reports(self._progress_period) if request.progress_notify else nullcontext():
                yield watch
        finally:
            self._demux.remove(watcher)

    def _problem(self, request: WatchRequest) -> str:
        for option in _UNSUPPORTED:
            if getattr(request, option):
                return f"unsupported request: {option}"
        try:
            self._check_keys(request.keys)
        except KeyRangeError as error:
            return str(error)
        return "" if request.start_revision >= 0 else f"invalid revision {request.start_revision}"

    def _check_keys(self, keys: KeyRange) -> None:
        if keys.is_empty or not self._keys.covers(keys):
            why = "is empty" if keys.is_empty else f"reaches beyond the cache of {self._keys}"
            raise KeyRangeError(f"key range {keys} {why}")

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("this cache was closed")

    async def _follow(self) -> None:
        while True:
            try:
                await self._read()
            except (InconsistentError, UnavailableError) as error:
                _log.warning("the cache of %s reads everything again: %s", self._keys, error)
            finally:
                self._stream = None
                if not self._closed.is_set():
                    self._readiness.reset()
            await self._clock.sleep(_PAUSE)

    async def _read(self) -> None:
        """Read everything and follow it, until that fails."""
        self._tells_progress = await self._kv.tells_progress()
        found = await self._kv.range(self._keys)
        self._snapshots.restore(found.items, found.revision)
        self._freshness.advance()
        async with self._kv.watch_stream() as stream:
            stream.create(WatchRequest(self._keys, found.revision + 1, progress_notify=True))
            async for response in stream:
                if self._stream is None:  # whatever it says, the watch is there
                    self._demux.begin(found.revision + 1)
                    self._stream = stream
                    self._readiness.set()
                self._hear(response)

    def _hear(self, response: WatchResponse) -> None:
        if response.canceled:
            why = response.cancel_reason or f"compacted at {response.compact_revision}"
            raise InconsistentError(f"its watch was ended: {why}")
        if response.events:
            self._snapshots.apply(response.events)
            self._demux.broadcast(response.events)
        elif response.is_progress and self._tells_progress:
            self._demux.progress(response.revision)
            self._snapshots.advance(response.revision)
        self._freshness.advance()

    def _ask_for_progress(self) -> None:
        if self._stream is not None and self._tells_progress:
            self._stream.request_progress()

    async def _resync(self) -> None:
        while True:
            await self._clock.sleep(self._resync_period)
            self._demux.resync()
