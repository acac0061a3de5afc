"""PriorityReady: urgent keys first, and yet every key in bounded time."""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from itertools import chain, zip_longest
from math import isnan
from typing import Final, Generic, TypeAlias, TypeVar

__all__ = ["LOW_PRIORITY", "PriorityReady"]

K = TypeVar("K", bound=Hashable)

_Level: TypeAlias = OrderedDict[Hashable, OrderedDict[K, None]]
"""The buckets of one priority, the one whose turn it is first; each holds its keys, first come first, and is not empty."""

LOW_PRIORITY: Final = -100
"""For what may wait: objects that are merely listed, and updates that change nothing (controller-runtime's number)."""


class PriorityReady(Generic[K]):
    """What ``Ready`` is, with levels: higher priorities first, and first come, first served inside a level.

    Asking for a key again keeps the higher of the two priorities; a key that is raised goes to the back of its new
    level. The rules are those of controller-runtime's priority queue.

    *Ageing*, which that one lacks: of every ``ageing`` keys taken in a row, the last is the one that has been ready
    longest, whatever its priority and bucket. So a key that finds ``n`` others ready when it becomes ready is taken
    among the next ``ageing * (n + 1)``, whatever is added meanwhile and however urgent that is: no steady load
    can starve it. At ``r`` keys a second that is a wait of at most ``ageing * (n + 1) / r`` seconds.

    *Fair share*, with ``bucket``: inside a level the buckets take turns, one key each; first come, first served
    holds inside a bucket. So one namespace with ten thousand keys delays another's key by one key, not by ten thousand.

    Between any two calls each ready key is in one bucket of one level, no level and no bucket is empty, and no key
    that runs is ready.

    Args:
        ageing: Which part of the work goes by age alone: one key in ``ageing``. 1 ignores priorities.
        bucket: The bucket of a key, such as its namespace. It is asked when a key comes in, and not again before the
            key has run. ``None``: all share one.

    Raises:
        ValueError: ``ageing`` is below 1.
    """

    __slots__ = ("_again", "_ageing", "_bucket", "_levels", "_priorities", "_ready", "_running", "_taken")

    def __init__(self, *, ageing: int = 8, bucket: Callable[[K], Hashable] | None = None) -> None:
        if ageing < 1:
            raise ValueError(
                f"ageing must be at least 1, not {ageing}: it is one key in so many that goes by age"
            )
        self._ageing = ageing
        self._bucket = bucket
        self._levels: dict[int, _Level[K]] = {}
        self._priorities: list[int] = []  # those of _levels, in order
        # The longest ready first, each with its priority and its bucket.
        self._ready: OrderedDict[K, tuple[int, Hashable]] = OrderedDict()
        self._running: dict[K, tuple[float, int, Hashable]] = {}  # since when, and what it was in _ready
        self._again: dict[K, int] = {}  # the running keys that were asked for meanwhile
        self._taken = 0  # since a key was last taken by age

    def add(self, key: K, priority: int = 0, /) -> bool:
        """Ask for a run of ``key`` at ``priority``; gives whether that is news. The higher priority is kept.

        Raises:
            ValueError: ``priority`` is not a number, so that nothing is above it or below it.
        """
        if isnan(priority):
            raise ValueError(f"the priority of {key!r} must be a number, not {priority}")
        if key in self._running:
            is_news = key not in self._again
            self._again[key] = priority if is_news else max(priority, self._again[key])
            return is_news
        present = self._ready.get(key)
        if present is None:
            bucket = None if self._bucket is None else self._bucket(key)  # the user's: it may raise
            self._enter(key, priority, bucket)
            return True
        if priority > present[0]:
            self._leave(key, *present)
            self._enter(key, priority, present[1])  # in its place in _ready: it grows no younger
        return False

    def take(self, now: float = 0.0, /) -> K:
        """Hand out the next key; it stays running, since ``now``, until ``done``.

        Raises:
            LookupError: No key is ready.
        """
        if not self._ready:
            raise LookupError("no key is ready: ask len() before take()")
        self._taken += 1
        if self._taken >= self._ageing:
            self._taken = 0
            key = next(iter(self._ready))
            self._leave(key, *self._ready[key])
        else:
            key = self._pop_most_urgent()
        priority, bucket = self._ready.pop(key)
        if not self._ready:
            self._ready.clear()  # gives the table back
        self._running[key] = (now, priority, bucket)
        return key

    def done(self, key: K, /) -> float:
        """End the run of ``key``, and give the moment it was taken; if asked for meanwhile, it is ready, the last.

        Raises:
            ValueError: ``key`` is not running.
        """
        try:
            since, _, bucket = self._running.pop(key)
        except KeyError:
            raise ValueError(
                f"done({key!r}): nobody holds this key; call it once for each time it was taken"
            ) from None
        priority = self._again.pop(key, None)
        if priority is not None:
            self._enter(key, priority, bucket)
        return since

    @property
    def running(self) -> dict[K, float]:
        """The keys that were taken and are not done, each with the moment at which it was taken."""
        return {key: since for key, (since, _, _) in self._running.items()}

    def waiting(self) -> Iterator[tuple[K, int]]:
        """The keys that can be taken, next one first, but for ageing; each with its priority."""
        for priority in reversed(self._priorities):
            for key in chain.from_iterable(zip_longest(*self._levels[priority].values(), fillvalue=_NOTHING)):
                if key is not _NOTHING:
                    yield key, priority  # type: ignore[misc]  # what is not the filling is a key

    def heads(self) -> Iterator[tuple[int, K]]:
        """Each priority at which keys can be taken, with the key there that has been ready longest."""
        missing = set(self._priorities)
        for key, (
            priority,
            _,
        ) in self._ready.items():  # in the order of a level a key that was raised may be last
            if priority in missing:
                missing.remove(priority)
                yield priority, key
                if not missing:
                    return

    def wants(self, key: K, /) -> bool:
        """Whether ``key`` wants a run, now or when its present one ends."""
        return key in self._ready or key in self._again

    def priority(self, key: K, /) -> int:
        """The priority with which ``key`` runs or waits; 0 where it does neither."""
        running = self._running.get(key)
        return self._ready.get(key, _UNKNOWN)[0] if running is None else running[1]

    def __contains__(self, key: K) -> bool:
        """Whether ``key`` can be taken or is running."""
        return key in self._ready or key in self._running

    def __len__(self) -> int:
        """How many keys can be taken now."""
        return len(self._ready)

    @property
    def depth(self) -> int:
        """How many keys want a run: those that can be taken, and those that can be when their present run ends."""
        return len(self._ready) + len(self._again)

    @property
    def is_idle(self) -> bool:
        """Whether no key wants a run and none has one."""
        return not self._ready and not self._running

    def _enter(self, key: K, priority: int, name: Hashable) -> None:
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = OrderedDict()
            insort(self._priorities, priority)
        bucket = level.get(name)
        if bucket is None:
            bucket = level[name] = OrderedDict()
        bucket[key] = None
        self._ready[key] = (priority, name)

    def _leave(self, key: K, priority: int, name: Hashable) -> None:
        level = self._levels[priority]
        del level[name][key]
        self._tidy(level, name, priority)

    def _pop_most_urgent(self) -> K:
        priority = self._priorities[-1]
        level = self._levels[priority]
        name = next(iter(level))
        key, _ = level[name].popitem(last=False)
        level.move_to_end(name)  # the next bucket has its turn
        self._tidy(level, name, priority)
        return key

    def _tidy(self, level: _Level[K], name: Hashable, priority: int) -> None:
        if not level[name]:
            del level[name]
            if not level:
                del self._levels[priority]
                del self._priorities[bisect_left(self._priorities, priority)]


_UNKNOWN: Final = (0, None)
"""Stands for the priority and the bucket of a key that is not ready."""

_NOTHING: Final = object()
"""Fills the gaps of short buckets."""
