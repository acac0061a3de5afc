"""Relist: a snapshot on its way into the store, in steps of bounded size."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, Final

from kinformer.meta import ObjectKey, Record
from kinformer.store._deltas import Difference, Stored, Tombstone
from kinformer.store._identity import is_one_state, is_one_version
from kinformer.store._queue import Replacement
from kinformer.store._store import Store

__all__ = ["Relist"]


class Relist:
    """The replacement of a store's content, so that none of its steps holds the event loop for long.

    ``fill`` until it ``is_filled``; ``swap``; take the ``differences``; ``free`` until nothing is left. A reader sees
    the old content before the swap and the new one after it. A record with the uid and the version of the one that is
    stored makes way for that one, so that nothing is held twice. Indexes that are added on the way are in both.

    Invariant: until the swap the store is as it was, and from then on it is as it will be.
    """

    def __init__(
        self, store: Store, replacement: Replacement, admit: Callable[[Record], Record | None]
    ) -> None:
        self._store = store
        self._replacement: Final = replacement
        self._admit = admit
        self._old = store._content
        self._fresh = self._old.empty_copy()
        self._unseen = iter(self._old.records.values())
        self._is_read = self._is_filled = False
        self._changes: dict[ObjectKey, Record | None] = {}
        self._lost: list[Record] = []
        self._differences: Iterator[Difference] = iter(())
        self._garbage: deque[dict[Any, Any]] = deque()
        self.is_first: Final = replacement.is_initial and not self._old.records
        """Whether the store has never held anything. All of the content is new then, so no difference is kept."""

    @property
    def is_filled(self) -> bool:
        """Whether the new content is complete."""
        return self._is_filled

    def fill(self, limit: int) -> None:
        """Look at ``limit`` more records of the snapshot, or else of what is stored.

        Raises:
            Exception: What an index function raises, where nobody is told of it instead.
        """
        self._catch_up()
        looked_at = 0
        if not self._is_read:
            for record in islice(self._replacement.records, limit):
                looked_at += 1
                self._take(record)
            self._is_read = looked_at < limit
            return
        for record in islice(self._unseen, limit):
            looked_at += 1
            if record.key in self._fresh.records:
                continue
            if record.key in self._replacement.kept:
                self._fresh.adopt(record, self._old)
            else:
                self._lost.append(record)
        self._is_filled = looked_at < limit

    def swap(self) -> None:
        """Show the new content to the readers, at its version.

        Raises:
            RuntimeError: It is not filled, or was swapped before.
        """
        if not self._is_filled or self._store._content is not self._old:
            raise RuntimeError("a relist is swapped in once, when it is filled")
        self._catch_up()
        self._store._content = self._fresh
        self._store._version = self._replacement.version or self._store._version
        self._differences = self._in_order()
        self._garbage += (self._old.records, self._old.values)
        self._garbage += (index.keys for index in self._old.indexes.values())

    def differences(self, limit: int) -> list[Difference]:
        """The next ``limit`` differences between the old content and the new; fewer only at the end.

        Changes come in the order of the snapshot, deletions before them or after them, as the queue would have it.
        """
        return list(islice(self._differences, limit))

    def free(self, limit: int) -> bool:
        """Let go of ``limit`` entries of the old content, to be done when the differences have been taken.

        Returns:
            Whether more are left.
        """
        for _ in range(limit):
            while self._garbage and not self._garbage[-1]:
                self._garbage.pop()
            if not self._garbage:
                return False
            _, entry = self._garbage[-1].popitem()
            if isinstance(entry, dict):
                self._garbage.append(entry)
        return True

    def _take(self, record: Record) -> None:
        key = record.key
        old = self._old.records.get(key)
        best: Record | None = old
        if old is None or not is_one_version(old, record):
            admitted = self._admit(record)
            if admitted is not None and (old is None or not is_one_state(old, admitted)):
                best = admitted
        if best is None:
            return
        if best is old:
            self._fresh.adopt(best, self._old)
            self._changes.pop(key, None)  # of several records with one key the last counts
        else:
            self._fresh.put(best)
            if not self.is_first:
                self._changes[key] = old

    def _catch_up(self) -> None:
        """Add the indexes that were added to the old content meanwhile."""
        new = self._old.indexes.keys() - self._fresh.indexes.keys()
        if new:
            # In the order of the old content, on which ``adopt`` relies.
            self._fresh.add_indexers(
                {name: index.function for name, index in self._old.indexes.items() if name in new}
            )

    def _in_order(self) -> Iterator[Difference]:
        new = self._fresh.records
        changes = (Stored(old, new[key]) for key, old in self._changes.items())
        deletions = (Tombstone(record.key, record) for record in self._lost)
        return chain(deletions, changes) if self._replacement.deletes_first else chain(changes, deletions)
