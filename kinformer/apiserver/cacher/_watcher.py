"""CacheWatcher: what one watch is still to be told, as a plain structure that neither waits nor knows the time.

``cacheWatcher`` of ``k8s.io/apiserver/pkg/storage/cacher``. There, two queues of n events and a goroutine with one in hand
lie between the cache and the client; here it is one queue that holds as much, 2n + 1.
"""

import math
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from kinformer.apiserver.cacher._encoded import Bookmark, Encoded, Matches, Selected
from kinformer.apiserver.cacher._history import FRESH, EvictedError
from kinformer.apiserver.cacher._replay import Replay
from kinformer.apiserver.cacher._scopes import Scope
from kinformer.apiserver.storage import KeyRange

__all__ = ["BookmarkState", "CacheWatcher", "queue_size"]

_SHORTEST, _LONGEST, _LONGEST_UNINDEXED = 10, 100, 1000

_PIECE: Final = 500
"""How many changes of the replay are looked at in one go."""


def queue_size(
    capacity: int, window: float = FRESH, *, has_index: bool = False, uses_index: bool = False
) -> int:
    """How many events a watcher's queues hold: as many as come in a second, when the history is as long as it must be.

    Args:
        capacity: Of the history, in events.
        window: Seconds that the history is to cover.
        has_index: Whether watchers of the resource can be found by what they select, such as the node of a pod.
        uses_index: Whether this one is found so; then it gets few events, and has the shortest queue.
    """
    if uses_index:
        return _SHORTEST
    longest = _LONGEST_UNINDEXED if has_index else _LONGEST
    return min(longest, max(_SHORTEST, math.ceil(capacity / window)))


class BookmarkState(Enum):
    """How far a watch is with the bookmark that ends its initial events."""

    WAITING = "waiting"
    """None that is new enough has come."""
    RECEIVED = "received"
    """It lies in the queue."""
    SENT = "sent"
    """It was handed out, or none was wanted."""


