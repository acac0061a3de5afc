"""Alarm: lets keys in when their moment has come."""

import logging
import math
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kinformer.clock import Clock, Timer
from kinformer.workqueue._delayed import Delayed

__all__ = ["Alarm"]

K = TypeVar("K", bound=Hashable)

logger = logging.getLogger("kinformer.workqueue")

_SLICE: Final = 512
"""How many keys that are due are let in at once before the event loop gets a turn: some 0.5 ms of work."""


class Alarm(Generic[K]):
    """Delayed keys, and the one timer that they need: for the earliest moment.

    Args:
        name: How the log calls the queue.
        clock: Whose moments they are; it calls back from the event loop.
        let_in: Called with each key that is due, and its priority.

    Attributes:
        keys: What waits for its moment; to be looked at only.
    """

    __slots__ = ("_clock", "_let_in", "_name", "_timer", "_timer_due", "keys")

    def __init__(self, name: str, clock: Clock, let_in: Callable[[K, int], None]) -> None:
        self.keys = Delayed[K]()
        self._name = name
        self._clock = clock
        self._let_in = let_in
        self._timer: Timer | None = None
        self._timer_due = math.inf

    def add(self, key: K, when: float, priority: int) -> None:
        """Let ``key`` in at ``when``; of two moments the earlier one holds, of two priorities the higher one."""
        if when < self._timer_due:
            self._set_timer(when)  # before the key is kept: it raises where no event loop runs
        self.keys.add(key, when, priority)

    def clear(self) -> None:
        """Forget all keys, and the timer."""
        self.keys.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._timer_due = math.inf

    def _set_timer(self, when: float) -> None:
        timer = self._clock.call_at(when, self._ring)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer
        self._timer_due = when

    def _ring(self) -> None:
        self._timer = None
        self._timer_due = math.inf
        for key, priority in self.keys.take_due(self._clock.monotonic(), _SLICE):
            try:
                self._let_in(key, priority)
            except Exception:  # the order of the keys, and its function for buckets, may be the user's
                logger.exception(
                    "%s: %r was due and is lost, since the queue's order did not take it in", self._name, key
                )
        when = self.keys.next_due
        if when is not None:
            self._set_timer(when)
