"""Deltas: what happened to one key, and how two of them become one. Differences: what that changed in the store."""

from enum import StrEnum
from typing import Final, Self, TypeAlias

import msgspec

from kinformer.meta import EventType, ObjectKey, Record, WatchEvent

__all__ = ["Change", "Delta", "Difference", "Removed", "Stored", "Tombstone", "fold"]


class Change(StrEnum):
    """What happened (``cache.DeltaType``). Snapshots and resyncs are no deltas; see ``Replacement`` and ``Resync``."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"


_CHANGES: Final = {
    EventType.ADDED: Change.ADDED,
    EventType.MODIFIED: Change.UPDATED,
    EventType.DELETED: Change.DELETED,
}


class Delta(msgspec.Struct, frozen=True, gc=False):
    """One change of one key."""

    change: Change
    key: ObjectKey
    record: Record | None
    """The new state, or the last one of a deletion; ``None`` for a deletion whose last state is not to be had."""

    @classmethod
    def of(cls, event: WatchEvent) -> Self:
        """The delta of an event.

        Raises:
            ValueError: It is a bookmark or an error.
        """
        change = _CHANGES.get(event.type)
        if change is None or event.record is None:
            raise ValueError(f"a {event.type} event is no delta: it is about no object")
        return cls(change, event.record.key, event.record)


class Stored(msgspec.Struct, frozen=True, gc=False):
    """The store has a new state of an object, or has an object that it did not have."""

    old: Record | None
    new: Record


class Removed(msgspec.Struct, frozen=True, gc=False):
    """The store has lost an object, whose last state the server told."""

    record: Record


class Tombstone(msgspec.Struct, frozen=True, gc=False):
    """The store has lost an object unseen; this is what was last known (``cache.DeletedFinalStateUnknown``)."""

    key: ObjectKey
    last_known: Record


Difference: TypeAlias = Stored | Removed | Tombstone
"""What changed in the store."""


def fold(deltas: list[Delta], new: Delta) -> bool:
    """Append ``new``; of two deletions in a row the better informed one stays (``dedupDeltas``).

    Returns:
        Whether there is one more now.
    """
    if not deltas or deltas[-1].change is not Change.DELETED or new.change is not Change.DELETED:
        deltas.append(new)
        return True
    if deltas[-1].record is None:
        deltas[-1] = new
    return False
