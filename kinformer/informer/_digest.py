"""Digest: from what changed in the store to what handlers are told. Pure."""

from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.meta import Record
from kinformer.store import Difference, Removed, Stored, Tombstone

__all__ = ["told_of"]


def told_of(difference: Difference) -> tuple[Notification[Record], ...]:
    """What handlers are told of a difference.

    Two things differ from client-go. An object whose uid has changed is told as a deletion and an add, not as an
    update. And since the store tells of no difference where it has none, neither a state that is known already nor the
    deletion of what it did not hold is told.
    """
    match difference:
        case Stored(old, new):
            if old is None:
                return (Added(new),)
            if old.metadata.uid == new.metadata.uid:
                return (Updated(old, new),)
            return (Deleted(old, is_tombstone=True), Added(new))
        case Removed(record):
            return (Deleted(record),)
        case Tombstone(_, last_known):
            return (Deleted(last_known, is_tombstone=True),)
