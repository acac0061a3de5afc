"""InOrderFIFO: everything in the order in which the server told it, across all keys (client-go's ``RealFIFO``)."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from kinformer.meta import ObjectKey
from kinformer.store._deltas import Delta
from kinformer.store._queue import DeltaQueue, Stretch

__all__ = ["InOrderFIFO"]

_BATCH: Final = 1000
"""How many deltas are taken at once, at most."""


class InOrderFIFO(DeltaQueue):
    """Pending deltas in the order of their arrival. A ``pop`` gives out the next of them, up to 1000 of distinct keys.

    Nothing is merged and nothing is left out. On a relist deletions are told first.
    """

    _deletes_first = True

    def _stretch(self) -> Stretch:
        return _InArrival()


class _InArrival:
    """Deltas in order; their numbers are consecutive."""

    __slots__ = ("_deltas", "_next")

    def __init__(self) -> None:
        self._deltas: Final[deque[Delta]] = deque()
        self._next = 0

    @property
    def oldest(self) -> int:
        return self._next - len(self._deltas)

    def add(self, number: int, delta: Delta) -> bool:
        self._deltas.append(delta)
        self._next = number + 1
        return True

    def take(self) -> Sequence[Delta]:
        batch: dict[ObjectKey, Delta] = {}
        while self._deltas and len(batch) < _BATCH and self._deltas[0].key not in batch:
            delta = self._deltas.popleft()
            batch[delta.key] = delta
        return list(batch.values())

    def __len__(self) -> int:
        return len(self._deltas)
