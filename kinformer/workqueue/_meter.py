"""Meter: tells the hooks what happened to keys, and how long it took."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from kinformer.clock import Clock
from kinformer.hooks import Hooks, KeyAdded, KeyDone, KeyRetried, KeyTaken

__all__ = ["Meter"]

K = TypeVar("K", bound=Hashable)


class Meter(Generic[K]):
    """Remembers when each key was added and taken, and reports to ``hooks``. A queue without hooks has none.

    It holds a key only while the queue does; a key that somebody else put into the queue's order counts from the
    moment it is seen. The moments that count are those of client-go's workqueue metrics.
    """

    __slots__ = ("_added", "_clock", "_hooks", "_name", "_taken")

    def __init__(self, name: str, clock: Clock, hooks: Hooks) -> None:
        self._name = name
        self._clock = clock
        self._hooks = hooks
        self._added: dict[K, float] = {}
        self._taken: dict[K, float] = {}

    def added(self, key: K, depth: int) -> None:
        """Report a key that the queue did not hold already."""
        self._added[key] = self._clock.monotonic()
        self._hooks.key_added(KeyAdded(self._name, depth))

    def taken(self, key: K, depth: int) -> None:
        """Report a key that went into a worker's hands."""
        now = self._clock.monotonic()
        self._taken[key] = now
        self._hooks.key_taken(KeyTaken(self._name, depth, now - self._added.pop(key, now)))

    def done(self, key: K) -> None:
        """Report the end of a key's run."""
        now = self._clock.monotonic()
        self._hooks.key_done(KeyDone(self._name, now - self._taken.pop(key, now)))

    def retried(self, delay: float) -> None:
        """Report a key that was put back, to come again after ``delay`` seconds."""
        self._hooks.key_retried(KeyRetried(self._name, delay))
