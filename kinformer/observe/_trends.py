"""Trends: how queues and the event loop have done in the last minutes. Pure."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from kinformer.observe._tally import Tally

__all__ = ["History", "Load", "Trends"]

_MOST: Final = 300
"""Moments that are remembered."""


class History(msgspec.Struct, frozen=True, rename="camel"):
    """How numbers have moved lately, the oldest first.

    Attributes:
        period: Seconds between two of them.
        depth: By controller, keys that want a run.
        active: By controller, keys that are reconciled.
        done: By controller, reconciles that came to their end, for each second.
        lag: By how many seconds the event loop was late.
    """

    period: float
    depth: dict[str, tuple[float, ...]]
    active: dict[str, tuple[float, ...]]
    done: dict[str, tuple[float, ...]]
    lag: tuple[float, ...]


class Load(NamedTuple):
    """How much one controller has to do.

    Attributes:
        depth: Keys that want a run.
        active: Keys that are reconciled.
    """

    depth: int
    active: int


class Trends:
    """The numbers of the last moments, by controller; those of a controller that is gone are forgotten.

    Invariant: no series has more than 300 values, and all of one controller have as many.

    Args:
        period: Seconds between two moments.
    """

    def __init__(self, period: float) -> None:
        self._period: Final = period
        self._series: dict[str, tuple[deque[float], deque[float], deque[float]]] = {}
        self._done = Counter[str]()
        self._lag = deque[float](maxlen=_MOST)

    def add(self, loads: Mapping[str, Load], tally: Tally, lag: float) -> None:
        """Take the numbers of one moment."""
        self._lag.append(lag)
        done = Counter[str]()
        for (name, _), count in tally.reconciles.items():
            done[name] += count
        for name in self._series.keys() - loads.keys():
            del self._series[name]
        for name, load in loads.items():
            new = (deque[float](maxlen=_MOST), deque[float](maxlen=_MOST), deque[float](maxlen=_MOST))
            depth, active, finished = self._series.setdefault(name, new)
            depth.append(load.depth)
            active.append(load.active)
            finished.append((done[name] - self._done[name]) / self._period)
        self._done = done

    def shown(self) -> History:
        """All of them."""
        depth, active, done = (
            {name: tuple(series[place]) for name, series in self._series.items()} for place in range(3)
        )
        return History(self._period, depth, active, done, tuple(self._lag))
