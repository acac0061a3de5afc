"""The reflector without its waiting: machine, reception and progress against a server that remembers everything.

What was published is the truth: at each published version the sink holds what the server held then, except for what
could not be read. So nothing is lost by resuming from it.
"""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.errors import (
    ApiError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    FutureVersionError,
    InvalidError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import ANY, LATEST, EventType, Object, Resource, WatchEvent
from kinformer.reflector._machine import (
    Active,
    Closed,
    Failed,
    Listed,
    Listing,
    Outcome,
    PageExpired,
    Progressed,
    Rested,
    Silent,
    State,
    Streamed,
    Streaming,
    Terms,
    Waiting,
    Watching,
    advance,
)
from kinformer.reflector._progress import Progress
from kinformer.reflector._reception import Broken, Changes, Reception, Rejected
from kinformer.reflector._snapshot import Snapshot
from kinformer.testing import added, bookmark, deleted, error_event, modified

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from("abc")
Content = dict[str, str]
Writes = list[tuple[str, bool, bool]]
"""The name, whether it is deleted if it is there, and whether it can be read."""
WRITES = st.lists(st.tuples(NAMES, st.booleans(), st.booleans()), min_size=1, max_size=6)

GONE = ExpiredError(410)
ERRORS = st.sampled_from(
    [
        GONE,
        FutureVersionError(504),
        ForbiddenError(403),
        ThrottledError(429),
        ServerError(500),
        InvalidError(422),
        TransportError("reset"),
        TransportError("refused", refused=True),
        DecodeError("an answer that is no JSON"),
    ]
)


def pod(name: str, version: str) -> Object:
    metadata = {"name": name, "namespace": "default", "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


class Server:
    """All that ever was: the content at each version, and the event that led there."""

    def __init__(self) -> None:
        self.contents: dict[int, Content] = {1: {}}
        self.events: dict[int, WatchEvent] = {}
        self.illegible: set[tuple[str, str]] = set()
        self.forgotten = 1
        """The oldest version that a watch may start at."""

    @property
    def version(self) -> int:
        return len(self.contents)

    def write(self, name: str, *, is_deleted: bool, is_legible: bool) -> None:
        before = self.contents[self.version]
        at = self.version + 1
        obj = pod(name, str(at))
        event = added(obj) if name not in before else deleted(obj) if is_deleted else modified(obj)
        after = {key: version for key, version in before.items() if key != name}
        if event.type is not EventType.DELETED:
            after[name] = str(at)
        if not is_legible:
            self.illegible.add((name, str(at)))
            event = error_event(DecodeError("labels is null", key=f"default/{name}"))
        self.contents[at], self.events[at] = after, event

    def snapshot(self, at: int) -> tuple[list[Object], list[DecodeError]]:
        """What can be read of the content at a version, and what cannot."""
        content = self.contents[at].items()
        bad = [
            DecodeError("labels is null", key=f"default/{name}")
            for name, v in content
            if self.is_bad(name, v)
        ]
        return [pod(name, v) for name, v in content if not self.is_bad(name, v)], bad

    def is_bad(self, name: str, version: str) -> bool:
        return (name, version) in self.illegible


class ReflectionMachine(RuleBasedStateMachine):
    """Writes, forgotten history, objects that cannot be read, garbage, refusals, cuts and batches of all sizes."""

    @initialize(watch_list=st.booleans(), page_size=st.sampled_from([0, 2]), before=WRITES)
    def begin(self, watch_list: bool, page_size: int, before: Writes) -> None:
        self.server = Server()
        self.write(before)
        self.state: State = Terms(watch_list, page_size).begin(ANY)
        self.reception: Reception | None = None
        self.unsent: list[WatchEvent] = []
        self.reached = 0
        self.content: Content = {}
        self.unread: set[str] = set()
        self.published = ""
        self.earned = {ANY, LATEST}

    # what the server does

    @rule(writes=WRITES)
    def write(self, writes: Writes) -> None:
        for name, is_deleted, is_legible in writes:
            self.server.write(name, is_deleted=is_deleted, is_legible=is_legible)

    @rule()
    def forget(self) -> None:
        self.server.forgotten = self.server.version

    @precondition(lambda self: self.reception is not None)
    @rule(name=NAMES, is_deleted=st.booleans())
    def garble(self, name: str, is_deleted: bool) -> None:
        """Something happens, and its event arrives in such a state that nobody can tell whose it was."""
        self.server.write(name, is_deleted=is_deleted, is_legible=True)
        self.send()
        self.unsent[-1] = error_event(DecodeError("no JSON"))

    # what the reflector does

    def move(self, outcome: Outcome) -> None:
        self.state = advance(self.state, outcome)

    @rule(size=st.integers(1, 8), age=st.integers(0, 5), has_bookmark=st.booleans())
    def go_on(self, size: int, age: int, has_bookmark: bool) -> None:
        """Whatever comes before it comes out well, and a batch is read."""
        self.have_a_watch(age)
        self.send(has_bookmark=has_bookmark)
        batch, self.unsent = self.unsent[:size], self.unsent[size:]
        self.take(batch)
        if isinstance(self.state, Watching) and batch and batch[-1].type is not EventType.ERROR:
            assert self.published == batch[-1].version, "what has been taken in is not published"

    def have_a_watch(self, age: int) -> None:
        """Take the steps to an open watch; what comes first may be older than what is."""
        while self.reception is None:
            version = max(1, self.server.version - age)
            match self.state:
                case Waiting():
                    self.move(Rested())
                case Listing():
                    # At no version, what the server has at hand: it may be older than all that can still be watched.
                    self.list_it(version if self.state.version == ANY else self.server.version)
                case _:
                    self.open_a_watch(version)

    @precondition(lambda self: self.reception is not None and isinstance(self.state, Watching))
    @rule(age=st.integers(1, 3))
    def be_restored(self, age: int) -> None:
        """The server is one that knows less than we have seen, and a bookmark gives it away."""
        before = self.published
        if int(before) > age:
            self.take([bookmark(str(int(before) - age)), *self.unsent])
            assert self.reception is None
            assert self.published == before

    @precondition(lambda self: self.reception is None and not isinstance(self.state, Waiting))
    @rule(error=ERRORS)
    def be_refused(self, error: Exception) -> None:
        self.move(Failed(error))

    @precondition(lambda self: isinstance(self.state, Listing))
    @rule()
    def lose_the_place_in_the_pages(self) -> None:
        self.move(PageExpired())

    @rule(
        ending=st.sampled_from(
            [
                Closed(),
                Closed(is_short=True),
                Silent(TransportError("silent")),
                Failed(TransportError("reset")),
                GONE,
                ServerError(500),
            ]
        ),
        writes=WRITES,
        size=st.integers(0, 4),
    )
    def break_off(self, ending: Closed | Silent | Failed | ApiError, writes: Writes, size: int) -> None:
        """A stream ends, or the server reports an error in the midst of a batch: the rest is not to be believed."""
        self.have_a_watch(age=0)
        if isinstance(ending, ApiError):
            self.write(writes)
            self.send()
            good = self.unsent[:size]
            is_initial = isinstance(self.state, Streaming)
            self.take([*good, error_event(ending), *self.unsent[size:]])
            assert self.reception is None
            if good and not is_initial and good[-1].type is not EventType.ERROR:
                assert self.published == good[-1].version, "what came before the error counts"
        else:
            self.reception = None
            self.move(ending)

    def list_it(self, at: int) -> None:
        assert isinstance(self.state, Listing)
        objects, bad = self.server.snapshot(at)
        self.take_snapshot(Snapshot.of_pages([[obj.record for obj in objects]], str(at), bad))
        self.move(Listed(str(at), is_paginated=bool(at % 2)))

    def open_a_watch(self, at: int) -> None:
        """Initial events are of version ``at``, in no order; what has happened since follows before they are complete."""
        assert isinstance(self.state, Streaming | Watching)
        if isinstance(self.state, Watching) and int(self.state.version) < self.server.forgotten:
            self.move(Failed(GONE))
            return
        self.reception = Reception(self.state.version, initial_events=isinstance(self.state, Streaming))
        self.taken: list[EventType] = []
        if isinstance(self.state, Watching):
            self.unsent, self.reached = [], int(self.state.version)
            return
        objects, bad = self.server.snapshot(at)
        self.unsent = [*map(added, objects), *map(error_event, bad)]
        Random(at).shuffle(self.unsent)
        self.reached = at
        self.send()
        self.unsent.append(bookmark(str(self.reached), ends_initial_events=True))

    def send(self, *, has_bookmark: bool = False) -> None:
        """Everything that has happened goes onto the wire; a bookmark, after something else than this resource did."""
        if has_bookmark:
            self.server.contents[self.server.version + 1] = self.server.contents[self.server.version]
        happened = range(self.reached + 1, self.server.version + 1)
        self.unsent += [self.server.events[at] for at in happened if at in self.server.events]
        self.reached = self.server.version
        if has_bookmark:
            self.unsent.append(bookmark(str(self.reached)))

    def take(self, batch: list[WatchEvent]) -> None:
        assert self.reception is not None
        before = (dict(self.content), self.published)
        is_incomplete = isinstance(self.state, Streaming)
        for effect in self.reception.take(batch):
            match effect:
                case Snapshot():
                    is_incomplete = False
                    self.take_snapshot(effect)
                    self.move(Streamed(effect.version))
                case Changes(events, version):
                    self.take_changes(list(events))
                    if version != self.published:
                        self.publish(version)
                        self.move(Progressed(version))
                case Rejected(error):
                    self.unread.add(error.key.removeprefix("default/"))
                case Broken(error):
                    self.reception = None
                    self.move(Failed(error))
        if is_incomplete:
            assert (self.content, self.published) == before
        if self.reception is not None:
            self.taken += [event.type for event in batch if event.type is not EventType.ERROR]
            assert self.reception.count == len(self.taken)
            assert self.reception.has_bookmarks == (EventType.BOOKMARK in self.taken)

    def take_snapshot(self, snapshot: Snapshot) -> None:
        self.content = {record.key.name: record.metadata.resource_version for record in snapshot.records}
        assert len(self.content) == snapshot.count
        self.unread = {error.key.removeprefix("default/") for error in snapshot.rejected}
        truth = self.server.contents[int(snapshot.version)]
        assert all(self.server.is_bad(name, truth[name]) for name in self.unread & truth.keys())
        self.publish(snapshot.version)

    def take_changes(self, events: list[WatchEvent]) -> None:
        for event in events:
            assert event.record is not None
            name = event.record.key.name
            self.unread.discard(name)
            self.content.pop(name, None)
            if event.type is not EventType.DELETED:
                self.content[name] = event.record.metadata.resource_version

    def publish(self, version: str) -> None:
        self.published = version
        self.earned.add(version)
        assert self.legible(self.content) == self.legible(self.server.contents[int(version)])

    def legible(self, content: Content) -> Content:
        return {name: version for name, version in content.items() if name not in self.unread}

    @invariant()
    def only_what_was_earned_is_resumed_from(self) -> None:
        active: Active = self.state.then if isinstance(self.state, Waiting) else self.state
        assert active.version in self.earned
        if isinstance(self.state, Watching):
            assert self.state.version == self.published

    def teardown(self) -> None:
        """Once nothing goes wrong any more, the sink follows the server within a few steps."""
        if not hasattr(self, "server"):
            return
        for name in ("a", "b"):
            self.server.write(name, is_deleted=False, is_legible=True)
            self.go_on(size=1000, age=0, has_bookmark=False)
            while not isinstance(self.state, Watching) or self.unsent:
                self.go_on(size=1000, age=0, has_bookmark=False)
        assert isinstance(self.state, Watching)
        assert self.reached == self.server.version
        assert self.legible(self.content) == self.legible(self.server.contents[self.server.version])
        assert self.unread <= {name for name, _ in self.server.illegible}


TestReflection = ReflectionMachine.TestCase


@given(
    start=st.sampled_from([ANY, LATEST, 3]),
    writes=st.lists(st.tuples(NAMES, st.booleans()), max_size=10),
    begun=st.integers(0, 10),
    marks=st.sets(st.integers(0, 12)),
    cut=st.integers(0, 15),
    seed=st.integers(0, 5),
)
def test_whoever_resumes_from_what_a_watch_has_earned_misses_nothing(
    start: str | int, writes: list[tuple[str, bool]], begun: int, marks: set[int], cut: int, seed: int
) -> None:
    """A watch at no concrete version begins with what exists, in no order; it may be cut anywhere."""
    server = Server()
    for name, is_deleted in [("a", False), ("b", False), *writes]:
        server.write(name, is_deleted=is_deleted, is_legible=True)
    story: list[WatchEvent] = []
    first = min(begun + 1, server.version)
    if isinstance(start, int):
        first = start
    else:
        story = list(map(added, server.snapshot(first)[0]))
        Random(seed).shuffle(story)
    for at in range(first, server.version + 1):
        if at > first:
            story.append(server.events[at])
        if at in marks:
            story.append(bookmark(str(at)))
    seen = story[:cut]
    version = Progress.start(str(start)).after(seen).version
    if isinstance(start, int):  # all that was seen counts, so that nothing comes twice
        assert version == ([str(start), *(event.version for event in seen)])[-1]
    if version in (ANY, LATEST):
        assert not [
            event for event in seen if event.type is not EventType.ADDED
        ]  # nothing was lost by starting over
        return
    told = dict(server.contents[first]) if isinstance(start, int) else {}
    for event in [*seen, *(server.events[at] for at in range(int(version) + 1, server.version + 1))]:
        if event.record is not None:
            told.pop(event.record.key.name, None)
            if event.type is not EventType.DELETED:
                told[event.record.key.name] = event.record.metadata.resource_version
    assert told == server.contents[server.version]
