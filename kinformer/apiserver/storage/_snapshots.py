"""Snapshots: what a prefix holds, now and at some revisions before.

etcd's client-side cache keeps a copy of its tree for each revision; here the latest is kept whole, and of those before
it only what must be undone to see them.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence

from kinformer.apiserver.storage._errors import CompactedError, FutureRevisionError, InconsistentError
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._mvcc import Change
from kinformer.apiserver.storage._transactions import ReadResult

__all__ = ["Snapshots"]

_Undo = tuple[int, dict[str, KeyValue | None]]
"""A revision, and what the keys that it changed held before."""


class Snapshots:
    """The content of a prefix at the latest revision, and a window of those before.

    Invariants: ``revision`` never goes back but by ``restore``; the state at any revision from ``oldest`` to it can be
    read. At most ``window`` states are held: the latest one and those that can be had by undoing.

    Args:
        window: How many.

    Attributes:
        revision: The latest; 0 until there is any.
        oldest: The first that can be read.
    """

    def __init__(self, window: int) -> None:
        self.revision = 0
        self.oldest = 0
        self._window = window
        self._values: dict[str, KeyValue] = {}
        self._keys: list[str] = []
        self._undo: deque[_Undo] = deque()

    def restore(self, items: Iterable[KeyValue], revision: int) -> None:
        """Begin anew with what was read at a revision."""
        self._values = {value.key: value for value in items}
        self._keys = sorted(self._values)
        self._undo.clear()
        self.revision = self.oldest = revision

    def apply(self, changes: Sequence[Change]) -> None:
        """Take in whole revisions, all of them or none.

        Raises:
            InconsistentError: One is not newer than what is known, or deletes what is not there.
        """
        self._check(changes)
        for change in changes:
            if not self._undo or self._undo[-1][0] != change.revision:
                self._undo.append((change.revision, {}))
            self._undo[-1][1][change.key] = self._values.get(change.key)
            self._put(change.key, change.current)
            self.revision = change.revision
        while len(self._undo) >= self._window:
            self.oldest = self._undo.popleft()[0]

    def advance(self, revision: int) -> None:
        """Take in that nothing has changed up to a revision."""
        if self.revision:
            self.revision = max(self.revision, revision)

    def range(self, keys: KeyRange, revision: int = 0) -> ReadResult:
        """What a range holds at a revision; 0 is the latest.

        Raises:
            CompactedError: It is before the window.
            FutureRevisionError: It is yet to come.
        """
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)
        if 0 < revision < self.oldest:
            raise CompactedError(revision, self.oldest)
        before: dict[str, KeyValue | None] = {}
        for changed, undone in reversed(self._undo):
            if not 0 < revision < changed:
                break
            before.update(undone)
        found = [before.get(key, self._values[key]) for key in self._between(keys)]
        back = [value for key, value in before.items() if key in keys and key not in self._values]
        items = [value for value in (*found, *back) if value is not None]
        if back:
            items.sort(key=lambda value: value.key)
        return ReadResult(tuple(items), self.revision, len(items))

    def _check(self, changes: Sequence[Change]) -> None:
        gone: dict[str, bool] = {}
        last = self.revision
        for number, change in enumerate(changes):
            is_same = number and change.revision == last
            if change.revision <= last and not is_same:
                raise InconsistentError(
                    f"a change at revision {change.revision} comes behind revision {last}"
                )
            last = change.revision
            if change.current is None and gone.get(change.key, change.key not in self._values):
                raise InconsistentError(f"revision {last} deletes {change.key!r}, which is not there")
            gone[change.key] = change.current is None

    def _put(self, key: str, value: KeyValue | None) -> None:
        if value is None:
            del self._values[key]
            del self._keys[bisect_left(self._keys, key)]
            return
        if key not in self._values:
            insort(self._keys, key)
        self._values[key] = value

    def _between(self, keys: KeyRange) -> list[str]:
        end = len(self._keys) if keys.end is None else bisect_left(self._keys, keys.end)
        return self._keys[bisect_left(self._keys, keys.start) : end]
