"""Meter: what hooks are told about the keys of one queue."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from kinformer.hooks import Hooks, KeyAdded, KeyDone, KeyParked, KeyResumed, KeyRetried, KeyTaken

__all__ = ["Meter"]

K = TypeVar("K", bound=Hashable)


class Meter(Generic[K]):
    """Remembers since when each key wants its run, and reports to ``hooks``. A queue without hooks has none.

    It holds a key only while that wants a run; a key that somebody else put into the queue's order counts from the
    moment it is taken. The moments that count are those of client-go's workqueue metrics.

    The hooks are ``guarded``: each is called in the midst of a key's way, and the key would be lost for what only
    counts it.
    """

    __slots__ = ("_done", "_hooks", "_name", "_since", "_taken", "_took_in")

    def __init__(self, name: str, hooks: Hooks) -> None:
        self._name = name
        self._hooks = hooks
        self._took_in = hooks.key_added  # looked up once: these are called for each key
        self._taken = hooks.key_taken
        self._done = hooks.key_done
        self._since: dict[K, float] = {}

    def added(self, key: K, now: float) -> None:
        """Report a key that the queue did not hold already."""
        self._since[key] = now
        self._took_in(KeyAdded(self._name, len(self._since)))

    def taken(self, key: K, now: float) -> None:
        """Report a key that went into a worker's hands."""
        since = self._since
        waited = now - since.pop(key, now)
        if not since:
            since.clear()  # gives the table back, which a dict that shrinks to nothing keeps
        self._taken(KeyTaken(self._name, len(since), waited))

    def done(self, worked: float) -> None:
        """Report a key that was put down after ``worked`` seconds."""
        self._done(KeyDone(self._name, worked))

    def retried(self, delay: float) -> None:
        """Report a key that was put back, to come again after ``delay`` seconds."""
        self._hooks.key_retried(KeyRetried(self._name, delay))

    def parked(self, parked: int, attempts: int, error: str) -> None:
        """Report a key that is tried no more, after which ``parked`` keys are parked."""
        self._hooks.key_parked(KeyParked(self._name, parked, attempts, error))

    def resumed(self, parked: int) -> None:
        """Report a key that is parked no more, after which ``parked`` keys are."""
        self._hooks.key_resumed(KeyResumed(self._name, parked))

    def oldest(self, heads: Iterable[tuple[int, K]], now: float) -> dict[int, float]:
        """For each priority in ``heads``, how long the key there that has waited longest wants its run."""
        ages: dict[int, float] = {}
        for priority, key in heads:
            ages[priority] = max(ages.get(priority, 0.0), now - self._since.get(key, now))
        return ages
