"""The one writer of a store; the informer owns it."""

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Final

from kinformer.meta import ObjectKey, Record
from kinformer.store._content import Content, IndexFailure
from kinformer.store._deltas import Change, Delta, Difference, Removed, Stored, Tombstone
from kinformer.store._identity import is_one_object, is_one_state
from kinformer.store._indexer import Indexer
from kinformer.store._queue import Replacement
from kinformer.store._relist import Relist
from kinformer.store._store import Store

__all__ = ["StoreWriter"]


class StoreWriter:
    """The write side of a store.

    Args:
        indexers: Index functions by name; more may be added later.
        index_failed: Told when an index function raises. The record is then stored and found under no value of that
            index. Without it the exception goes to the caller, and nothing has changed.
    """

    def __init__(
        self, indexers: Mapping[str, Indexer] | None = None, *, index_failed: IndexFailure | None = None
    ) -> None:
        self.store: Final = Store()
        self.store._content = Content(index_failed)
        self.add_indexers(indexers or {})

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Add indexes, and fill them from what is stored. All of them are added, or none.

        All in one go: with 100,000 records it takes some tens of milliseconds for each index, and as long again where
        a relist is being filled.

        Raises:
            ValueError: A name is taken.
            TypeError: What is given is no plain function.
            Exception: What an index function raises, where nobody is told of it instead.
        """
        content = self.store._content
        for name, function in indexers.items():
            if name in content.indexes:
                raise ValueError(f"index {name!r} exists already: choose another name")
            _refuse(name, function)
        content.add_indexers(indexers)

    def put(self, record: Record) -> Record | None:
        """Store a record, and give back the one that it took the place of."""
        return self.store._content.put(record)

    def remove(self, key: ObjectKey) -> Record | None:
        """Remove and give back the record of this key; ``None`` where there is none."""
        return self.store._content.remove(key)

    def clear(self) -> None:
        """Let go of all records, and tell nobody: what is not held elsewhere is freed at once."""
        self.store._content = self.store._content.empty_copy()

    def apply(self, delta: Delta) -> Difference | None:
        """Do what a delta says, and tell what that changed; ``None`` where it brought nothing new.

        Whether something is new is for the store to say, not for the delta. A deletion shows the last state that the
        server told; where that is of a successor of the same name, which nobody has seen, or is not to be had, it
        leaves a tombstone of what is stored.
        """
        content = self.store._content
        if delta.change is Change.DELETED or delta.record is None:
            gone = content.remove(delta.key)
            if gone is None:
                return None
            last = delta.record
            return (
                Tombstone(delta.key, gone) if last is None or not is_one_object(gone, last) else Removed(last)
            )
        old = content.records.get(delta.key)
        if old is not None and is_one_state(old, delta.record):
            return None
        content.put(delta.record)
        return Stored(old, delta.record)

    def publish(self, version: str) -> None:
        """Say at which version the content is now; ``""`` says nothing."""
        if version:
            self.store._version = version

    def relist(
        self, replacement: Replacement, admit: Callable[[Record], Record | None] = lambda record: record
    ) -> Relist:
        """Begin to replace the content by a snapshot.

        Nothing else may be written until the ``Relist`` is through with its differences. Dropped before its swap, it
        leaves nothing behind.

        Args:
            replacement: The snapshot; its records are used up.
            admit: Shapes a record that is not known yet before it is stored; gives ``None`` for one that cannot be
                had, so that what is known of it stays.
        """
        return Relist(self.store, replacement, admit)


def _refuse(name: str, function: object) -> None:
    if not callable(function) or iscoroutinefunction(function):
        raise TypeError(
            f"index {name!r}: {function!r} must be a plain function that gives the values of a record"
        )
