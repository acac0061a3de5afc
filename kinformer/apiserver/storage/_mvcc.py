"""Mvcc: keys with their history, as a plain structure that neither waits nor knows watchers.

What etcd does in ``server/storage/mvcc``, with a dict of histories and a sorted list of keys in place of its B-trees:
an insertion into a list of 100,000 keys takes 17 microseconds.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from operator import attrgetter

from kinformer.apiserver.storage._contracts import (
    Change,
    CompactedError,
    FutureRevisionError,
    KeyValue,
    RangeResult,
    StaleError,
)

__all__ = ["Mvcc"]

_revision = attrgetter("revision")


class Mvcc:
    """The revisions of all keys.

    Invariants: the revision grows by one with each change and by nothing else; the log holds every change from
    ``compacted`` on, in order, and each key's history holds the same changes and at most one older one, which is a put;
    a key without history is unknown. So memory is bounded by the live keys and the log.

    Args:
        first: The revision of the empty beginning; those before it count as compacted away.
    """

    def __init__(self, *, first: int = 1) -> None:
        self.revision = first
        self.compacted = first if first > 1 else 0
        self._histories: dict[str, list[Change]] = {}
        self._keys: list[str] = []
        self._log: list[Change] = []

    def __len__(self) -> int:
        """How many changes the log holds."""
        return len(self._log)

    def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """What a key held at a revision; 0 means now."""
        return self._at(key, self._readable(revision))

    def range(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """The keys with a prefix, from ``start`` on, at a revision; see ``KV.range``."""
        at = self._readable(revision)
        items: list[KeyValue] = []
        remaining = 0
        for value in self._values(prefix, start, at):
            if limit and len(items) == limit:
                remaining += 1
            else:
                items.append(value)
        return RangeResult(tuple(items), self.revision, remaining)

    def put(self, key: str, value: bytes, expected: int | None = None) -> Change:
        """Write a key; see ``KV.put``."""
        previous = self._expect(key, expected)
        revision = self.revision + 1
        created = previous.create_revision if previous else revision
        return self._append(Change(revision, key, KeyValue(key, value, created, revision), previous))

    def delete(self, key: str, expected: int | None = None) -> Change | None:
        """Remove a key; see ``KV.delete``."""
        previous = self._expect(key, expected)
        return self._append(Change(self.revision + 1, key, None, previous)) if previous else None

    def changes(self, prefix: str, start: int, most: int) -> tuple[list[Change], int]:
        """Up to ``most`` changes of keys with a prefix, from revision ``start`` on, and the revision that follows them.

        The second value is where to go on: behind the last change that was looked at.

        Raises:
            CompactedError: The changes at ``start`` are no longer kept.
        """
        if start < self.compacted:
            raise CompactedError(start, self.compacted)
        found: list[Change] = []
        first = self.revision + 1 - len(self._log)
        for index in range(max(0, start - first), len(self._log)):
            change = self._log[index]
            if change.key.startswith(prefix):
                found.append(change)
                if len(found) == most:
                    return found, change.revision + 1
        return found, max(start, self.revision + 1)

    def compact(self, revision: int) -> None:
        """Forget what is older than ``revision``; see ``KV.compact``."""
        if revision <= self.compacted:
            raise CompactedError(revision, self.compacted)
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)
        for key in {change.key for change in self._log[: bisect_right(self._log, revision, key=_revision)]}:
            self._trim(key, revision)
        del self._log[: bisect_left(self._log, revision, key=_revision)]
        self.compacted = revision

    def _readable(self, revision: int) -> int:
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)
        if 0 < revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        return revision or self.revision

    def _expect(self, key: str, expected: int | None) -> KeyValue | None:
        current = self._at(key, self.revision)
        if expected is not None and expected != (current.mod_revision if current else 0):
            raise StaleError(key, expected, current)
        return current

    def _at(self, key: str, revision: int) -> KeyValue | None:
        history = self._histories.get(key, ())
        if not history or history[-1].revision <= revision:
            return history[-1].current if history else None
        index = bisect_right(history, revision, key=_revision)
        return history[index - 1].current if index else None

    def _values(self, prefix: str, start: str, revision: int) -> Iterator[KeyValue]:
        for index in range(bisect_left(self._keys, max(prefix, start)), len(self._keys)):
            key = self._keys[index]
            if not key.startswith(prefix):
                return
            if (value := self._at(key, revision)) is not None:
                yield value

    def _append(self, change: Change) -> Change:
        history = self._histories.get(change.key)
        if history is None:
            history = self._histories[change.key] = []
            insort(self._keys, change.key)
        history.append(change)
        self._log.append(change)
        self.revision = change.revision
        return change

    def _trim(self, key: str, revision: int) -> None:
        """Keep the last change of a key at or before ``revision`` and what came behind it.

        A delete that is older than ``revision`` goes too; one at ``revision`` itself is still to be watched.
        """
        history = self._histories[key]
        last = bisect_right(history, revision, key=_revision) - 1
        is_needed = history[last].current is not None or history[last].revision == revision
        del history[: last if is_needed else last + 1]
        if not history:
            del self._histories[key]
            del self._keys[bisect_left(self._keys, key)]
