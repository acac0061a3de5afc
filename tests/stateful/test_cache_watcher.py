"""One watch of the watch cache against a plain list of what has happened."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.apiserver.cacher import CacheEvent, Element, History
from kinformer.apiserver.cacher._encoded import Bookmark, Encoded, Selected
from kinformer.apiserver.cacher._replay import InitialState
from kinformer.apiserver.cacher._watcher import BookmarkState, CacheWatcher
from tests.unit.apiserver.cacher.watching import change, element, is_on

SIZE = 2
START = 1000


class WatcherMachine(RuleBasedStateMachine):
    """Objects come, change and go while a client reads or does not.

    The model holds the objects as they are, and what the client of the watch has made of what it was told: at each bookmark
    the two must have been the same.
    """

    @initialize(
        objects=st.sampled_from([0, 3, 520]),
        kind=st.sampled_from(["ends with a bookmark", "ends with a bookmark", "state", "history"]),
        is_selective=st.booleans(),
        bookmarks=st.sampled_from([True, True, False]),
        repeats=st.booleans(),
    )
    def begin(self, objects: int, kind: str, is_selective: bool, bookmarks: bool, repeats: bool) -> None:
        self.history = History(lowest=objects + 1, highest=objects + 1)
        self.events: list[CacheEvent] = []
        self.now: dict[str, Element] = {}
        """What there is."""
        self.known: dict[str, int] = {}
        """What the client knows: versions of objects."""
        self.past: dict[int, dict[str, int]] = {}
        """What it had to know at each revision."""
        self.revision = self.told = START
        self.is_selective = is_selective
        self.bookmarks, self.repeats = bookmarks, repeats
        self.owes = bookmarks and kind == "ends with a bookmark"
        self.ends = 0
        self.history.relist(START)
        if kind == "history":
            for number in range(objects):
                self.change("yes" if number % 2 else None, number % 7)
        else:
            elements = [element(n % START, "yes", f"default/{n:04}") for n in range(objects)]
            self.now = {each.key: each for each in elements}
        self.past[self.revision] = self.visible()
        replay: Any = self.history.since(START)
        if kind != "history":
            replay = InitialState(list(self.now.values()), 0.0)
        self.start = self.revision
        self.watcher = CacheWatcher(
            replay,
            self.start,
            size=SIZE,
            matches=is_on if is_selective else None,
            bookmarks=bookmarks,
            ends_with_bookmark=kind == "ends with a bookmark",
            repeats=repeats,
        )

    @rule(
        labels=st.lists(
            st.tuples(st.sampled_from(["yes", "no", None]), st.integers(0, 2)), min_size=1, max_size=8
        )
    )
    def happen(self, labels: list[tuple[str | None, int]]) -> None:
        for label, number in labels:
            for event in self.change(label, number):
                self.watcher.offer(Encoded(event))
            if self.watcher.room < 0:
                self.end()

    @rule(back=st.integers(1, 2))
    def offer_what_is_part_of_the_replay(self, back: int) -> None:
        for event in [event for event in self.events if event.revision <= self.start][-back:]:
            assert not self.watcher.offer(Encoded(event))

    @rule(back=st.integers(0, 2))
    def offer_a_bookmark(self, back: int) -> None:
        if not (back and self.repeats):  # it would be of a server that is behind what its client knows
            assert not (self.watcher.offer_bookmark(Bookmark(self.start - back)) and back)
        was_queued = self.watcher.offer_bookmark(Bookmark(self.revision))
        assert self.watcher.state is not BookmarkState.WAITING or not was_queued

    @rule(times=st.integers(1, 3))
    def read(self, times: int) -> None:
        for _ in range(times):
            for item in self.watcher.take():
                self.hear(item)

    @rule()
    def stop(self) -> None:
        if self.revision % 4 == 3:
            self.watcher.stop()

    def change(self, label: str | None, number: int) -> list[CacheEvent]:
        before = next((each for each in self.now.values() if each.key.endswith(f"/{number:04}")), None)
        if before is None and label is None:
            return []
        self.revision += 1
        was = before.labels["on"] if before else None
        event = change(self.revision, label, was, key=f"default/{number:04}")
        self.history.append(event)
        self.events.append(event)
        if event.current is None:
            del self.now[event.key]
        else:
            self.now[event.key] = event.current
        self.past[self.revision] = self.visible()
        return [event]

    def end(self) -> None:
        is_drained = self.watcher.state is BookmarkState.RECEIVED
        was_replaying = self.watcher.is_replaying
        self.watcher.end()
        kept = 2 * SIZE + 1 - self.watcher.room
        if is_drained:
            assert (kept, self.watcher.is_replaying) == (2 * SIZE + 1, was_replaying)
        else:
            assert not self.watcher.is_replaying
            assert kept <= SIZE + 1 if was_replaying else kept == SIZE + 1

    def hear(self, item: Selected | Bookmark) -> None:
        if isinstance(item, Bookmark):
            self.hear_bookmark(item)
            return
        is_live = item.version > self.start
        if item.version > START:
            assert item.version > self.told, "versions increase"
            self.told = item.version
        key = item.element.key
        assert not self.is_selective or is_on(item.element)
        if item.type == "DELETED":
            del self.known[key]
        else:
            assert (key in self.known) == (item.type == "MODIFIED")
            self.known[key] = item.version
        if is_live:
            assert self.ends or not self.owes, "nothing comes before the initial events end"
            assert self.known == self.past[item.version], "there is no gap"

    def hear_bookmark(self, bookmark: Bookmark) -> None:
        assert self.bookmarks
        assert bookmark.version >= max(self.told, self.start)
        assert bookmark.ends_initial_events == (self.owes and not self.ends)
        if not bookmark.ends_initial_events and not (self.repeats or self.owes):
            assert bookmark.version > self.start
        self.ends += bookmark.ends_initial_events
        self.told = bookmark.version
        assert self.known == self.past[bookmark.version]

    def visible(self) -> dict[str, int]:
        return {
            key: each.revision
            for key, each in self.now.items()
            if not self.is_selective or each.labels["on"] == "yes"
        }

    @invariant()
    def the_queue_is_bounded(self) -> None:
        if hasattr(self, "watcher"):
            assert self.watcher.room >= 0

    def teardown(self) -> None:
        if not hasattr(self, "watcher"):
            return
        was_open = not self.watcher.is_closed
        for _ in range(5):
            self.read(1)
        assert not self.watcher.is_replaying
        if was_open:
            assert self.known == self.visible()
            assert self.ends == self.owes
        else:
            assert self.watcher.is_over


TestCacheWatcher = WatcherMachine.TestCase
TestCacheWatcher.settings = settings(max_examples=40, stateful_step_count=15)
