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
LABELS = st.sampled_from(["yes", "no", None])


class WatcherMachine(RuleBasedStateMachine):
    """Objects come, change and go while a client reads or does not.

    The model holds the objects as they are, and what the client of the watch has made of what it was told: at each bookmark
    the two must have been the same.
    """

    @initialize(
        objects=st.sampled_from([0, 3, 520]),
        is_selective=st.booleans(),
        is_state=st.booleans(),
        bookmarks=st.booleans(),
        owes=st.booleans(),
        repeats=st.booleans(),
    )
    def begin(self, objects: int, is_selective: bool, is_state: bool, **options: bool) -> None:
        self.history = History(lowest=objects + 1, highest=objects + 1)
        self.now: dict[str, Element] = {}
        """What there is."""
        self.known: dict[str, int] = {}
        """What the client knows: versions of objects."""
        self.past: dict[int, dict[str, int]] = {}
        """What it had to know at each revision."""
        self.revision = START
        self.is_selective = is_selective
        self.told = START
        self.ends = 0
        self.history.relist(START)
        if is_state:
            elements = [element(n % START, "yes", f"default/{n:04}") for n in range(objects)]
            self.now = {each.key: each for each in elements}
        else:
            for number in range(objects):
                self.happen("yes" if number % 2 else None, number % 7, is_offered=False)
        self.past[self.revision] = self.visible()
        self.owes = options["owes"] and options["bookmarks"] and is_state
        self.bookmarks = options["bookmarks"]
        self.repeats = options["repeats"]
        replay: Any = InitialState(list(self.now.values()), 0.0) if is_state else self.history.since(START)
        self.watcher = CacheWatcher(
            replay,
            self.revision if is_state else START,
            size=SIZE,
            matches=is_on if is_selective else None,
            bookmarks=self.bookmarks,
            bookmark_after=self.revision if self.owes else 0,
            repeats=self.repeats,
        )
        self.replayed_to = self.revision

    @rule(label=LABELS, number=st.integers(0, 6))
    def happen(self, label: str | None, number: int, *, is_offered: bool = True) -> None:
        key = f"default/{number:04}"
        before = next((each for each in self.now.values() if each.key.endswith(key)), None)
        if before is None and label is None:
            return
        self.revision += 1
        event: CacheEvent = change(self.revision, label, before.labels["on"] if before else None, key=key)
        self.history.append(event)
        if event.current is None:
            del self.now[event.key]
        else:
            self.now[event.key] = event.current
        self.past[self.revision] = self.visible()
        if is_offered:
            self.watcher.offer(Encoded(event))
            if self.watcher.room < 0:
                self.watcher.end()

    @rule(later=st.integers(-2, 2))
    def offer_a_bookmark(self, later: int) -> None:
        version = self.revision + min(0, later)
        is_waiting = self.watcher.state is BookmarkState.WAITING
        was_queued = self.watcher.offer_bookmark(Bookmark(self.revision))
        assert not was_queued or (self.bookmarks and not self.watcher.is_closed)
        if is_waiting and was_queued:
            assert self.watcher.state is BookmarkState.RECEIVED
        if version < self.replayed_to and self.owes:
            assert not self.watcher.offer_bookmark(Bookmark(version))

    @rule(times=st.integers(1, 4))
    def read(self, times: int) -> None:
        for _ in range(times):
            for item in self.watcher.take():
                self.hear(item)

    @rule()
    def stop(self) -> None:
        if self.revision % 3 == 0:
            self.watcher.stop()

    def hear(self, item: Selected | Bookmark) -> None:
        if isinstance(item, Bookmark):
            assert self.bookmarks
            assert item.version >= self.told
            if item.ends_initial_events:
                self.ends += 1
                assert item.version >= self.replayed_to
            elif not self.repeats:
                assert item.version > START
            assert self.ends == 1 or not self.owes, "nothing comes before the initial events end"
            assert self.known == self.past[item.version]
            self.told = item.version
            return
        if item.version > START:
            assert item.version > self.told, "versions increase"
            self.told = item.version
        key, is_new = item.element.key, item.element.key not in self.known
        match item.type:
            case "DELETED":
                del self.known[key]
            case "ADDED":
                assert is_new
                self.known[key] = item.version
            case "MODIFIED":
                assert not is_new
                self.known[key] = item.version
        if item.version > self.replayed_to:
            assert self.ends == 1 or not self.owes
            assert self.known == self.past[item.version], "there is no gap"

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
            assert self.ends <= self.owes

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
TestCacheWatcher.settings = settings(max_examples=30, stateful_step_count=20)
