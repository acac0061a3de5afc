"""A shared informer under random history: what each handler was told amounts to what the store holds."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import ClassVar, Literal

import anyio
import msgspec
from anyio.lowlevel import checkpoint
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.errors import ExpiredError, TransportError
from kinformer.informer import Added, Deleted, Notification, Registration, SharedInformer, Updated
from kinformer.meta import EventType, Object, ObjectKey, ObjectList, Record, Resource, WatchEvent
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from("abcd")
PERIOD = 7.0
CROWD = [f"crowd-{number}" for number in range(40)]
"""Objects that make a relist take several slices; they change all at once."""


class Server:
    """A whole server in a page: a history that can be watched, forgotten and cut off. A ``Source``."""

    resource = PODS

    def __init__(self) -> None:
        self.version = 1
        self.content: dict[str, Record] = {}
        self.history: list[WatchEvent] = []
        self.forgotten = 0
        self.cuts = 0
        self.gate = anyio.Event()
        """Lists wait for it, so that somebody may be there to look when one comes."""
        self.gate.set()
        self.moved = anyio.Event()

    def write(self, kind: EventType, name: str, uid: str) -> None:
        self.version += 1
        metadata = {"name": name, "namespace": "n", "uid": uid, "resourceVersion": str(self.version)}
        record = Record.decode(msgspec.json.encode({"metadata": metadata, "spec": name * 50}), PODS)
        if kind is EventType.DELETED:
            del self.content[name]
        else:
            self.content[name] = record
        self.history.append(WatchEvent(kind, record, str(self.version)))

    def stir(self) -> None:
        for name in CROWD:
            kind = EventType.MODIFIED if name in self.content else EventType.ADDED
            self.write(kind, name, name)

    def publish(self) -> None:
        self.moved.set()
        self.moved = anyio.Event()

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        return ObjectList(tuple(map(Object, self.content.values())), str(self.version))

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        if not initial_events and int(version) < self.forgotten:
            raise ExpiredError(410, "Expired", "too old")
        stream = self.stream(int(version or 0), initial_events=initial_events)
        try:
            yield stream
        finally:
            await stream.aclose()

    async def stream(self, at: int, *, initial_events: bool) -> AsyncGenerator[Sequence[WatchEvent], None]:
        cuts = self.cuts
        if initial_events:
            await self.gate.wait()
            at = self.version
            yield [
                *(
                    WatchEvent(EventType.ADDED, record, record.metadata.resource_version)
                    for record in self.content.values()
                ),
                WatchEvent(EventType.BOOKMARK, version=str(at), ends_initial_events=True),
            ]
        while True:
            if events := [event for event in self.history if int(event.version) > at]:
                at = int(events[-1].version)
                yield events
            if self.cuts != cuts:
                raise TransportError("cut")
            await self.moved.wait()


class View:
    """A handler that keeps its own copy of the world; told nonsense, it fails.

    It notes what it was owed when it came, and how often it was shown each object again.
    """

    def __init__(self, owed: set[ObjectKey], since: float, period: float) -> None:
        self.owed, self.since, self.period = owed, since, period
        self.content: dict[ObjectKey, Object] = {}
        self.resyncs: Counter[ObjectKey] = Counter()
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self, told: Notification[Object]) -> None:
        match told:
            case Added(obj):
                assert obj.key not in self.content, "added twice"
                self.content[obj.key] = obj
                self.owed.discard(obj.key)
            case Updated(old, new):
                assert self.content[new.key].metadata.uid == new.metadata.uid == old.metadata.uid
                self.content[new.key] = new
                self.resyncs[new.key] += old is new
            case Deleted(obj):
                assert self.content.pop(obj.key).metadata.uid == obj.metadata.uid
        await self.gate.wait()


def by_version(record: Record) -> list[str]:
    return [record.metadata.resource_version]


class InformerMachine(RuleBasedStateMachine):
    """Writes, cuts, forgotten history, passing time, handlers that come, go and dawdle, all of it in the middle of things.

    ``look`` takes a few turns of the event loop, so that what comes next may find a list half in the store or half
    told.
    """

    queue: ClassVar[Literal["delta", "in-order"]]
    compact: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.runner.run(self.begin())

    async def begin(self) -> None:
        self.server = Server()
        self.server.stir()
        self.informer = SharedInformer(
            self.server,
            queue=self.queue,
            compact=self.compact,
            clock=self.clock,
            random=Random(1),
            resync=PERIOD,
        )
        self.views: dict[Registration, View] = {}
        self.uids = 0
        self.task = asyncio.get_running_loop().create_task(self.informer.run())
        self.deadline = 0.0

    def go_on(self, seconds: float = 0.0) -> None:
        self.runner.run(self.clock.advance(seconds) if seconds else settle())
        assert not self.task.done()

    @rule(
        names=st.lists(NAMES, min_size=1, max_size=4), deletes=st.lists(st.booleans(), min_size=4, max_size=4)
    )
    def write(self, names: list[str], deletes: list[bool]) -> None:
        for name, is_deleted in zip(names, deletes, strict=False):
            known = self.server.content.get(name)
            if known is None:
                self.uids += 1
                self.server.write(EventType.ADDED, name, f"u{self.uids}")
            else:
                kind = EventType.DELETED if is_deleted else EventType.MODIFIED
                self.server.write(kind, name, known.metadata.uid)
        self.server.publish()

    @rule()
    def rest(self) -> None:
        self.go_on()

    @rule(turns=st.integers(1, 12))
    def look(self, turns: int) -> None:
        self.runner.run(self.take_turns(turns))

    async def take_turns(self, turns: int) -> None:
        for _ in range(turns):
            await checkpoint()

    @rule()
    def stir(self) -> None:
        self.server.stir()
        self.server.publish()

    @rule()
    def index(self) -> None:
        name = f"by-version-{len(self.informer.store.index_names)}"
        if len(self.informer.store.index_names) < 4:
            self.informer.add_indexers({name: by_version})

    @rule(seconds=st.sampled_from([1.0, 8.0, 40.0]))
    def pass_time(self, seconds: float) -> None:
        self.go_on(seconds)

    @rule(is_forgotten=st.booleans())
    def cut(self, is_forgotten: bool) -> None:
        self.server.cuts += 1
        if is_forgotten:
            self.server.forgotten = self.server.version + 1
            self.server.version += 1
            self.server.history.clear()
        self.server.publish()

    @rule(names=st.sets(NAMES, min_size=1))
    def recreate_unseen(self, names: set[str]) -> None:
        """While nobody can look, objects make way for others of the same name."""
        for name in sorted(names & self.server.content.keys()):
            self.uids += 1
            self.server.write(EventType.DELETED, name, self.server.content[name].metadata.uid)
            self.server.write(EventType.ADDED, name, f"u{self.uids}")
        self.cut(is_forgotten=True)
        self.go_on(40)

    @rule(
        names=st.sets(NAMES, min_size=1),
        turns=st.integers(1, 20),
        joins=st.booleans(),
        coalesce=st.booleans(),
    )
    def see_half_a_list(self, names: set[str], turns: int, joins: bool, coalesce: bool) -> None:
        """Everything changes unseen; then a list comes, and we look before it is in the store, or told, or cleared up."""
        self.runner.run(self.hold())
        self.server.stir()
        self.recreate_unseen(names)
        self.server.gate.set()
        self.look(turns)
        if joins:
            self.join(coalesce, is_slow=False, resync=None)

    async def hold(self) -> None:
        self.server.gate = anyio.Event()

    @rule(coalesce=st.booleans(), is_slow=st.booleans(), resync=st.sampled_from([None, 0.0, 30.0]))
    def join(self, coalesce: bool, is_slow: bool, resync: float | None) -> None:
        if len(self.views) < 4:
            self.runner.run(self.add(coalesce=coalesce, is_slow=is_slow, resync=resync))

    async def add(self, *, coalesce: bool, is_slow: bool, resync: float | None) -> None:
        owed = (
            set() if coalesce else {record.key for record in self.informer.store}
        )  # merging pays some debts
        view = View(owed, self.clock.monotonic(), PERIOD if resync is None else resync)
        if is_slow:
            view.gate = anyio.Event()
        self.views[self.informer.add_handler(view, coalesce=coalesce, resync=resync)] = view

    @precondition(lambda self: self.views)
    @rule(data=st.data())
    def hurry(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(list(self.views.values()))).gate.set()

    @precondition(lambda self: self.views)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        registration = data.draw(st.sampled_from(list(self.views)))
        self.informer.remove_handler(registration)
        self.views.pop(registration).gate.set()

    @invariant()
    def nobody_was_told_nonsense(self) -> None:
        assert [registration for registration in self.views if registration.failures] == []

    @invariant()
    def every_index_finds_what_a_scan_would(self) -> None:
        store = self.informer.store
        for name in store.index_names:
            if name.startswith("by-version"):
                found = {version: len(store.by_index(name, version)) for version in store.index_values(name)}
                versions = [record.metadata.resource_version for record in store]
                assert found == {version: versions.count(version) for version in versions}

    @invariant()
    def who_is_synced_was_told_all_there_was(self) -> None:
        for registration, view in self.views.items():
            assert not registration.is_synced or (self.informer.is_synced and not view.owed)

    @invariant()
    def nobody_is_shown_an_object_again_before_its_time(self) -> None:
        for view in self.views.values():
            passed = self.clock.monotonic() - view.since
            assert max(view.resyncs.values(), default=0) <= (passed // view.period if view.period else 0)

    def teardown(self) -> None:
        """In the end, with time and no haste, everybody knows what the server knows."""
        try:
            for view in self.views.values():
                view.gate.set()
            self.server.gate.set()
            self.server.publish()
            self.go_on(300)
            self.nobody_was_told_nonsense()
            expected = {
                name: record.metadata.resource_version for name, record in self.server.content.items()
            }
            assert {r.key.name: r.metadata.resource_version for r in self.informer.store} == expected
            for record in self.informer.store:
                assert record.raw == self.server.content[record.key.name].raw
                assert (record.packing is not None) is self.compact
            for registration, view in self.views.items():
                assert registration.is_synced
                assert registration.backlog == 0
                told = {obj.key.name: obj.metadata.resource_version for obj in view.content.values()}
                assert told == expected
        finally:
            self.runner.run(self.end())
            self.runner.close()

    async def end(self) -> None:
        self.informer.close()
        await settle()
        assert self.task.done()
        assert len(anyio.get_running_tasks()) == 1


class DeltaMachine(InformerMachine):
    queue = "delta"


class InOrderMachine(InformerMachine):
    queue = "in-order"
    compact = True


TestDelta = DeltaMachine.TestCase
TestInOrder = InOrderMachine.TestCase
TestDelta.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestInOrder.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
