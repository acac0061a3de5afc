"""Deltas: what happened to one key, and how two of them become one."""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from kinformer.meta import ObjectKey, Record

__all__ = ["Change", "Delta", "Tombstone", "fold", "newest"]


class Change(StrEnum):
    """What happened (``cache.DeltaType``)."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    """Part of a new snapshot: added, updated or the same as before, as the store will tell."""
    SYNC = "Sync"
    """Shown once more without having changed."""


class Tombstone(msgspec.Struct, frozen=True, gc=False):
    """A deletion that nobody saw, with what was last known (``cache.DeletedFinalStateUnknown``)."""

    key: ObjectKey
    last_known: Record


class Delta(msgspec.Struct, frozen=True, gc=False):
    """One change of one key. Only a deletion may have a tombstone instead of a record."""

    change: Change
    obj: Record | Tombstone


Deltas: TypeAlias = list[Delta]


def fold(deltas: Deltas, new: Delta) -> None:
    """Append ``new``; of two deletions in a row the better informed one stays (``dedupDeltas``)."""
    if not deltas or deltas[-1].change is not Change.DELETED or new.change is not Change.DELETED:
        deltas.append(new)
    elif isinstance(deltas[-1].obj, Tombstone):
        deltas[-1] = new


def newest(deltas: Deltas) -> Record:
    """The newest record of a key with pending deltas."""
    obj = deltas[-1].obj
    return obj.last_known if isinstance(obj, Tombstone) else obj
