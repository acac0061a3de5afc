"""Watchers: who is told what, and who has to catch up first. Pure: streams are filled here and emptied by a shell.

etcd's ``server/storage/mvcc/watchable_store.go``: a watcher is in step, or behind; a change goes at once to those in
step; those behind read the log in passes; and whose stream is full keeps one batch until there is room, so that nobody
slow holds up the writer, and no compaction takes back what was already said.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Final

from kinformer.apiserver.storage._keys import KeyRange
from kinformer.apiserver.storage._mvcc import Change, Mvcc
from kinformer.apiserver.storage._watch_messages import WatchResponse
from kinformer.apiserver.storage._watcher_stream import Place, Watcher, WatcherStream

__all__ = ["Watchers"]

_BATCH: Final = 1000
"""Revisions in a response to a watcher that catches up."""

_PASS: Final = 512
"""Watchers that one pass serves."""


class Watchers:
    """All watchers of one storage.

    Invariants: a watcher that is in step has been told everything up to the present; one that is blocked has a pending
    batch and all others have none. Where catching up is eager, a stream that holds nothing has nobody behind.

    Args:
        core: The revisions.
        is_eager: Catch up as soon as a stream has room. Otherwise only in ``catch_up`` and ``retry``, which are to be
            called from time to time, as etcd does.

    Attributes:
        on_late: Called when somebody falls behind.
    """

    def __init__(self, core: Mvcc, *, is_eager: bool) -> None:
        self._core = core
        self.is_eager = is_eager
        self.on_late: Callable[[], None] = _nothing
        self._in_step: dict[KeyRange, dict[Watcher, None]] = {}
        self._behind: dict[Watcher, None] = {}
        self._blocked: dict[Watcher, None] = {}

    @property
    def behind(self) -> int:
        """How many have to catch up, without the blocked ones."""
        return len(self._behind)

    @property
    def blocked(self) -> int:
        """How many wait for room in their stream."""
        return len(self._blocked)

    def __len__(self) -> int:
        """How many there are that can still be told something."""
        return sum(map(len, self._in_step.values())) + len(self._behind) + len(self._blocked)

    def open(self, wake: Callable[[], None], *, capacity: int, most_bytes: int) -> "WatcherStream":
        """Open a stream.

        Args:
            wake: Called when there is something to take, or somebody has caught up.
            capacity: How many responses it holds, besides the answers to requests.
            most_bytes: From which size on responses are cut for watches that agree to it.
        """
        return WatcherStream(self, self._core, wake, capacity, most_bytes)

    def notify(self, changes: tuple[Change, ...]) -> None:
        """Tell a revision, which has just been committed, to those in step."""
        revision = changes[0].revision
        for keys, watchers in list(self._in_step.items()):
            events = tuple([change for change in changes if change.key in keys])
            if not events:
                continue
            for watcher in list(watchers):
                if watcher.next <= revision:
                    watcher.next = revision + 1
                    self._tell(watcher, WatchResponse(watcher.id, revision, events), Place.IN_STEP)

    def catch_up(self) -> None:
        """Give a batch to some hundreds of those behind, who have waited longest."""
        self._catch_up(list(islice(self._behind, _PASS)))

    def retry(self) -> None:
        """Offer all pending batches once more."""
        self._retry(list(self._blocked))

    def refill(self, stream: WatcherStream) -> None:
        """Use the room in a stream, where catching up is eager."""
        while self.is_eager and stream.late:
            self._retry([watcher for watcher in stream.late if watcher.place is Place.BLOCKED])
            self._catch_up([watcher for watcher in stream.late if watcher.place is Place.BEHIND])
            if stream.holds:
                break

    def move(self, watcher: Watcher, place: Place) -> None:
        """Put a watcher where it belongs."""
        keys = watcher.request.keys
        match watcher.place:
            case Place.IN_STEP:
                group = self._in_step[keys]
                del group[watcher]
                if not group:
                    del self._in_step[keys]
            case Place.BEHIND:
                del self._behind[watcher]
            case Place.BLOCKED:
                del self._blocked[watcher]
            case Place.COMPACTED | Place.GONE:
                pass
        watcher.place = place
        watcher.stream.late.pop(watcher, None)
        match place:
            case Place.IN_STEP:
                self._in_step.setdefault(keys, {})[watcher] = None
                watcher.stream.wake()
            case Place.BEHIND:
                self._behind[watcher] = None
            case Place.BLOCKED:
                self._blocked[watcher] = None
            case Place.COMPACTED | Place.GONE:
                watcher.pending = None
        if place in {Place.BEHIND, Place.BLOCKED}:
            watcher.stream.late[watcher] = None
            self.on_late()

    def _retry(self, blocked: Iterable[Watcher]) -> None:
        for watcher in blocked:
            if watcher.pending is not None and watcher.stream.push(watcher, watcher.pending):
                watcher.pending = None
                is_late = watcher.next <= self._core.revision
                self.move(watcher, Place.BEHIND if is_late else Place.IN_STEP)

    def _catch_up(self, behind: Iterable[Watcher]) -> None:
        now, compacted = self._core.revision, self._core.compacted
        found: dict[tuple[KeyRange, int], tuple[tuple[Change, ...], int]] = {}
        for watcher in behind:
            if watcher.next < compacted:
                over = WatchResponse(watcher.id, 0, canceled=True, compact_revision=compacted)
                if watcher.stream.push(watcher, over):
                    self.move(watcher, Place.COMPACTED)
                continue
            wanted = (watcher.request.keys, watcher.next)
            if wanted not in found:
                found[wanted] = self._core.changes(*wanted, _BATCH)
            events, more = found[wanted]
            watcher.next = more or now + 1
            self._tell(
                watcher, WatchResponse(watcher.id, now, events), Place.BEHIND if more else Place.IN_STEP
            )

    def _tell(self, watcher: Watcher, response: WatchResponse, place: Place) -> None:
        """Put a response into the watcher's stream, or keep it; and the watcher into its place."""
        request = watcher.request
        if request.no_put or request.no_delete:
            response = replace(response, events=tuple(filter(request.wants, response.events)))
        if response.events and not watcher.stream.push(watcher, response):
            watcher.pending, place = response, Place.BLOCKED
        if place is not watcher.place or place is Place.BEHIND:  # to the end of the line
            self.move(watcher, place)


def _nothing() -> None:
    """Whom nobody tells that somebody is late."""
