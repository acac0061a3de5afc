"""Delayed: which keys come later, and when."""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush, nsmallest
from itertools import count
from math import isnan
from typing import Final, Generic, TypeAlias, TypeVar

__all__ = ["Delayed"]

K = TypeVar("K", bound=Hashable)

_Entry: TypeAlias = tuple[float, int, K, int]
"""When, then the age, so that different keys are never compared; then the key and its priority."""

_SLACK: Final = 16
"""How many stale entries are not worth a clean-up."""


class Delayed(Generic[K]):
    """Keys with the moment at which each is due, in one heap. No clock, no timer, no task.

    A key has one moment, the earliest that anybody asked for, whichever order they asked in (client-go's
    ``delayingType`` has the same rule), and one priority, the highest. Moments are seconds on one clock of the
    caller's choice.

    Bringing a key forward, or raising it, leaves its old entry behind in the heap, stale. Between any two calls the
    head of the heap is not stale, and at most ``len(self) + 16`` entries are.

    client-go's loop also wakes every 10 s, in case that the timer for the head was missed. There is nothing to miss
    here: whoever adds a key sees at once, in the same call, whether ``next_due`` has changed.
    """

    __slots__ = ("_heap", "_live", "_numbers")

    def __init__(self) -> None:
        self._heap: list[_Entry[K]] = []
        self._live: dict[K, _Entry[K]] = {}
        self._numbers = count()

    def add(self, key: K, when: float, priority: int = 0) -> None:
        """Make ``key`` due at ``when``, unless it is due by then anyway; it keeps the highest priority asked for.

        Raises:
            ValueError: ``when`` or ``priority`` is not a number, which has no place in an order.
        """
        if isnan(when) or isnan(priority):
            raise ValueError(f"{key!r} must be due at a number with a number, not at {when} with {priority}")
        live = self._live.get(key)
        if live is None:
            entry = (when, next(self._numbers), key, priority)
        elif when < live[0]:
            entry = (when, next(self._numbers), key, max(priority, live[3]))
        elif priority > live[3]:
            entry = (live[0], live[1], key, priority)
        else:
            return
        self._live[key] = entry
        heappush(self._heap, entry)
        if live is not None:
            self._tidy()

    def take_due(self, now: float, limit: int) -> list[tuple[K, int]]:
        """Remove and give the keys that are due at ``now``, at most ``limit``, in order of their moments.

        Each comes with its priority; keys of one moment come in the order in which they were added.
        """
        heap, live, due = self._heap, self._live, list[tuple[K, int]]()
        while heap and heap[0][0] <= now and len(due) < limit:
            entry = heappop(heap)
            key = entry[2]
            if live.get(key) is entry:
                del live[key]
                due.append((key, entry[3]))
        if due:
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

    def waiting(self, most: int | None = None) -> list[tuple[K, float, int]]:
        """The keys, or the first so many, each with its moment and its priority, in order of the moments."""
        live = self._live.values()  # which are told apart by their ages, before any key is compared
        first = sorted(live) if most is None else nsmallest(most, live)
        return [(key, when, priority) for when, _, key, priority in first]

    def __contains__(self, key: K) -> bool:
        """Whether ``key`` waits for its moment."""
        return key in self._live

    def __len__(self) -> int:
        """How many keys wait for their moment."""
        return len(self._live)

    def _tidy(self) -> None:
        heap, live = self._heap, self._live
        if not live:
            self.clear()  # gives the tables back, which a dict that shrinks to nothing keeps
            return
        while live.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        if len(heap) > 2 * len(live) + _SLACK:
            heap[:] = live.values()
            heapify(heap)
