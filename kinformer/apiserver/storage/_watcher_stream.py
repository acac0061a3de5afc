"""A stream of watches: what each of them has to be told, in order. Pure: a shell empties it."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum, auto
from typing import Protocol

from kinformer.apiserver.storage._mvcc import Mvcc
from kinformer.apiserver.storage._watch_messages import NO_WATCH, WatchRequest, WatchResponse, fragments

__all__ = ["Place", "Watcher", "WatcherStream"]


class Place(Enum):
    """Where a watcher stands."""

    IN_STEP = auto()
    BEHIND = auto()
    BLOCKED = auto()
    """Behind, with a batch that did not fit into its stream."""
    COMPACTED = auto()
    """Over, but not cancelled by its client yet."""
    GONE = auto()


class Watcher:
    """One watch.

    Invariant: everything before ``next`` has been put into its stream, or is in ``pending``, or is filtered out.
    """

    __slots__ = ("id", "is_quiet", "next", "pending", "place", "request", "stream")

    def __init__(self, stream: "WatcherStream", watch_id: int, request: WatchRequest, following: int) -> None:
        self.stream = stream
        self.id = watch_id
        self.request = request
        self.next = following
        self.place = Place.GONE
        self.pending: WatchResponse | None = None
        self.is_quiet = True


class Owner(Protocol):
    """Who keeps the watchers of all streams."""

    def move(self, watcher: Watcher, place: Place) -> None:
        """Put a watcher where it belongs."""

    def refill(self, stream: "WatcherStream") -> None:
        """Use the room in a stream, if there is any."""


class WatcherStream:
    """What a client's watches have to tell it, in order; made by ``Watchers.open``.

    Everything leaves in the order in which it came about. Answers to requests are bounded by the number of requests, all
    else by the capacity.

    Attributes:
        late: Those of its watchers that are behind or blocked; kept by the owner.
    """

    def __init__(
        self, owner: Owner, core: Mvcc, wake: Callable[[], None], capacity: int, most_bytes: int
    ) -> None:
        self.wake = wake
        self._owner = owner
        self._core = core
        self._capacity = capacity
        self._most_bytes = most_bytes
        self._watchers: dict[int, Watcher] = {}
        self._next_id = 0
        self._queue: deque[tuple[Watcher | None, WatchResponse]] = deque()
        self._answers = 0
        self._pieces: deque[WatchResponse] = deque()
        self.late: dict[Watcher, None] = {}

    def __len__(self) -> int:
        """How many watches it has."""
        return len(self._watchers)

    @property
    def holds(self) -> int:
        """How many responses wait to be taken, besides the answers to requests."""
        return len(self._queue) - self._answers

    @property
    def is_exhausted(self) -> bool:
        """Whether everything up to the present has been taken."""
        return not (self._pieces or self._queue or self.late)

    def create(self, request: WatchRequest) -> None:
        """Open a watch; the answer tells its id, or why there is none."""
        now = self._core.revision
        if request.keys.is_empty:
            self._refuse("mvcc: watcher range is empty")
        elif request.watch_id and request.watch_id in self._watchers:
            self._refuse("mvcc: duplicate watch ID provided on the WatchStream")
        elif request.start_revision < 0:
            self._refuse("etcdserver: mvcc: required revision has been compacted")
        else:
            watch_id = request.watch_id or self._free_id()
            watcher = Watcher(self, watch_id, request, request.start_revision or now + 1)
            self._watchers[watch_id] = watcher
            self._answer(WatchResponse(watch_id, now, created=True))
            self._owner.move(watcher, Place.BEHIND if watcher.next <= now else Place.IN_STEP)
            self._owner.refill(self)

    def cancel(self, watch_id: int) -> None:
        """End a watch, of which nothing comes behind the answer; one that does not exist is ignored."""
        if (watcher := self._watchers.pop(watch_id, None)) is not None:
            self._owner.move(watcher, Place.GONE)
            self._answer(WatchResponse(watch_id, self._core.revision, canceled=True))

    def close(self) -> None:
        """End all of it."""
        for watcher in self._watchers.values():
            self._owner.move(watcher, Place.GONE)
        self._watchers.clear()
        self._pieces.clear()
        self._queue.clear()
        self._answers = 0

    def request_progress(self) -> None:
        """Tell behind all else how far the stream has come; in silence nothing, where a watch is not in step."""
        if self._watchers and self._are_in_step(self._watchers.values()):
            self.push(None, WatchResponse(NO_WATCH, self._core.revision))

    def report_progress(self) -> None:
        """Tell it to each watch that asked to be told and that has been quiet since the last time."""
        for watcher in self._watchers.values():
            if watcher.request.progress_notify:
                if watcher.is_quiet and self._are_in_step([watcher]):
                    self.push(watcher, WatchResponse(watcher.id, self._core.revision))
                watcher.is_quiet = True

    def take(self) -> WatchResponse | None:
        """The next response, if there is any."""
        while self._queue and not self._pieces:
            watcher, response = self._queue.popleft()
            if watcher is None:
                self._answers -= not response.is_progress
                self._pieces.append(response)
            elif watcher.place is not Place.GONE:
                self._pieces.extend(self._finished(watcher, response))
            self._owner.refill(self)
        return self._pieces.popleft() if self._pieces else None

    def push(self, watcher: Watcher | None, response: WatchResponse) -> bool:
        """Take a response in, if there is room."""
        if self.holds >= self._capacity:
            return False
        self._queue.append((watcher, response))
        self.wake()
        return True

    def _finished(self, watcher: Watcher, response: WatchResponse) -> Iterable[WatchResponse]:
        """A response as it leaves: with what keys held before, as far as that is still known, and in pieces."""
        if response.events:
            watcher.is_quiet = False
            known = self._core.compacted if watcher.request.prev_kv else self._core.revision + 1
            if any(event.previous is not None and event.revision <= known for event in response.events):
                events = [
                    replace(event, previous=None) if event.revision <= known else event
                    for event in response.events
                ]
                response = replace(response, events=tuple(events))
        return fragments(response, self._most_bytes) if watcher.request.fragment else (response,)

    def _are_in_step(self, watchers: Iterable[Watcher]) -> bool:
        """Whether all are, and none waits for a revision that is yet to come."""
        now = self._core.revision
        return all(w.place is Place.IN_STEP and w.request.start_revision <= now for w in watchers)

    def _refuse(self, reason: str) -> None:
        refusal = WatchResponse(
            NO_WATCH, self._core.revision, created=True, canceled=True, cancel_reason=reason
        )
        self._answer(refusal)

    def _answer(self, response: WatchResponse) -> None:
        self._answers += 1
        self._queue.append((None, response))
        self.wake()

    def _free_id(self) -> int:
        while self._next_id in self._watchers:
            self._next_id += 1
        self._next_id += 1
        return self._next_id - 1
