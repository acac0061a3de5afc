"""The dispatcher against a plain list of what has happened, with watchers that read, are slow, and leave."""

import asyncio
from dataclasses import dataclass, field
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.cacher import Metrics
from kinformer.apiserver.cacher._budget import TimeBudget
from kinformer.apiserver.cacher._dispatch import Dispatcher
from kinformer.apiserver.cacher._encoded import Bookmark
from kinformer.apiserver.cacher._replay import InitialState
from kinformer.apiserver.cacher._scopes import Scope
from kinformer.apiserver.cacher._watcher import CacheWatcher
from kinformer.testing import FakeClock
from tests.unit.apiserver.cacher.watching import PREFIX, change

SIZE = 1
ROOM = 2 * SIZE + 1
MOST_WAITED_FOR = 0.1
SCOPES = (Scope(), Scope("a"), Scope("", "x"), Scope("b", "y"))
KEYS = ("a/x", "a/y", "b/x", "b/y")


@dataclass(eq=False)
class Follower:
    """A watcher, and what it had to be told."""

    watcher: CacheWatcher
    expected: list[tuple[int, str]] = field(default_factory=list)
    told: list[tuple[int, str]] = field(default_factory=list)
    bookmarked: int = 0
    has_left: bool = False
    full_since: float | None = None


class DispatcherMachine(RuleBasedStateMachine):
    """Things happen while watchers come, read, lag and go."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.metrics = Metrics("", "pods")
        self.dispatcher = Dispatcher(
            PREFIX,
            clock=self.clock,
            random=Random(1),
            metrics=self.metrics,
            ask=self.ask,
            budget=TimeBudget(0.0),
        )
        self.revision = self.told_of = 1
        self.is_asked = False
        self.followers: list[Follower] = []
        self.restarts = 0

    def ask(self) -> None:
        self.is_asked = True

    @rule(scope=st.sampled_from(SCOPES), bookmarks=st.booleans(), lasts=st.sampled_from([1.0, 50.0, 3600.0]))
    def join(self, scope: Scope, bookmarks: bool, lasts: float) -> None:
        watcher = CacheWatcher(
            InitialState([], 0.0),
            self.revision,
            size=SIZE,
            scope=scope,
            bookmarks=bookmarks,
            deadline=self.clock.monotonic() + lasts,
        )
        watcher.take()
        self.dispatcher.join(watcher)
        self.followers.append(Follower(watcher))

    @rule(number=st.integers(0, 5))
    def leave(self, number: int) -> None:
        for each in self.followers[number : number + 1]:
            self.dispatcher.leave(each.watcher)
            each.has_left = True

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4), is_whole=st.booleans())
    def happen(self, keys: list[str], is_whole: bool) -> None:
        """A transaction; what it did comes as one revision, and progress behind it."""
        self.revision += 1
        for key in dict.fromkeys(keys):
            namespace, _, name = key.partition("/")
            for each in self.followers:
                if not (each.has_left or each.watcher.is_closed) and each.watcher.scope.holds(
                    namespace, name
                ):
                    each.expected.append((self.revision, key))
            self.runner.run(self.dispatcher.dispatch(change(self.revision, key=key)))
        if is_whole:
            self.progress()

    @rule()
    def progress(self) -> None:
        self.told_of = self.revision
        self.dispatcher.progress(self.revision)

    @rule(delay=st.sampled_from([0.01, 0.2, 1.0, 2.5, 30.0, 61.5]))
    def pass_time(self, delay: float) -> None:
        blocked = [each for each in self.followers if self.is_blocked(each)]
        self.runner.run(self.clock.advance(delay))
        if delay > MOST_WAITED_FOR:
            assert all(each.watcher.is_closed for each in blocked), "nobody is waited for so long"
        if self.is_asked:
            self.is_asked = False
            self.progress()

    @rule(number=st.integers(0, 5))
    def read(self, number: int) -> None:
        for each in self.followers[number : number + 1]:
            self.hear(each)

    @rule()
    def restart(self) -> None:
        if self.revision % 5 == 0:
            self.dispatcher.restart()
            for each in self.followers:
                assert each.watcher.is_closed or each.has_left
            self.dispatcher.progress(self.revision)

    def hear(self, follower: Follower) -> None:
        for item in follower.watcher.take():
            if isinstance(item, Bookmark):
                assert follower.watcher.bookmarks
                assert item.version >= follower.bookmarked
                follower.bookmarked = item.version
                due = [one for one in follower.expected if one[0] <= item.version]
                assert follower.told == due, "a bookmark says that all was told, and nothing later"
            else:
                follower.told.append((item.version, item.element.key.removeprefix(PREFIX)))
        self.dispatcher.was_read(follower.watcher)
        assert follower.told == follower.expected[: len(follower.told)]

    def is_blocked(self, follower: Follower) -> bool:
        return not follower.has_left and not follower.watcher.is_closed and follower.watcher.room < 0

    @invariant()
    def only_who_was_slow_is_ended(self) -> None:
        for each in self.followers:
            waiting = len(each.expected) - len(each.told)
            if not each.watcher.is_closed and not each.has_left:
                assert each.watcher.room <= ROOM - waiting
        ended = self.metrics.get("apiserver_watch_cache_terminated_watchers_total")
        assert ended <= len(self.followers)

    @invariant()
    def there_are_timers_only_where_somebody_waits(self) -> None:
        live = [each.watcher for each in self.followers if not each.has_left and not each.watcher.is_closed]
        assert len(self.dispatcher) == len(live)
        if not any(watcher.bookmarks or watcher.room < 0 for watcher in live):
            assert self.clock.next_timer is None

    def teardown(self) -> None:
        for each in self.followers:
            was_closed = each.watcher.is_closed
            self.hear(each)
            if not was_closed and not each.has_left:
                assert each.told == each.expected
            self.dispatcher.leave(each.watcher)
        assert self.clock.next_timer is None
        self.runner.close()


TestDispatcher = DispatcherMachine.TestCase
TestDispatcher.settings = settings(max_examples=25, stateful_step_count=25)
