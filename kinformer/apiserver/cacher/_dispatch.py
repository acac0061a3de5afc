"""Dispatcher: brings what has happened to those who watch, and ends those who do not read.

The part of ``Cacher`` (``k8s.io/apiserver/pkg/storage/cacher``) that knows watchers. Upstream waits for slow ones while it
dispatches; here they get the same time while the others go on.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from anyio.lowlevel import checkpoint

from kinformer.apiserver.cacher._budget import TimeBudget
from kinformer.apiserver.cacher._calendar import Calendar, bookmark_time
from kinformer.apiserver.cacher._encoded import Bookmark, Encoded
from kinformer.apiserver.cacher._event import CacheEvent
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._scopes import Scopes
from kinformer.apiserver.cacher._watcher import BookmarkState, CacheWatcher
from kinformer.clock import Clock, Timer

__all__ = ["Dispatcher"]

_TICK: Final = (1.0, 1.25)
"""Seconds between two looks at who is due for a bookmark, by chance."""

_TURNS: Final = 32
"""Turns of the event loop that readers get when a queue is full. Upstream's run on other processors meanwhile."""

_MOST_PENDING: Final = 100
"""Events beyond its queue that a watcher is let have while it is waited for; so many wait upstream before its cache."""


class Dispatcher:
    """The watchers of one resource.

    A change goes to all whom it can concern before anybody is waited for. Whoever has no room gets some turns of the event
    loop and then what there is of the time budget, all of them the same; then they are ended. The others notice nothing.

    There is one timer for the bookmarks of all, and one while somebody is waited for; none while neither is the case.

    Args:
        prefix: What the keys of the resource begin with; behind it come a namespace, if any, and the name.
        clock: What deadlines and the budget are measured on.
        random: Spreads the bookmarks.
        metrics: Where events and ended watchers are counted.
        ask: Asks for progress, so that bookmarks tell the latest; ``progress`` is called with the answer. ``None``
            lets them tell what is known.
        budget: How long slow watchers are waited for; upstream's by default.
    """

    def __init__(
        self,
        prefix: str,
        *,
        clock: Clock,
        random: Random,
        metrics: Metrics,
        ask: Callable[[], None] | None = None,
        budget: TimeBudget | None = None,
    ) -> None:
        now = clock.monotonic()
        self._prefix = prefix
        self._revision = 0
        self._brought = 0  # the revision of the last change, of which more may follow
        self._clock = clock
        self._random = random
        self._metrics = metrics
        self._ask = ask
        self._budget = budget or TimeBudget(now)
        self._scopes = Scopes[CacheWatcher]()
        self._calendar = Calendar[CacheWatcher](now)
        self._waiting: set[CacheWatcher] = (
            set()
        )  # in the calendar, for want of the bookmark that ends initial events
        self._tick_timer: Timer | None = None
        self._tick_at = 0.0
        self._is_offering = False
        self._blocked: dict[CacheWatcher, None] = {}
        self._patience: Timer | None = None
        self._patient_until = 0.0

    def __len__(self) -> int:
        """How many watchers there are."""
        return len(self._scopes)

    def join(self, watcher: CacheWatcher) -> None:
        """Bring it everything from now on. Nothing may be awaited between making its replay and this."""
        self._scopes.add(watcher, watcher.scope)
        self._enter(watcher)
        self._set_tick()

    def leave(self, watcher: CacheWatcher) -> None:
        """Forget a watcher; harmless when it has left."""
        self._scopes.discard(watcher)
        self._calendar.discard(watcher)
        self._waiting.discard(watcher)
        self._relieve(watcher)
        if not self._calendar:
            self._stop_ticking()

    def was_read(self, watcher: CacheWatcher) -> None:
        """Hear that a watcher was read from: it may have room again, or have the bookmark that it was waiting for."""
        if watcher in self._waiting and watcher.state is not BookmarkState.WAITING:
            self._enter(watcher)
        if watcher in self._blocked and watcher.room >= 0:
            self._relieve(watcher)

    async def dispatch(self, event: CacheEvent) -> None:
        """Bring a change to all whom it concerns; let readers run where a queue is full.

        It waits for turns of the event loop only, and not at all while there is room. When it is cancelled, the change
        has been brought to everybody.
        """
        self._brought = event.revision
        namespace, _, name = event.key[len(self._prefix) :].rpartition("/")
        encoded = Encoded(event)
        self._metrics.count("apiserver_watch_cache_events_dispatched_total")
        told = [watcher for watcher in self._scopes.of(namespace, name) if watcher.offer(encoded)]
        crowd = [watcher for watcher in told if watcher.room <= 0]
        if crowd:
            try:
                for _ in range(_TURNS):
                    await checkpoint()
                    if all(watcher.room > 0 for watcher in crowd):
                        return
            finally:
                self._wait_for([watcher for watcher in crowd if watcher.room < 0])

    def progress(self, revision: int) -> None:
        """Hear that everything up to a revision has been dispatched.

        To be called behind the changes of each batch, since only then bookmarks can tell of them.
        """
        self._revision = max(self._revision, revision)
        if self._is_offering:
            self._offer_bookmarks()

    def restart(self) -> None:
        """End everybody: what they have missed is not known."""
        for watcher in list(self._scopes):
            watcher.stop()
            self.leave(watcher)
        self._revision = self._brought = 0

    def _wait_for(self, slow: list[CacheWatcher]) -> None:
        """Wait for slow watchers as long as the budget lets, and then end them."""
        slow = [watcher for watcher in slow if watcher in self._scopes]
        if not slow:
            return
        now = self._clock.monotonic()
        if self._patience is None and (seconds := self._budget.take(now)) > 0:
            self._patient_until = now + seconds
            self._patience = self._clock.call_at(self._patient_until, self._lose_patience)
        for watcher in slow:
            if self._patience is None or watcher.room < -_MOST_PENDING:
                self._end(watcher)
            else:
                self._blocked[watcher] = None

    def _lose_patience(self) -> None:
        self._patience = None
        for watcher in list(self._blocked):
            self._end(watcher)

    def _end(self, watcher: CacheWatcher) -> None:
        self._metrics.count("apiserver_watch_cache_terminated_watchers_total")
        watcher.end()
        self.leave(watcher)

    def _relieve(self, watcher: CacheWatcher) -> None:
        if watcher not in self._blocked:
            return
        del self._blocked[watcher]
        if self._patience is not None and not self._blocked:
            self._patience.cancel()
            self._patience = None
            now = self._clock.monotonic()
            self._budget.give_back(self._patient_until - now, now)

    def _enter(self, watcher: CacheWatcher) -> None:
        """Note when it is due for its next bookmark, if it is to get one."""
        if not watcher.bookmarks:
            return
        if is_waiting := watcher.state is BookmarkState.WAITING:
            self._waiting.add(watcher)
        else:
            self._waiting.discard(watcher)
        due = bookmark_time(self._clock.monotonic(), watcher.deadline, is_waiting=is_waiting)
        if due is None:
            self._calendar.discard(watcher)
        else:
            self._calendar.add(watcher, due)

    def _set_tick(self) -> None:
        """See that somebody looks once the next is due; ticks that would find nobody are left out."""
        due = self._calendar.next_due
        if due is None:
            return
        shortest, longest = _TICK
        now = self._clock.monotonic()
        begin = max(now, due - shortest)
        if self._tick_timer is not None:
            if self._tick_at <= begin + longest:
                return
            self._tick_timer.cancel()
        self._tick_at = begin + self._random.uniform(shortest, longest)
        self._tick_timer = self._clock.call_at(self._tick_at, self._tick)

    def _stop_ticking(self) -> None:
        self._is_offering = False
        if self._tick_timer is not None:
            self._tick_timer.cancel()
            self._tick_timer = None

    def _tick(self) -> None:
        self._tick_timer = None
        due = self._calendar.next_due
        if due is not None and due <= self._clock.monotonic():
            was_offering, self._is_offering = self._is_offering, True
            if self._ask is None or was_offering:  # no answer since the last tick: what is known will do
                self._offer_bookmarks()
            else:
                self._ask()
        self._set_tick()

    def _offer_bookmarks(self) -> None:
        if self._revision < self._brought:
            return  # in the midst of a batch, whose end will be told
        self._is_offering = False
        bookmark = Bookmark(self._revision)
        for watcher in self._calendar.take(self._clock.monotonic()):
            watcher.offer_bookmark(bookmark)
            self._enter(watcher)
        self._stop_ticking()
        self._set_tick()
