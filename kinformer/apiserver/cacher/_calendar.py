"""Calendar: when each watcher is due for a bookmark, without a timer for each.

``watcherBookmarkTimeBuckets`` of ``k8s.io/apiserver/pkg/storage/cacher``: watchers lie in buckets of one second, so that
looking who is due costs as much as there are due, however many there are.
"""

import math
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

__all__ = ["BOOKMARK_PERIOD", "Calendar", "bookmark_time"]

W = TypeVar("W", bound=Hashable)

BOOKMARK_PERIOD: Final = 60.0
"""Seconds between the bookmarks of a watch."""

_BEFORE_DEADLINE: Final = 2.0
"""Seconds before the end of a watch at which the last bookmark comes."""


def bookmark_time(now: float, deadline: float, *, is_waiting: bool) -> float | None:
    """When a watch is to be offered its next bookmark; ``None`` when it ends before that.

    Args:
        now: The time, in seconds.
        deadline: When the watch ends; may be infinite.
        is_waiting: Whether it still needs the bookmark that ends its initial events, for which every tick is right.
    """
    if is_waiting:
        return now
    due = min(now + BOOKMARK_PERIOD, deadline - _BEFORE_DEADLINE)
    return None if due < now else due


class Calendar(Generic[W]):
    """Watchers by the second, counted from its beginning, in which they are due.

    Invariants: nobody is in two buckets, none is empty, and none lies before the seconds that were already taken.

    Args:
        beginning: The moment from which seconds are counted.
    """

    def __init__(self, beginning: float) -> None:
        self._beginning = beginning
        self._next = 0  # the first second that was not taken
        self._buckets: dict[int, dict[W, None]] = {}
        self._places: dict[W, int] = {}

    def __len__(self) -> int:
        """How many watchers are in it."""
        return len(self._places)

    def __contains__(self, watcher: W) -> bool:
        return watcher in self._places

    @property
    def next_due(self) -> float | None:
        """When the first second with a watcher in it begins, which may be over; ``None`` when there is nobody.

        Looks at one bucket for each second of a period, at most.
        """
        return self._beginning + min(self._buckets) if self._buckets else None

    def add(self, watcher: W, due: float) -> None:
        """Enter a watcher, in place of its former entry; a moment that has been passed means the next ``take``."""
        self.discard(watcher)
        second = max(self._next, math.floor(due - self._beginning))
        self._buckets.setdefault(second, {})[watcher] = None
        self._places[watcher] = second

    def discard(self, watcher: W) -> None:
        """Take a watcher out, if it is in."""
        second = self._places.pop(watcher, None)
        if second is not None:
            bucket = self._buckets[second]
            del bucket[watcher]
            if not bucket:
                del self._buckets[second]

    def take(self, now: float) -> list[W]:
        """Take out who is due up to the present second, in the order of time."""
        second = math.floor(now - self._beginning)
        due: list[W] = []
        for each in sorted(each for each in self._buckets if each <= second):
            due += self._buckets.pop(each)
        for watcher in due:
            del self._places[watcher]
        self._next = max(self._next, second + 1)
        return due
