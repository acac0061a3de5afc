"""What a queue holds at one moment, and its gauges: for a debug page, for metrics, and for tests."""

import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import Generic, TypeVar

import msgspec

from kinformer.workqueue._contracts import ReadyKeys
from kinformer.workqueue._delayed import Delayed

__all__ = [
    "DelayedKey",
    "Gauges",
    "ParkedKey",
    "ReadyKey",
    "RunningKey",
    "Snapshot",
    "gauges_of",
    "snapshot_of",
]

K = TypeVar("K", bound=Hashable)


class ReadyKey(msgspec.Struct, Generic[K], frozen=True):
    """A key that can be taken now."""

    key: K
    priority: int


class DelayedKey(msgspec.Struct, Generic[K], frozen=True):
    """A key that waits for its moment, on the queue's clock."""

    key: K
    when: float
    priority: int


class RunningKey(msgspec.Struct, Generic[K], frozen=True):
    """A key in somebody's hands since a moment on the queue's clock.

    Attributes:
        is_wanted_again: It was added meanwhile, so that it will be ready when it is put down.
    """

    key: K
    since: float
    is_wanted_again: bool


class ParkedKey(msgspec.Struct, Generic[K], frozen=True):
    """A key that failed too often and waits for something to happen to it, since a moment on the queue's clock.

    Attributes:
        attempts: How often it had failed by then, as the limiter counts.
        error: The last error in words, ``""`` where it was not told; not the exception, whose traceback would keep
            the objects of the failed run alive.
    """

    key: K
    since: float
    attempts: int
    error: str


class Snapshot(msgspec.Struct, Generic[K], frozen=True):
    """All keys of a queue at one moment. A key may be delayed, and ready, running or parked as well.

    Attributes:
        now: The moment, on the queue's clock, whose moments all others are too.
        ready: In the order in which they will be taken, but for ageing.
        delayed: In the order of their moments.
        running: In the order in which they were taken.
        parked: In the order in which they were parked.
    """

    now: float
    ready: tuple[ReadyKey[K], ...]
    delayed: tuple[DelayedKey[K], ...]
    running: tuple[RunningKey[K], ...]
    parked: tuple[ParkedKey[K], ...]


class Gauges(msgspec.Struct, frozen=True):
    """What a metrics exporter asks for when it is scraped; all ages are in seconds.

    Attributes:
        depth: client-go's ``workqueue_depth``: the keys that want a run, those that run at present included.
        unfinished_work: client-go's ``workqueue_unfinished_work_seconds``: how long the keys that are in hands have
            been there, added up. It grows steadily where workers are stuck.
        longest_running: client-go's ``workqueue_longest_running_processor_seconds``: the longest of these; 0 for none.
        oldest_waiting: For each priority at which keys can be taken, how long the key that has been ready longest there
            has wanted its run. Empty for a queue without hooks, which does not look at the clock when a key is added.
        delayed: How many keys wait for their moment.
        parked: How many keys have failed too often and wait for something to happen.
    """

    depth: int
    unfinished_work: float
    longest_running: float
    oldest_waiting: Mapping[int, float]
    delayed: int
    parked: int


def snapshot_of(
    now: float,
    ready: ReadyKeys[K],
    delayed: Delayed[K],
    parked: Iterable[ParkedKey[K]],
    most: int | None = None,
) -> Snapshot[K]:
    """Describe what these hold at ``now``, of each at most so many."""
    running = sorted(ready.running.items(), key=lambda item: item[1])
    return Snapshot(
        now=now,
        ready=tuple(ReadyKey(key, priority) for key, priority in islice(ready.waiting(), most)),
        delayed=tuple(DelayedKey(*entry) for entry in delayed.waiting(most)),
        running=tuple(RunningKey(key, since, ready.wants(key)) for key, since in running[:most]),
        parked=tuple(islice(parked, most)),
    )


def gauges_of(
    now: float, ready: ReadyKeys[K], oldest_waiting: Mapping[int, float], *, delayed: int, parked: int
) -> Gauges:
    """Measure what these hold at ``now``."""
    ages = [now - since for since in ready.running.values()]
    return Gauges(
        depth=ready.depth,
        unfinished_work=math.fsum(ages),
        longest_running=max(ages, default=0.0),
        oldest_waiting=oldest_waiting,
        delayed=delayed,
        parked=parked,
    )
