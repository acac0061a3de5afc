"""Mvcc: keys with their history, as a plain structure that neither waits nor knows watchers.

What etcd does in ``server/storage/mvcc``, with a dict of histories and a sorted list of keys in place of its B-trees:
an insertion into a list of 100,000 keys takes 17 microseconds.
"""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from operator import attrgetter

from kinformer.apiserver.storage._errors import CompactedError, FutureRevisionError
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._transactions import ReadResult

__all__ = ["Change", "Mvcc"]

_revision = attrgetter("revision")
_NOTHING_COMPACTED = -1


@dataclass(frozen=True, slots=True)
class Change:
    """One put or delete.

    Attributes:
        revision: The revision that the change belongs to, together with the others of its transaction.
        current: What was put, ``None`` for a delete.
        previous: What the key held before, ``None`` where it did not exist, or where that is not told.
    """

    revision: int
    key: str
    current: KeyValue | None
    previous: KeyValue | None


class Mvcc:
    """The revisions of all keys.

    Changes are staged, seen by every read from then on, and become a revision with ``commit``. Nothing may wait between
    the first of them and the commit.

    Invariants: the revision grows by one with each commit that changes something, in which each key changes at most
    once; the log holds every change from ``compacted`` on, in order, and each key's history holds the same changes and
    at most one older one, which is a put; a key without history is unknown. So memory is bounded by the live keys and
    the log.

    Args:
        first: The revision of the empty beginning; those before it count as compacted away.
    """

    def __init__(self, *, first: int = 1) -> None:
        self.revision = first
        self.compacted = first if first > 1 else _NOTHING_COMPACTED
        self._first = first
        self._histories: dict[str, list[Change]] = {}
        self._keys: list[str] = []
        self._dead: list[str] = []  # those of the keys that do not exist now
        self._log: list[Change] = []
        self._staged = 0

    def __len__(self) -> int:
        """How many revisions can be watched."""
        return self.revision + 1 - max(self.compacted, self._first + 1)

    @property
    def head(self) -> int:
        """The revision with what is staged."""
        return self.revision + 1 if self._staged else self.revision

    def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """What a key held at a revision; 0 means now."""
        return self._at(key, self.check(revision))

    def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        """The keys of a range at a revision; see ``KV.range``."""
        at = self.check(revision)
        count = self._count(keys, at)
        items = () if count_only else self._values(keys, at, limit or count)
        return ReadResult(items, self.head, count)

    def put(self, key: str, value: bytes) -> Change:
        """Stage a write."""
        previous, revision = self._at(key, self.head), self.revision + 1
        if previous is not None:
            new = KeyValue(key, value, previous.create_revision, revision, previous.version + 1)
            return self._stage(Change(revision, key, new, previous))
        if key in self._histories:
            del self._dead[bisect_left(self._dead, key)]
        return self._stage(Change(revision, key, KeyValue(key, value, revision, revision, 1), None))

    def delete(self, keys: KeyRange) -> list[Change]:
        """Stage the removal of whatever a range holds."""
        single = keys.single
        if single is None:
            found = self._values(keys, self.head, len(self._keys))
        else:
            value = self._at(single, self.head)
            found = () if value is None else (value,)
        changes = []
        for value in found:
            insort(self._dead, value.key)
            changes.append(self._stage(Change(self.revision + 1, value.key, None, value)))
        return changes

    def commit(self) -> tuple[Change, ...]:
        """Make what was staged a revision, if there is anything, and give it in the order in which it was done."""
        changes = tuple(self._log[len(self._log) - self._staged :])
        if changes:
            self.revision += 1
            self._staged = 0
        return changes

    def changes(self, keys: KeyRange, start: int, most: int) -> tuple[tuple[Change, ...], int]:
        """The changes of a range from revision ``start`` on: those of up to ``most`` revisions, never a part of one.

        The second value is the first revision that was left out; 0 where none was.

        Raises:
            CompactedError: The changes at ``start`` are no longer kept.
        """
        if start < self.compacted:
            raise CompactedError(start, self.compacted)
        found: list[Change] = []
        last = revisions = 0
        for index in range(bisect_left(self._log, start, key=_revision), len(self._log)):
            change = self._log[index]
            if change.key not in keys:
                continue
            if change.revision != last:
                if revisions == most:
                    return tuple(found), change.revision
                last = change.revision
                revisions += 1
            found.append(change)
        return tuple(found), 0

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

    def check(self, revision: int) -> int:
        """The revision to read at for one that was asked for: itself, or the last one where it is 0 or less.

        Raises:
            CompactedError: It is too old.
            FutureRevisionError: It is yet to come.
        """
        if revision <= 0:
            return self.head
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        return revision

    def _at(self, key: str, revision: int) -> KeyValue | None:
        history = self._histories.get(key, ())
        if not history or history[-1].revision <= revision:
            return history[-1].current if history else None
        index = bisect_right(history, revision, key=_revision)
        return history[index - 1].current if index else None

    def _values(self, keys: KeyRange, at: int, most: int) -> tuple[KeyValue, ...]:
        found: list[KeyValue] = []
        start, end = _bounds(self._keys, keys)
        for index in range(start, end):
            if len(found) == most:
                break
            if (value := self._at(self._keys[index], at)) is not None:
                found.append(value)
        return tuple(found)

    def _count(self, keys: KeyRange, at: int) -> int:
        """How many keys exist: those of now, less what has come since, and what has gone.

        So a page costs the changes since its revision, and not the keys behind it.
        """
        count = _length(self._keys, keys) - _length(self._dead, keys)
        for index in range(bisect_right(self._log, at, key=_revision), len(self._log)):
            change = self._log[index]
            if (change.current is None or change.previous is None) and change.key in keys:
                count += 1 if change.current is None else -1
        return count

    def _stage(self, change: Change) -> Change:
        history = self._histories.get(change.key)
        if history is None:
            history = self._histories[change.key] = []
            insort(self._keys, change.key)
        history.append(change)
        self._log.append(change)
        self._staged += 1
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
            del self._dead[bisect_left(self._dead, key)]


def _bounds(ordered: list[str], keys: KeyRange) -> tuple[int, int]:
    start = bisect_left(ordered, keys.start)
    return start, len(ordered) if keys.end is None else bisect_left(ordered, keys.end)


def _length(ordered: list[str], keys: KeyRange) -> int:
    start, end = _bounds(ordered, keys)
    return max(0, end - start)
