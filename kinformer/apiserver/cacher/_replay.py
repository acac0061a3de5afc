"""What a watch begins with: the state, or what has happened since a revision. ``watchCacheInterval`` upstream."""

from collections.abc import Sequence
from typing import Protocol

from kinformer.apiserver.cacher._event import CacheEvent, Element

__all__ = ["InitialState", "Replay"]


class Replay(Protocol):
    """Changes of the past, taken piece by piece."""

    def take(self, most: int) -> Sequence[CacheEvent]:
        """The next ones, at most so many; none when all have been taken.

        Raises:
            EvictedError: They have been forgotten, so that the watch would have a gap.
        """


class InitialState:
    """Objects as if each were added just now, in their order.

    Args:
        elements: The objects.
        time: The present moment, on the clock's ``monotonic``.
    """

    def __init__(self, elements: Sequence[Element], time: float) -> None:
        self._elements = elements
        self._taken = 0
        self._time = time

    def take(self, most: int) -> Sequence[CacheEvent]:
        """The next objects; none when all have been taken."""
        begin, self._taken = self._taken, self._taken + most
        return [
            CacheEvent.of(each.revision, each.key, each, None, time=self._time)
            for each in self._elements[begin : self._taken]
        ]
