"""OwnWrites: what a controller has written and its cache does not show yet. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kinformer.meta import ObjectKey, Record, is_at_least
from kinformer.store import Store

__all__ = ["OwnWrite", "OwnWrites", "has_arrived"]


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """One write that the server has accepted.

    Attributes:
        key: Of which object.
        uid: Of which object of that name.
        version: What the cache must have reached to show it; of a deletion, that of the object as it was last known.
        record: The object as it was stored; ``None`` where it is gone, or has left what the cache holds.
        is_gone: Whether no object of this uid will be seen again.
    """

    key: ObjectKey
    uid: str
    version: str
    record: Record | None
    is_gone: bool = False


def has_arrived(write: OwnWrite, store: Store) -> bool:
    """Whether a cache shows a write, or something later.

    Where versions cannot be compared, only that very version counts as shown.
    """
    cached = store.get(write.key)
    if cached is None:
        return _reached(store.version, write.version)
    if write.is_gone and cached.metadata.uid == write.uid:
        return False
    return _reached(cached.metadata.resource_version, write.version)


class OwnWrites:
    """The writes to one resource, at most one for each key: the last.

    Invariant: none is older than the patience, and none is shown by the cache as far as we have looked.

    Args:
        store: The cache.
        patience: Seconds after which a write counts as shown, whatever the cache says.
        given_up: Hears of a write for which that was so, and how old it was.
    """

    def __init__(self, store: Store, *, patience: float, given_up: Callable[[OwnWrite, float], None]) -> None:
        self._store = store
        self._patience: Final = patience
        self._given_up = given_up
        self._writes: dict[ObjectKey, tuple[OwnWrite, float]] = {}

    def __len__(self) -> int:
        return len(self._writes)

    def known(self, key: ObjectKey) -> OwnWrite | None:
        """The write to a key that is remembered, whether it is shown or not."""
        known = self._writes.get(key)
        return None if known is None else known[0]

    def note(self, write: OwnWrite, now: float) -> None:
        """Remember a write, unless a later one of the same object is remembered: answers may come in any order."""
        self.sweep(now)
        known = self._writes.pop(write.key, None)
        if known is not None and _replaces(known[0], write):
            write = known[0]
        self._writes[write.key] = (write, now)
        self.settle(write.key)

    def settle(self, key: ObjectKey) -> None:
        """The cache may have changed there: forget the write if it shows it."""
        known = self._writes.get(key)
        if known is not None and has_arrived(known[0], self._store):
            del self._writes[key]

    def sweep(self, now: float) -> None:
        """Give up on what the cache has not shown for too long."""
        while self._writes:  # in the order in which they were noted
            key, (write, since) = next(iter(self._writes.items()))
            if now - since < self._patience:
                return
            del self._writes[key]
            if not has_arrived(write, self._store):
                self._given_up(write, now - since)

    def pending(self, key: ObjectKey, now: float) -> OwnWrite | None:
        """The write to a key that the cache does not show; ``None`` where the cache is right."""
        if not self._writes:
            return None
        self.sweep(now)
        self.settle(key)
        return self.known(key)

    def all_pending(self, now: float) -> tuple[OwnWrite, ...]:
        """All writes that the cache does not show."""
        if not self._writes:
            return ()
        self.sweep(now)
        for key in tuple(self._writes):
            self.settle(key)
        return tuple(write for write, _ in self._writes.values())


def _replaces(known: OwnWrite, write: OwnWrite) -> bool:
    """Whether what we knew already is the later one."""
    if known.uid == write.uid and (known.is_gone or write.is_gone):
        return known.is_gone
    return _precedes(write.version, known.version)


def _reached(version: str, floor: str) -> bool:
    try:
        return not floor or is_at_least(version, floor)
    except ValueError:
        return version == floor


def _precedes(version: str, other: str) -> bool:
    try:
        return not is_at_least(version, other)
    except ValueError:
        return False  # they cannot be compared, so the order is that of the answers
