"""Demux: one watch made into many, with a window of history for those who are slow or come late. Pure.

etcd's ``cache/demux.go``. A local watcher is active, and then told at once; or it lags, and then reads the history until
it has caught up. Whoever lags beyond the window is over.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from kinformer.apiserver.storage._errors import InconsistentError
from kinformer.apiserver.storage._keys import KeyRange
from kinformer.apiserver.storage._mvcc import Change
from kinformer.apiserver.storage._watch_messages import WatchResponse

__all__ = ["Demux", "LocalWatcher"]

_TOO_OLD = "etcdserver: mvcc: required revision has been compacted"


class LocalWatcher:
    """One watcher of a cache, made by ``Demux.register``.

    Invariant: all its changes before ``next`` have been put into its line.

    Attributes:
        keys: What it watches.
        next: The first revision that it still needs; 0 where it takes whatever comes first.
        is_over: Whether nothing more will be put into its line.
    """

    def __init__(self, demux: "Demux", keys: KeyRange, capacity: int, wake: Callable[[], None]) -> None:
        self.keys = keys
        self.next = 0
        self.is_over = False
        self._demux = demux
        self._capacity = capacity
        self._wake = wake
        self._line: deque[WatchResponse] = deque()

    def take(self) -> WatchResponse | None:
        """The next response, if there is any."""
        response = self._line.popleft() if self._line else None
        self._demux.refill(self)
        return response

    def push(self, response: WatchResponse) -> bool:
        """Put a response into the line, if there is room."""
        if len(self._line) >= self._capacity:
            return False
        self._line.append(response)
        self._wake()
        return True

    def end(self, last: WatchResponse | None = None) -> None:
        """Be over, behind what is in the line and a last response."""
        self.is_over = True
        if last is not None:
            self._line.append(last)
        self._wake()


class Demux:
    """The history of one watch, and its local watchers.

    Invariants: the history has one entry for each revision with changes, in order; it is whole from ``oldest`` to
    ``latest``; who is active has been told all of it.

    Args:
        window: Entries of the history.
        strict: Do as upstream does: whoever meets a gap between revisions lags until the next ``resync``, and so does
            whoever comes late. Otherwise they go on at once.

    Attributes:
        oldest: The first revision that is known; 0 before ``begin``.
        latest: The last one; 0 until something is known.
    """

    def __init__(self, window: int, *, strict: bool) -> None:
        self.oldest = 0
        self.latest = 0
        self._window = window
        self._strict = strict
        self._history: deque[tuple[int, tuple[Change, ...]]] = deque()
        self._active: dict[LocalWatcher, None] = {}
        self._lagging: dict[LocalWatcher, None] = {}

    @property
    def active(self) -> int:
        """How many watchers are told at once."""
        return len(self._active)

    @property
    def lagging(self) -> int:
        """How many watchers have to catch up."""
        return len(self._lagging)

    def begin(self, revision: int) -> None:
        """Follow a watch that was opened at this revision.

        Where it goes on just behind the last one, nobody notices. Otherwise something may have been missed: all
        watchers are over, and the history is forgotten.
        """
        if self.oldest and not (self.latest and revision == self.latest + 1):
            self.purge()
        self.oldest = self.oldest or revision

    def purge(self) -> None:
        """End all watchers, without a word, and forget the history."""
        for watcher in (*self._active, *self._lagging):
            watcher.end()
        self._active.clear()
        self._lagging.clear()
        self._history.clear()
        self.oldest = self.latest = 0

    def register(
        self, keys: KeyRange, revision: int, *, capacity: int, wake: Callable[[], None]
    ) -> LocalWatcher:
        """Add a watcher.

        Args:
            keys: What it watches.
            revision: Where it begins; 0 is behind all that is known.
            capacity: How many responses its line holds.
            wake: Called when there is something in it.
        """
        watcher = LocalWatcher(self, keys, capacity, wake)
        watcher.next = revision or (self.latest + 1 if self.latest else 0)
        is_late = revision > 0 and (revision <= self.latest or not self.latest)
        (self._lagging if is_late else self._active)[watcher] = None
        self.refill(watcher)
        return watcher

    def remove(self, watcher: LocalWatcher) -> None:
        """Tell a watcher nothing more."""
        watcher.is_over = True
        self._active.pop(watcher, None)
        self._lagging.pop(watcher, None)

    def broadcast(self, changes: Sequence[Change]) -> None:
        """Tell whole revisions.

        Raises:
            InconsistentError: One is not newer than what is known; nothing was told.
        """
        if not self.oldest:
            raise InconsistentError("changes came before the watch was opened")
        revisions = [
            (revision, tuple(group)) for revision, group in groupby(changes, lambda each: each.revision)
        ]
        last = self.latest
        for revision, _ in revisions:
            if revision <= last:
                raise InconsistentError(f"a change at revision {revision} comes behind revision {last}")
            last = revision
        for entry in revisions:
            self._history.append(entry)
            if len(self._history) > self._window:
                self.oldest = self._history.popleft()[0] + 1
        self.latest = last
        for watcher in list(self._active) if revisions else ():
            is_gap = watcher.next and revisions[0][0] > watcher.next
            if (self._strict and is_gap) or not self._tell(watcher, changes):
                self._move(watcher, is_active=False)
            else:
                watcher.next = max(watcher.next, last + 1)

    def progress(self, revision: int) -> None:
        """Tell that nothing happened up to a revision.

        Raises:
            InconsistentError: More than that is known.
        """
        if revision < self.latest:
            raise InconsistentError(f"progress at revision {revision} comes behind revision {self.latest}")
        if not self.latest and (self._strict or not self.oldest):
            return
        self.latest = revision
        for watcher in list(self._active):
            if watcher.next <= revision and watcher.push(WatchResponse(0, revision)):
                watcher.next = revision + 1

    def tell_progress(self, watcher: LocalWatcher) -> None:
        """Tell one watcher how far it has come, if it is active and anything is known."""
        if self.latest and watcher in self._active:
            watcher.push(WatchResponse(0, self.latest))

    def resync(self) -> None:
        """Let all who lag catch up, as far as there is room in their lines."""
        for watcher in list(self._lagging):
            self._catch_up(watcher)

    def refill(self, watcher: LocalWatcher) -> None:
        """Use the room in a line at once, unless that is to wait."""
        if not self._strict and watcher in self._lagging:
            self._catch_up(watcher)

    def _catch_up(self, watcher: LocalWatcher) -> None:
        if watcher.next < self.oldest:
            self.remove(watcher)
            watcher.end(
                WatchResponse(
                    0, self.latest, canceled=True, compact_revision=self.oldest, cancel_reason=_TOO_OLD
                )
            )
            return
        for revision, changes in self._history:
            if revision >= watcher.next:
                if not self._tell(watcher, changes):
                    return
                watcher.next = revision + 1
        if watcher.next <= self.latest:
            if not watcher.push(WatchResponse(0, self.latest)):
                return
            watcher.next = self.latest + 1
        self._move(watcher, is_active=True)

    def _tell(self, watcher: LocalWatcher, changes: Sequence[Change]) -> bool:
        """Put changes into a watcher's line as one response; whether it is done, or there was nothing to do."""
        events = tuple(
            [
                replace(change, previous=None)
                for change in changes
                if change.revision >= watcher.next and change.key in watcher.keys
            ]
        )
        return not events or watcher.push(WatchResponse(0, changes[-1].revision, events))

    def _move(self, watcher: LocalWatcher, *, is_active: bool) -> None:
        self.remove(watcher)
        watcher.is_over = False
        (self._active if is_active else self._lagging)[watcher] = None