class CacheWatcher:
    """A watch: what it replays, and then the queue of what has happened since.

    Invariants: what is handed out has increasing versions, except for the initial state, whose versions are those of its
    objects; nothing at or before ``start`` comes from the queue; exactly one bookmark ends the initial events, where one
    is wanted, and it comes behind all of them and before everything later.

    Args:
        replay: What comes first: the state, or the changes behind some revision.
        start: The revision up to which ``replay`` tells everything, or a later one up to which nothing is wanted.
        size: What upstream would call the size of its queue, see ``queue_size``.
        scope: The objects that it can see, which whoever offers changes goes by.
        keys: The same for ``replay``, which may tell of other objects too.
        matches: Which of them it shows; ``None`` shows all.
        deadline: When it ends, on the clock that whoever offers bookmarks goes by.
        bookmarks: Whether it wants bookmarks.
        ends_with_bookmark: Whether a bookmark is to end the initial events; it needs ``bookmarks``.
        repeats: Whether a bookmark may say again what ``start`` said already, or less, where ``start`` is a revision of the
            future: so a client hears that the server lives, and notices one that was restored from a backup. Upstream's
            may not, and nothing at all comes while nothing happens.
    """

    def __init__(
        self,
        replay: Replay,
        start: int,
        *,
        size: int,
        scope: Scope = Scope(),  # noqa: B008 -- immutable
        keys: KeyRange = KeyRange.prefix(""),  # noqa: B008 -- immutable
        matches: Matches | None = None,
        deadline: float = math.inf,
        bookmarks: bool = False,
        ends_with_bookmark: bool = False,
        repeats: bool = True,
    ) -> None:
        self.scope = scope
        self.deadline = deadline
        self.bookmarks = bookmarks
        self.wake: Callable[[], None] = _nobody
        self._replay: Replay | None = replay
        self._start = start
        self._size = size
        self._capacity = 2 * size + 1
        self._keys = keys
        self._matches = matches
        self._repeats = repeats
        self._queue: deque[Selected | Bookmark] = deque()
        self._state = BookmarkState.WAITING if bookmarks and ends_with_bookmark else BookmarkState.SENT
        self._is_closed = False

    @property
    def state(self) -> BookmarkState:
        """How far it is with the bookmark that ends its initial events."""
        return self._state

    @property
    def room(self) -> int:
        """How many events it can still take; negative where it was offered more."""
        return self._capacity - len(self._queue)

    @property
    def is_closed(self) -> bool:
        """Whether it takes nothing more; what it has may still be read."""
        return self._is_closed

    @property
    def is_over(self) -> bool:
        """Whether nothing will ever come from it again."""
        return self._is_closed and self._replay is None and not self._queue

    @property
    def is_replaying(self) -> bool:
        """Whether there is more to replay, so that ``take`` is worth while."""
        return self._replay is not None

    def offer(self, encoded: Encoded) -> bool:
        """Queue a change, if it shows it; whether something was queued.

        One that there is no room for is queued too: whoever offers it closes the watcher unless ``room`` comes back.
        """
        if self._is_closed or encoded.event.revision <= self._start:
            return False
        if (selected := encoded.select(self._matches)) is None:
            return False
        self._queue.append(selected)
        self.wake()
        return True

    def offer_bookmark(self, bookmark: Bookmark) -> bool:
        """Queue a bookmark, if it wants it and there is room; whether something was queued."""
        if self._is_closed or not self.bookmarks or self.room <= 0:
            return False
        is_owed = self._state is not BookmarkState.SENT
        if (
            bookmark.version < self._start
            if is_owed
            else bookmark.version <= self._start and not self._repeats
        ):
            return False
        self._queue.append(bookmark)
        if self._state is BookmarkState.WAITING:
            self._state = BookmarkState.RECEIVED
        self.wake()
        return True

    def end(self) -> None:
        """Close it because it is too slow.

        When the bookmark that ends its initial events is in the queue already, all that was queued can still be read:
        its client has the whole state then, and goes on from there. Else what has come no further than upstream's first
        queue is dropped, and what is still to be replayed too.
        """
        if self._state is BookmarkState.RECEIVED:
            self._close(self._capacity)
        else:
            self.stop()

    def stop(self) -> None:
        """Close it at once, for a reason that is not its own: what was on its way out can still be read."""
        if self._replay is not None:
            self._hurry(self._replay)
        self._close(self._size + 1)

    def take(self) -> list[Selected | Bookmark]:
        """What is to be told next: a piece of the replay, or its end with all of the queue behind it.

        May be nothing, though ``is_replaying``: when nothing of a piece is shown.
        """
        taken: list[Selected | Bookmark] = []
        if self._replay is not None:
            try:
                taken = self._take_replay(self._replay, _PIECE)
            except EvictedError:
                self._replay = None
                self._close(0)
            if self._replay is not None:
                return taken
        taken += [self._hand_out(each) for each in self._queue]
        self._queue.clear()
        return taken

    def _hurry(self, replay: Replay) -> None:
        """Put what of the replay was on its way out in front of the queue, and forget the rest."""
        try:
            on_its_way = self._take_replay(replay, self._size + 1)
        except EvictedError:
            on_its_way = []
        if self._replay is not None:  # there was more, so nothing behind it may be told
            self._replay = None
            self._queue.clear()
        self._queue.extendleft(reversed(on_its_way))

    def _take_replay(self, replay: Replay, most: int) -> list[Selected | Bookmark]:
        events = replay.take(most)
        selected = (Encoded(event).select(self._matches) for event in events if event.key in self._keys)
        taken: list[Selected | Bookmark] = [each for each in selected if each is not None]
        if len(events) < most:
            self._replay = None
            if self._state is not BookmarkState.SENT:
                taken.append(self._hand_out(Bookmark(self._start)))
        return taken

    def _hand_out(self, item: Selected | Bookmark) -> Selected | Bookmark:
        if not isinstance(item, Bookmark) or self._state is BookmarkState.SENT:
            return item
        self._state = BookmarkState.SENT
        return Bookmark(item.version, ends_initial_events=True)

    def _close(self, keep: int) -> None:
        self._is_closed = True
        while len(self._queue) > keep:
            self._queue.pop()
        self.wake()


def _nobody() -> None:
    """Who is woken before anybody reads."""
