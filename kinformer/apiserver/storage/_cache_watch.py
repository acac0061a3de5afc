"""CacheWatch: one local watch of a cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from kinformer.apiserver.storage._demux import Demux, LocalWatcher
from kinformer.apiserver.storage._memory_watches import Waker
from kinformer.apiserver.storage._watch_messages import WatchResponse
from kinformer.clock import Clock, Timer

__all__ = ["CacheWatch"]


class CacheWatch:
    """An async iterator over the responses of a local watch; made by ``Cache.watch``. A cancelled wait loses nothing."""

    def __init__(
        self, demux: Demux, watcher: LocalWatcher, waker: Waker, watch_id: int, clock: Clock
    ) -> None:
        self._demux = demux
        self._watcher = watcher
        self._waker = waker
        self._watch_id = watch_id
        self._clock = clock
        self._heard_at = clock.monotonic()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchResponse:
        """Wait for the next response."""
        found = await self._waker.until(self._take)
        for response in found:
            self._heard_at = self._clock.monotonic()
            return replace(response, watch_id=self._watch_id)
        raise StopAsyncIteration

    def request_progress(self) -> None:
        """Ask how far it has come: an answer behind all else; none where it lags, or nothing is known yet."""
        self._demux.tell_progress(self._watcher)

    @contextmanager
    def reports(self, period: float) -> Iterator[None]:
        """Tell how far it has come after each such time of silence, until the block ends."""
        timers: list[Timer] = []

        def check() -> None:
            now = self._clock.monotonic()
            if now >= self._heard_at + period:
                self.request_progress()
                self._heard_at = now
            timers[:] = [self._clock.call_at(self._heard_at + period, check)]

        timers.append(self._clock.call_at(self._heard_at + period, check))
        try:
            yield
        finally:
            timers[0].cancel()

    def _take(self) -> tuple[WatchResponse, ...] | None:
        """The next response; nothing at the end, ``None`` where it has to be waited for."""
        if (response := self._watcher.take()) is not None:
            return (response,)
        return () if self._watcher.is_over else None
