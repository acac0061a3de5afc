"""Delayed: which keys come later, and when."""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final, Generic, TypeAlias, TypeVar

__all__ = ["Delayed"]

K = TypeVar("K", bound=Hashable)

_Entry: TypeAlias = tuple[float, int, K]
"""When, then the age, so that keys are never compared."""

_SLACK: Final = 16
"""How many stale entries are not worth a clean-up."""


class Delayed(Generic[K]):
    """Keys with the moment at which each is due, in one heap. No clock, no timer, no task.

    A key has one moment, the earliest that anybody asked for, whichever order they asked in. (client-go's
    ``delayingType`` has the same rule.) Moments are seconds on one clock of the caller's choice.

    Bringing a key forward leaves its old entry behind in the heap, stale. Between any two calls the head of the heap
    is not stale, and at most ``len(self) + 16`` entries are.
    """

    __slots__ = ("_heap", "_live", "_numbers")

    def __init__(self) -> None:
        self._heap: list[_Entry[K]] = []
        self._live: dict[K, _Entry[K]] = {}
        self._numbers = count()

    def add(self, key: K, when: float) -> None:
        """Make ``key`` due at ``when``, unless it is due by then anyway."""
        live = self._live.get(key)
        if live is not None and live[0] <= when:
            return
        entry = (when, next(self._numbers), key)
        self._live[key] = entry
        heappush(self._heap, entry)
        self._tidy()

    def take_due(self, now: float, limit: int) -> list[K]:
        """Remove and give the keys that are due at ``now``, at most ``limit`` of them, in order of their moments.

        Keys of one moment come in the order in which they were added.
        """
        heap, live, due = self._heap, self._live, list[K]()
        while heap and heap[0][0] <= now and len(due) < limit:
            entry = heappop(heap)
            key = entry[2]
            if live.get(key) is entry:
                del live[key]
                due.append(key)
        self._tidy()
        return due

    def clear(self) -> None:
        """Forget all keys."""
        self._heap.clear()
        self._live.clear()

    @property
    def next_due(self) -> float | None:
        """When the first key is due; ``None`` where there is none."""
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        """How many keys wait for their moment."""
        return len(self._live)

    def _tidy(self) -> None:
        heap, live = self._heap, self._live
        while heap and live.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        if len(heap) > 2 * len(live) + _SLACK:
            heap[:] = live.values()
            heapify(heap)
