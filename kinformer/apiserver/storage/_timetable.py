"""Timetable: when watches catch up, and when the quiet ones are told how far they have come."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

from kinformer.apiserver.storage._watcher_stream import WatcherStream
from kinformer.apiserver.storage._watchers import Watchers
from kinformer.clock import Clock, Timer

__all__ = ["Timetable"]

_RETRY: Final = 0.01
_SHORTEST_PROGRESS: Final = 0.1
_JITTER: Final = 0.1


class Timetable:
    """Calls what is due, and sets no timer while nobody is late.

    Args:
        watchers: Whose catching up it drives, unless they do it eagerly.
        clock: What the periods are measured on.
        random: Spreads the progress periods.
        resync_period: Seconds between two passes; the next comes at once after one in which somebody caught up.
        progress_period: Seconds between two reports to a stream, at least a tenth, and up to a tenth of it more.
    """

    def __init__(
        self,
        watchers: Watchers,
        clock: Clock,
        random: Random,
        *,
        resync_period: float,
        progress_period: float,
    ) -> None:
        self._watchers = watchers
        self._clock = clock
        self._random = random
        self._resync_period = resync_period
        self._progress_period = max(progress_period, _SHORTEST_PROGRESS)
        self._pass: Timer | None = None
        self._offer: Timer | None = None
        watchers.on_late = self._on_late

    @contextmanager
    def reports(self, stream: WatcherStream) -> Iterator[None]:
        """Report progress to a stream, now and then, until the block ends."""
        period = self._progress_period * (1 + self._random.uniform(0, _JITTER))

        timers: list[Timer] = []

        def report() -> None:
            stream.report_progress()
            timers[:] = [self._clock.call_at(self._clock.monotonic() + period, report)]

        timers.append(self._clock.call_at(self._clock.monotonic() + period, report))
        try:
            yield
        finally:
            timers[0].cancel()

    def _on_late(self) -> None:
        if self._watchers.is_eager:
            return
        now = self._clock.monotonic()
        if self._watchers.behind and self._pass is None:
            self._pass = self._clock.call_at(now + self._resync_period, self._catch_up)
        if self._watchers.blocked and self._offer is None:
            self._offer = self._clock.call_at(now + _RETRY, self._retry)

    def _catch_up(self) -> None:
        before = self._watchers.behind
        self._watchers.catch_up()
        self._pass = None
        if 0 < self._watchers.behind < before:
            self._pass = self._clock.call_at(self._clock.monotonic(), self._catch_up)
        self._on_late()

    def _retry(self) -> None:
        self._watchers.retry()
        self._offer = None
        self._on_late()
