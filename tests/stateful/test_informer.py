"""A shared informer under random history: what each handler was told amounts to what the store holds."""

import asyncio
from collections import Counter
from random import Random
from typing import ClassVar, Literal

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.informer import Registration, SharedInformer
from kinformer.meta import EventType, Record
from kinformer.testing import FakeClock, settle
from tests.stateful.informer_world import Server, View

NAMES = st.sampled_from("abcd")
PERIOD = 7.0
CROWD = [f"crowd-{number}" for number in range(34)]
"""Objects that make a relist take several slices; they change all at once."""


def by_version(record: Record) -> list[str]:
    return [record.metadata.resource_version]


class InformerMachine(RuleBasedStateMachine):
    """Writes, cuts, forgotten history, passing time, handlers that come, go and dawdle, all of it in the middle of things.

    ``look`` takes a few turns of the event loop, so that what comes next may find a list half in the store or half
    told.
    """

    queue: ClassVar[Literal["delta", "in-order"]]
    compact: ClassVar[bool] = False

    @initialize(
        is_crowded=st.sampled_from([True, True, True, False]),
        is_held=st.booleans(),
        early=st.integers(0, 2),
        ends_in_a_list=st.booleans(),
        last_turns=st.integers(0, 12),
    )
    def start(
        self, is_crowded: bool, is_held: bool, early: int, ends_in_a_list: bool, last_turns: int
    ) -> None:
        self.ends_in_a_list, self.last_turns = ends_in_a_list, last_turns
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.server = Server(CROWD if is_crowded else ())
        self.runner.run(self.begin())
        if is_held:
            self.runner.run(self.hold())
        for _ in range(early):
            self.join(coalesce=False, is_slow=False, is_quick_at_first=False, resync=None)

    async def begin(self) -> None:
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
        self.registrations: list[Registration] = []
        self.uids = 0
        self.task = asyncio.get_running_loop().create_task(self.informer.run())

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
    def bookmark(self) -> None:
        """Who has all there is has it at the bookmark's version at once, though nothing goes through the queue."""
        self.go_on()
        has_all = self.server.readers and self.informer.store.version == str(self.server.version)
        self.server.bookmark()
        self.server.publish()
        self.go_on()
        assert not has_all or self.informer.store.version == str(self.server.version)

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

    @rule(names=st.sets(NAMES, min_size=1), is_final=st.booleans())
    def replace_unseen(self, names: set[str], is_final: bool) -> None:
        """While nobody can look, objects go, and make way for others of the same name or not."""
        for name in sorted(names & self.server.content.keys()):
            self.uids += 1
            self.server.write(EventType.DELETED, name, self.server.content[name].metadata.uid)
            if not is_final:
                self.server.write(EventType.ADDED, name, f"u{self.uids}")
        self.cut(is_forgotten=True)
        self.go_on(40)

    @rule(
        names=st.sets(NAMES, min_size=1),
        is_final=st.booleans(),
        turns=st.sampled_from([0, 0, 1, 2]),
        coalesce=st.booleans(),
    )
    def join_in_half_a_list(self, names: set[str], is_final: bool, turns: int, coalesce: bool) -> None:
        """Everything changes unseen; then a list comes; one joins while it is got ready, and one when it can be read."""
        if self.server.gate.is_set():
            self.runner.run(self.hold())
        self.server.stir()
        self.replace_unseen(names, is_final)
        for registration in list(self.views)[:-2]:
            self.let_go(registration)
        self.runner.run(self.join_twice(turns, coalesce))

    async def hold(self) -> None:
        self.server.gate = anyio.Event()

    async def join_twice(self, turns: int, coalesce: bool) -> None:
        """No time passes; it may be that no list comes yet."""
        self.server.gate.set()
        before = self.informer.stats
        for is_swapped in (False, True):
            for _ in range(40):
                now = self.informer.stats
                is_first = not before.queue_high_water and now.queue_high_water
                is_taken = (is_first or now.relists > before.relists) and not now.queued
                if is_taken and (not is_swapped or self.informer.store.version == str(self.server.version)):
                    break
                await checkpoint()
            await self.take_turns(turns)
            await self.add(coalesce=coalesce, is_slow=False, resync=30.0 if is_swapped else None)

    @rule(
        coalesce=st.booleans(),
        is_slow=st.booleans(),
        is_quick_at_first=st.booleans(),
        resync=st.sampled_from([None, 0.0, 30.0]),
    )
    def join(self, coalesce: bool, is_slow: bool, is_quick_at_first: bool, resync: float | None) -> None:
        if len(self.views) < 4:
            self.runner.run(self.add(coalesce=coalesce, is_slow=is_slow, resync=resync))
            self.views[self.registrations[-1]].is_quick_at_first = is_quick_at_first

    async def add(self, *, coalesce: bool, is_slow: bool, resync: float | None) -> None:
        owed = (
            set() if coalesce else {record.key for record in self.informer.store}
        )  # merging pays some debts
        period = PERIOD if resync is None else resync
        view = View(self.informer.store, owed, self.clock.monotonic(), period)
        if is_slow:
            view.gate = anyio.Event()
        registration = self.informer.add_handler(view, coalesce=coalesce, resync=resync)
        self.views[registration] = view
        self.registrations.append(registration)

    @precondition(lambda self: self.views)
    @rule(data=st.data())
    def hurry(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(list(self.views.values()))).gate.set()

    @precondition(lambda self: self.views)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.let_go(data.draw(st.sampled_from(list(self.views))))

    def let_go(self, registration: Registration) -> None:
        self.informer.remove_handler(registration)
        view = self.views.pop(registration)
        view.has_left = True
        view.gate.set()

    @invariant()
    def nobody_was_told_nonsense(self) -> None:
        assert [registration for registration in self.registrations if registration.failures] == []

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
        """After one more list everybody knows, with time and no haste, what the server knows, and is shown it again."""
        try:
            for view in self.views.values():
                view.gate.set()
            self.join_in_half_a_list({"a", "b"}, is_final=False, turns=0, coalesce=False)
            for _ in range(30):
                self.go_on(10)
                if self.informer.store.version == str(self.server.version):
                    break
            self.everybody_knows_all()
            before = {registration: Counter(view.resyncs) for registration, view in self.views.items()}
            self.go_on(40)
            self.everybody_knows_all()
            for registration, view in self.views.items():
                assert not view.period or all(
                    view.resyncs[key] > before[registration][key] for key in view.content
                )
            self.nobody_is_shown_an_object_again_before_its_time()
        finally:
            self.runner.run(self.end())
            self.runner.close()

    def everybody_knows_all(self) -> None:
        self.nobody_was_told_nonsense()
        expected = {name: record.metadata.resource_version for name, record in self.server.content.items()}
        assert self.versions() == expected
        for record in self.informer.store:
            assert record.raw == self.server.content[record.key.name].raw
            assert (record.packing is not None) is self.compact
        assert self.informer.store.version == str(self.server.version)
        for registration, view in self.views.items():
            assert registration.is_synced
            assert registration.backlog == 0
            told = {obj.key.name: obj.metadata.resource_version for obj in view.content.values()}
            assert told == expected

    def versions(self) -> dict[str, str]:
        """The versions of what is stored."""
        return {record.key.name: record.metadata.resource_version for record in self.informer.store}

    async def end(self) -> None:
        """Cancelled in the middle of a list or of changes, it leaves of a list all or nothing, and of a change too."""
        before = self.versions()
        if self.ends_in_a_list:
            await self.hold()
            self.server.stir()
            self.cut(is_forgotten=True)
            await self.clock.advance(40)
            self.server.gate.set()
        else:
            self.server.stir()
            self.server.publish()
        await self.take_turns(self.last_turns)
        self.task.cancel()
        await settle()
        assert self.task.done()
        assert len(anyio.get_running_tasks()) == 1
        after = {name: record.metadata.resource_version for name, record in self.server.content.items()}
        if self.ends_in_a_list:
            assert self.versions() in (before, after)
        for name, version in self.versions().items():
            assert version in (before.get(name), after.get(name))
        assert all(registration.backlog == 0 for registration in self.registrations)


class DeltaMachine(InformerMachine):
    queue = "delta"


class InOrderMachine(InformerMachine):
    queue = "in-order"
    compact = True


TestDelta = DeltaMachine.TestCase
TestInOrder = InOrderMachine.TestCase
TestDelta.settings = settings(max_examples=8)
TestInOrder.settings = settings(max_examples=8)
