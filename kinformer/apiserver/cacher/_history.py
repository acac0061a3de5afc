"""History: the last events of a resource, so that a watch can begin a little in the past.

``watchCacheHistory`` and ``watchCacheInterval`` of ``k8s.io/apiserver/pkg/storage/cacher``.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from kinformer.apiserver.cacher._event import CacheEvent
from kinformer.apiserver.storage import CompactedError

__all__ = ["FRESH", "EvictedError", "History", "Replay", "upper_bound"]

FRESH: Final = 75.0
"""Seconds that events should be kept: the period of bookmarks, and a quarter of a minute more."""

_LOWEST: Final = 100
_HIGHEST: Final = 100 * 1024
_LONGEST_SHIFT: Final = 14
_BATCH: Final = 100

_revision = attrgetter("revision")


class EvictedError(Exception):
    """What a replay has yet to give is no longer kept."""


class History:
    """A ring of events that sizes itself.

    It doubles when it is full of events that are all younger than the window, and halves when it is full and three
    quarters of it are older. Every event has an index; indices never go back, so that a replay notices that events it
    still has to give are gone.

    Invariants: ``start`` and ``end`` never fall; the events between them are in order of revision, and at most
    ``capacity``; that is ``lowest`` times a power of two, or ``highest``, and never beyond the two.

    Args:
        lowest: How many events it holds at first, and at least.
        highest: How many it holds at most; ``None`` takes what ``upper_bound`` says.
        window: Seconds that events should be kept.

    Attributes:
        capacity: How many events it holds now.
        start: The index of its oldest event.
        end: The index that its next event will have.
        listed: The revision of the list that it began with; 0 before the first.
        grown: How often it has doubled.
        shrunk: How often it has halved.
    """

    def __init__(self, *, lowest: int = _LOWEST, highest: int | None = None, window: float = FRESH) -> None:
        if window < FRESH:
            raise ValueError(
                f"window {window} must be at least {FRESH}: a watch goes on from its last bookmark"
            )
        highest = upper_bound(window) if highest is None else highest
        if not 1 <= lowest <= highest:
            raise ValueError(f"lowest {lowest} must be at least 1, and at most highest {highest}")
        self.capacity = lowest
        self.start = self.end = 0
        self.listed = 0
        self.grown = self.shrunk = 0
        self._lowest = lowest
        self._highest = highest
        self._window = window
        self._events: deque[CacheEvent] = deque()
        self._removed = 0  # the revision of the last event that fell out since the list; 0 where none did

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_full(self) -> bool:
        """Whether the next event puts one out, unless the ring grows."""
        return len(self._events) == self.capacity

    @property
    def first(self) -> int:
        """The revision of its oldest event; that behind the list where there is none."""
        return self._events[0].revision if self._events else self.listed + 1

    @property
    def oldest(self) -> int:
        """The first revision from which on it has every event."""
        if not self._removed:
            return self.listed + 1
        return self.first + 1 if self.first == self._removed else self.first  # half a revision is none

    def relist(self, revision: int) -> None:
        """Begin anew behind a list: no replay goes on across it."""
        self._events.clear()
        self.start = self.end
        self.listed = revision
        self._removed = 0

    def append(self, event: CacheEvent) -> None:
        """Take in an event, which is not older than the last; its time decides about the size."""
        if self.is_full:
            self._resize(event.time)
        if self.is_full:
            self._drop()
        self._events.append(event)
        self.end += 1

    def since(self, revision: int) -> "Replay":
        """The events behind a revision, up to now; none for a revision of the future.

        Raises:
            CompactedError: Some of them may be gone; its ``compacted`` is ``oldest``.
        """
        if revision < self.oldest - 1:
            raise CompactedError(revision, self.oldest)
        return Replay(self, self.start + bisect_right(self._events, revision, key=_revision))

    def take(self, index: int, most: int) -> Sequence[CacheEvent]:
        """Up to ``most`` events from an index on.

        Raises:
            EvictedError: The first of them is gone.
        """
        if index < self.start:
            raise EvictedError(f"event {index} is gone, the oldest is {self.start}")
        behind = min(index + most, self.end)
        return [self._events[at - self.start] for at in range(index, behind)]

    def backwards(self, revision: int) -> Iterator[CacheEvent]:
        """The events behind a revision, the latest first, as far as they are kept."""
        for event in reversed(self._events):
            if event.revision <= revision:
                return
            yield event

    def _resize(self, now: float) -> None:
        if now - self._events[0].time < self._window:
            doubled = min(2 * self.capacity, self._highest)
            self.grown += doubled > self.capacity
            self.capacity = doubled
        elif now - self._events[-max(1, self.capacity // 4)].time > self._window:
            halved = max(self.capacity // 2, self._lowest)
            self.shrunk += halved < self.capacity
            self.capacity = halved
            while len(self._events) > halved:
                self._drop()

    def _drop(self) -> None:
        self._removed = self._events.popleft().revision
        self.start += 1


class Replay:
    """The events from an index of a history on, up to where it stood when the replay was made.

    They are taken in batches, between which the history may move on; it is not read ahead.
    """

    def __init__(self, history: History, index: int) -> None:
        self._history = history
        self._index = index
        self._end = history.end

    def __len__(self) -> int:
        """How many are left."""
        return self._end - self._index

    def take(self, most: int = _BATCH) -> Sequence[CacheEvent]:
        """The next events; none when all have been taken.

        Raises:
            EvictedError: The history has dropped what comes next. The watch has to end, and its client to ask again.
        """
        if self._index == self._end:
            return ()
        events = self._history.take(self._index, min(most, len(self)))
        self._index += len(events)
        return events


def upper_bound(window: float) -> int:
    """How many events a history may hold at most, when it is to keep them for ``window`` seconds.

    Since it only ever doubles, the bound grows by powers of two too.
    """
    doublings = math.ceil(math.log2(max(window, FRESH) / FRESH))
    return _HIGHEST << min(doublings, _LONGEST_SHIFT)
