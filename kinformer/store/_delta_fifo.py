"""DeltaFIFO: keys in the order in which they changed, each with all that happened to it since it was last taken.

It behaves as client-go's ``DeltaFIFO`` with ``EmitDeltaTypeReplaced``, and adds the version: what a reader of the
store may rely on once the keys up to some point have been taken.
"""

from collections import OrderedDict, deque
from collections.abc import Collection, Sequence

import msgspec

from kinformer.meta import EventType, ObjectKey, Record, WatchEvent
from kinformer.store._deltas import Change, Delta, Deltas, Tombstone, fold, newest
from kinformer.store._store import Store

__all__ = ["DeltaFIFO", "Popped"]


class Popped(msgspec.Struct, frozen=True):
    """One key with its pending deltas, oldest first; never without any."""

    key: ObjectKey
    deltas: tuple[Delta, ...]
    is_initial: bool
    """Whether it is part of the first snapshot."""


class DeltaFIFO:
    """Pending deltas by key; fits the reflector's ``Sink``.

    The consumer must put what it pops into the store that the queue was given before it lets anybody write again;
    deletions are told by comparing with that store. Unbounded: it holds at most one entry for each key, and all of
    the changes of that key.

    Invariant: every queued key has at least one delta, no two deletions follow each other, and queued keys stand in
    the order of their oldest delta.

    Args:
        known: The store that the popped deltas go to.
    """

    def __init__(self, known: Store) -> None:
        self._known = known
        self._pending: OrderedDict[ObjectKey, _Entry] = OrderedDict()
        self._number = 0
        self._earned: deque[tuple[int, str]] = (
            deque()
        )  # a version, and the number of the last delta it stands for
        self._version = ""
        self._is_populated = False
        self._initial = 0
        self._high_water = 0

    def __len__(self) -> int:
        """How many keys are queued."""
        return len(self._pending)

    @property
    def high_water(self) -> int:
        """The largest number of keys that were ever queued."""
        return self._high_water

    @property
    def has_synced(self) -> bool:
        """Whether every key of the first snapshot has been taken; once true it stays so.

        A queue whose first call is ``apply`` with an event counts as synced at once.
        """
        return self._is_populated and self._initial == 0

    @property
    def version(self) -> str:
        """The version that all deltas taken so far amount to; ``""`` before the first one is earned."""
        return self._version

    def replace(self, records: Sequence[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        """Take a whole snapshot: what it holds is replaced, what it does not hold is deleted.

        The deletions follow the replacements. Each carries the newest record that the queue or else the store knows.
        Nothing happens to ``kept``, the keys of what the snapshot holds illegibly.
        """
        for record in records:
            self._queue(record.key, Delta(Change.REPLACED, record))
        listed = {record.key for record in records}.union(kept)
        for key, entry in list(self._pending.items()):
            if key not in listed:
                self._queue(key, Delta(Change.DELETED, Tombstone(key, newest(entry.deltas))))
        for record in self._known:
            if record.key not in listed and record.key not in self._pending:
                self._queue(record.key, Delta(Change.DELETED, Tombstone(record.key, record)))
        if not self._is_populated:
            self._is_populated = True
            self._initial = len(self._pending)
        self._earn(version)

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        """Take changes in order. A deletion of a key that neither the queue nor the store knows is ignored.

        Args:
            events: ``ADDED``, ``MODIFIED`` and ``DELETED`` only; may be empty.
            version: What is published with them; ``""`` where that has not moved.

        Raises:
            ValueError: An event is a bookmark or an error. Nothing has been taken then.
        """
        deltas = [_delta(event) for event in events]
        for key, delta in deltas:
            self.add(key, delta)
        self._earn(version)

    def add(self, key: ObjectKey, delta: Delta) -> None:
        """Take one change, without a version; a deletion of an unknown key is ignored."""
        self._is_populated = True
        if delta.change is Change.DELETED and key not in self._pending and key not in self._known:
            return
        self._queue(key, delta)

    def publish(self, version: str) -> None:
        """Say which version the changes so far amount to; ``""`` says nothing."""
        self._earn(version)

    def resync(self) -> None:
        """Queue a ``SYNC`` for every key of the store that has nothing pending."""
        for record in self._known:
            if record.key not in self._pending:
                self._queue(record.key, Delta(Change.SYNC, record))

    def pop(self) -> Popped:
        """Take the key that has waited longest, with all its deltas.

        Raises:
            LookupError: The queue is empty.
        """
        if not self._pending:
            raise LookupError("the delta FIFO is empty")
        key, entry = self._pending.popitem(last=False)
        popped = Popped(key, tuple(entry.deltas), not self.has_synced)
        if self._initial:
            self._initial -= 1
        if not self._pending:
            self._pending = OrderedDict()  # an emptied dict keeps its size; a relist may have made it large
        self._settle()
        return popped

    def newest(self, key: ObjectKey) -> Record | None:
        """The newest record of this key, in the queue or else in the store; ``None`` where it is or will be gone."""
        entry = self._pending.get(key)
        if entry is None:
            return self._known.get(key)
        return None if entry.deltas[-1].change is Change.DELETED else newest(entry.deltas)

    def _queue(self, key: ObjectKey, delta: Delta) -> None:
        self._number += 1
        entry = self._pending.get(key)
        if entry is None:
            self._pending[key] = _Entry(self._number, [delta])
            self._high_water = max(self._high_water, len(self._pending))
        else:
            fold(entry.deltas, delta)

    def _earn(self, version: str) -> None:
        if version:
            self._earned.append((self._number, version))
            self._settle()

    def _settle(self) -> None:
        """Move the version on as far as no delta that belongs to it is still queued."""
        if not self._earned:
            return
        oldest = next(iter(self._pending.values())).number if self._pending else self._number + 1
        while self._earned and self._earned[0][0] < oldest:
            self._version = self._earned.popleft()[1]


class _Entry:
    """The pending deltas of one key, and the number of the oldest."""

    __slots__ = ("deltas", "number")

    def __init__(self, number: int, deltas: Deltas) -> None:
        self.number = number
        self.deltas = deltas


_CHANGES = {
    EventType.ADDED: Change.ADDED,
    EventType.MODIFIED: Change.UPDATED,
    EventType.DELETED: Change.DELETED,
}


def _delta(event: WatchEvent) -> tuple[ObjectKey, Delta]:
    change = _CHANGES.get(event.type)
    if change is None or event.record is None:
        raise ValueError(f"a delta FIFO takes no {event.type} event: it is about no object")
    return event.record.key, Delta(change, event.record)
