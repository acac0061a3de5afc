"""Histogram: how often what took how long, in buckets. Pure."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

__all__ = ["Histogram"]


class Histogram:
    """Counts values by buckets, of which each holds what is at most its bound and more than the one before.

    Invariant: ``count`` is the last of the accumulated counts.

    Args:
        bounds: In rising order; one more bucket holds what is above them.
    """

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds: Final = bounds
        self._counts: Final = [0] * (len(bounds) + 1)
        self.total = 0.0
        """The sum of all values."""

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self._counts)

    def accumulated(self) -> Iterator[tuple[float, int]]:
        """Each bound with how many values were at most that, and then infinity with all of them."""
        yield from zip((*self._bounds, float("inf")), accumulate(self._counts), strict=True)
