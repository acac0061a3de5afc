"""Digest: from what happened to a key to what the store holds and what handlers are told. Pure."""

from collections.abc import Iterator

from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.meta import Record
from kinformer.store import Change, Popped, StoreWriter, Tombstone

__all__ = ["digest", "is_resync"]


def digest(popped: Popped, writer: StoreWriter) -> Iterator[Notification[Record]]:
    """Put a key's deltas into the store, and say what handlers are to be told of each.

    Whether something is an add or an update is for the store to say, not for the delta (``processDeltas``). Two
    things differ from client-go. An object whose uid has changed is told as a deletion and an add. A state that is
    known already is not told at all.
    """
    for delta in popped.deltas:
        match delta.obj:
            case Tombstone(key, last_known):
                if (old := writer.remove(key)) is not None:
                    yield Deleted(last_known if _is_one(old, last_known) else old, is_tombstone=True)
            case Record() as record if delta.change is Change.DELETED:
                if (old := writer.remove(record.key)) is not None:
                    # The deletion of a successor that nobody saw: what was known went before it, unseen too.
                    seen = _is_one(old, record)
                    yield Deleted(record if seen else old, is_tombstone=not seen)
            case Record() as record:
                yield from _put(
                    record, writer, is_initial=popped.is_initial, is_shown=delta.change is Change.SYNC
                )


def is_resync(notification: Notification[Record]) -> bool:
    """Whether it shows an object again that has not changed."""
    return isinstance(notification, Updated) and notification.old is notification.new


def _put(
    record: Record, writer: StoreWriter, *, is_initial: bool, is_shown: bool
) -> Iterator[Notification[Record]]:
    old = writer.store.get(record.key)
    if is_shown:
        if old is not None:
            yield Updated(old, old)
    elif old is None:
        writer.put(record)
        yield Added(record, is_initial)
    elif not _is_one(old, record):
        writer.put(record)
        yield Deleted(old, is_tombstone=True)
        yield Added(record, is_initial)
    elif not _is_unchanged(old, record):
        writer.put(record)
        yield Updated(old, record)


def _is_one(old: Record, new: Record) -> bool:
    """Whether both are states of one object, and not of two that had the name one after the other."""
    return old.metadata.uid == new.metadata.uid


def _is_unchanged(old: Record, new: Record) -> bool:
    """Whether the version is the same; objects of APIs without versions are compared as they are."""
    version = new.metadata.resource_version
    return old.metadata.resource_version == version and (bool(version) or old.raw == new.raw)
