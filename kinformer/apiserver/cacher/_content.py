"""Content: the objects of a resource, as they are and as they were.

``watchCacheStorage`` of ``k8s.io/apiserver/pkg/storage/cacher`` keeps a persistent tree, and a snapshot of it for each
event. Here the present is kept, and the past is had by undoing what the history holds, which costs what has changed
since. What can be read is the same.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import Final

from kinformer.apiserver.cacher._event import CacheEvent, Element
from kinformer.apiserver.cacher._history import History
from kinformer.apiserver.storage import CompactedError, FutureRevisionError, InconsistentError, KeyRange

__all__ = ["Content", "Snapshot"]

_NEVER: Final = math.inf


class Snapshot:
    """What a range of keys held at a revision, in order of the keys.

    Nothing is copied: it reads the content that it was taken from, as far as somebody asks. So use it before anything else
    may change that, which is before the next await.

    Attributes:
        revision: That of the state it shows.
    """

    def __init__(
        self,
        revision: int,
        keys: Sequence[str],
        between: range,
        now: Mapping[str, Element],
        before: Mapping[str, Element | None],
    ) -> None:
        self.revision = revision
        self._keys = keys
        self._between = between
        self._now = now
        self._before = before
        self._back = sorted(key for key, was in before.items() if was is not None and key not in now)

    def __len__(self) -> int:
        new = sum(was is None and key in self._now for key, was in self._before.items())
        return len(self._between) - new + len(self._back)

    def __iter__(self) -> Iterator[Element]:
        if not self._before:
            return (self._now[self._keys[at]] for at in self._between)
        return self._past()

    def _past(self) -> Iterator[Element]:
        present = (self._keys[at] for at in self._between)
        for key in merge(present, self._back):
            element = self._before[key] if key in self._before else self._now[key]
            if element is not None:
                yield element


class Content:
    """The objects of a resource, and how far it has seen.

    Invariants: ``revision`` falls only by ``replace``; the history holds every change behind ``oldest``, so that the
    state at any revision from there on can be read.

    Args:
        history: Where the events go.

    Attributes:
        revision: Up to where it knows the storage; 0 until it was filled.
    """

    def __init__(self, history: History) -> None:
        self.revision = 0
        self._history = history
        self._elements: dict[str, Element] = {}
        self._keys: list[str] = []
        self._oldest: float = _NEVER
        self._last = 0  # the revision of the last event; what came as progress is not among them
        self._is_consistent = True

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self._elements)

    @property
    def oldest(self) -> float:
        """The first revision that can be read; infinite where only the present can."""
        return self._oldest

    def get(self, key: str) -> Element | None:
        """The object under a key."""
        return self._elements.get(key)

    def replace(self, elements: Iterable[Element], revision: int) -> None:
        """Begin anew with a list that was read at a revision; the past goes, and replays end."""
        self._elements = {element.key: element for element in elements}
        self._keys = sorted(self._elements)
        self._history.relist(revision)
        self.revision = revision
        self._last = 0
        if self._is_consistent:
            self._oldest = revision

    def apply(self, event: CacheEvent) -> None:
        """Take in an event.

        Raises:
            InconsistentError: It is not behind what is known.
        """
        self._check(event.revision)
        current = event.current
        if current is None:
            del self._elements[event.key]
            del self._keys[bisect_left(self._keys, event.key)]
        else:
            if event.key not in self._elements:
                insort(self._keys, event.key)
            self._elements[event.key] = current
        self.revision = self._last = event.revision
        self._history.append(event)
        if self._history.is_full:
            self.forget(self._history.first)

    def advance(self, revision: int) -> None:
        """Know that nothing else has happened up to a revision."""
        self.revision = max(self.revision, revision)

    def forget(self, revision: int) -> None:
        """Read nothing that is older than a revision any more, as after a compaction."""
        self._oldest = max(self._oldest, revision)

    def distrust(self) -> None:
        """Read nothing of the past, since it was seen to differ from the storage."""
        self._is_consistent = False
        self._oldest = _NEVER

    def trust(self) -> None:
        """Read what comes from now on; harmless where there was trust all the time."""
        if not self._is_consistent:
            self._is_consistent = True
            self._oldest = self.revision + 1

    def has(self, revision: int) -> bool:
        """Whether the state at a revision can be read."""
        return self._oldest <= revision <= self.revision

    def read(self, keys: KeyRange, revision: int = 0) -> Snapshot:
        """What a range holds, now or at a past revision.

        Raises:
            CompactedError: The revision cannot be read any more, or not from here.
            FutureRevisionError: It is yet to come.
        """
        before: dict[str, Element | None] = {}
        if revision:
            self._check_past(revision)
            for event in self._history.backwards(revision):
                if event.key in keys:
                    before[event.key] = event.previous
        end = len(self._keys) if keys.end is None else bisect_left(self._keys, keys.end)
        between = range(bisect_left(self._keys, keys.start), end)
        return Snapshot(revision or self.revision, self._keys, between, self._elements, before)

    def _check_past(self, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)
        if not self.has(revision):
            raise CompactedError(revision, int(min(self._oldest, self.revision)))

    def _check(self, revision: int) -> None:
        if revision < self.revision or (revision == self.revision and revision != self._last):
            raise InconsistentError(f"an event at revision {revision} comes behind revision {self.revision}")
