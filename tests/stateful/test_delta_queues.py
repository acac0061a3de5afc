"""Both delta queues against a plain log, and against the store that they fill."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import (
    Change,
    Delta,
    DeltaFIFO,
    DeltaQueue,
    InOrderFIFO,
    Item,
    Replacement,
    Resync,
    StoreWriter,
)

PODS = Resource.builtin("Pod")
KEYS = tuple(ObjectKey("default", name) for name in "abcd")
CHANGES = {
    EventType.ADDED: Change.ADDED,
    EventType.MODIFIED: Change.UPDATED,
    EventType.DELETED: Change.DELETED,
}


def make(key: ObjectKey, version: int) -> Record:
    metadata = {"name": key.name, "namespace": key.namespace, "resourceVersion": str(version)}
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


class QueueMachine(RuleBasedStateMachine):
    """Nothing is lost, nothing overtakes a barrier, and the version never runs ahead of what is done.

    The model is one list of what waits, each with a number, and looks everything up by going through it; and a dict of
    what the store will hold once all of it is done.
    """

    by_key: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        self.writer = StoreWriter()
        self.queue: DeltaQueue = DeltaFIFO(self.writer.store) if self.by_key else InOrderFIFO()
        self.clock = 0
        self.log: list[tuple[int, Delta | Replacement | Resync]] = []
        self.in_hand: list[tuple[int, Delta | Replacement | Resync]] = []
        self.item: Item = ()
        self.published: list[tuple[int, str]] = []
        self.is_populated = self.is_synced = False
        self.longest = 0
        self.world: dict[ObjectKey, Record] = {}

    def push(self, entry: Delta | Replacement | Resync) -> None:
        self.clock += 1
        self.log.append((self.clock, entry))
        self.longest = max(self.longest, len(self.log))

    def push_delta(self, delta: Delta) -> None:
        if not self.is_populated:
            self.is_populated = self.is_synced = True
        if self.by_key and delta.change is Change.DELETED:
            is_known = delta.key in self.writer.store or any(
                isinstance(entry, Replacement) or (isinstance(entry, Delta) and entry.key == delta.key)
                for _, entry in self.log
            )
            if not is_known and not self.in_hand:
                return
            after_barrier = self.stretch(reverse=True)
            last = next((at for at in after_barrier if self.key_at(at) == delta.key), None)
            if last is not None:
                number, before = self.log[last]
                assert isinstance(before, Delta)
                if before.change is Change.DELETED:
                    self.clock += 1
                    if before.record is None:
                        self.log[last] = (number, delta)
                    return
        self.push(delta)

    def key_at(self, at: int) -> ObjectKey:
        entry = self.log[at][1]
        assert isinstance(entry, Delta)
        return entry.key

    def stretch(self, *, reverse: bool = False) -> list[int]:
        """Where the deltas are from one end of the log to the next barrier."""
        found = []
        for at in reversed(range(len(self.log))) if reverse else range(len(self.log)):
            if not isinstance(self.log[at][1], Delta):
                break
            found.append(at)
        return found

    @rule(
        changes=st.lists(st.tuples(st.sampled_from(list(CHANGES)), st.sampled_from(KEYS)), max_size=4),
        publishes=st.booleans(),
    )
    def apply(self, changes: list[tuple[EventType, ObjectKey]], publishes: bool) -> None:
        events = []
        for kind, key in changes:
            record = make(key, self.clock + 1)
            events.append(WatchEvent(kind, record))
            self.push_delta(Delta(CHANGES[kind], key, record))
            if kind is EventType.DELETED:
                self.world.pop(key, None)
            else:
                self.world[key] = record
        version = f"v{self.clock}" if publishes else ""
        if version:
            self.published.append((self.clock, version))
        self.queue.apply(events, version)

    @rule(key=st.sampled_from(KEYS))
    def delete_without_a_state(self, key: ObjectKey) -> None:
        self.push_delta(Delta(Change.DELETED, key, None))
        self.world.pop(key, None)
        self.queue.add(Delta(Change.DELETED, key, None))

    @rule(keys=st.lists(st.sampled_from(KEYS), max_size=5), kept=st.sets(st.sampled_from(KEYS), max_size=2))
    def replace(self, keys: list[ObjectKey], kept: set[ObjectKey]) -> None:
        records = [make(key, self.clock + 1 + at) for at, key in enumerate(keys)]
        stays = {key: record for key, record in self.world.items() if key in kept}
        self.world = stays | {record.key: record for record in records}
        unread = iter(records)
        self.queue.replace(unread, f"list {self.clock}", kept=kept)
        self.published.append((self.clock + 1, f"list {self.clock}"))
        self.push(
            Replacement(unread, f"list {self.clock}", frozenset(kept), not self.is_populated, not self.by_key)
        )
        self.is_populated = True

    @rule()
    def resync(self) -> None:
        if not any(isinstance(entry, Resync) for _, entry in self.log):
            self.push(Resync())
        self.queue.resync()

    @precondition(lambda self: self.log and not self.in_hand)
    @rule()
    def pop(self) -> None:
        ahead = self.stretch()
        if not ahead:
            taken = [0]
        elif self.by_key:
            taken = [at for at in ahead if self.key_at(at) == self.key_at(0)]
        else:
            repeats = [at for at in ahead if self.key_at(at) in map(self.key_at, ahead[:at])]
            taken = ahead[: min(repeats, default=len(ahead))]
        self.in_hand = [self.log[at] for at in taken]
        self.log = [entry for at, entry in enumerate(self.log) if at not in taken]
        self.item = self.queue.pop()
        expected = [entry for _, entry in self.in_hand]
        assert (list(self.item) if isinstance(self.item, Sequence) else [self.item]) == expected

    @precondition(lambda self: self.in_hand)
    @rule()
    def done(self) -> None:
        match self.item:
            case Replacement():
                relist = self.writer.relist(self.item)
                while not relist.is_filled:
                    relist.fill(2)
                relist.swap()
                self.is_synced = True
            case Resync():
                pass
            case deltas:
                for delta in deltas:
                    self.writer.apply(delta)
        self.in_hand = []
        self.queue.done()

    @invariant()
    def it_counts_what_waits(self) -> None:
        assert len(self.queue) == len(self.log)
        assert self.queue.high_water == self.longest
        assert self.queue.has_synced == self.is_synced

    @invariant()
    def the_version_is_the_newest_whose_changes_are_all_done(self) -> None:
        oldest = min((number for number, _ in (*self.log, *self.in_hand)), default=self.clock + 1)
        done = [version for number, version in self.published if number < oldest]
        assert self.queue.version == (done[-1] if done else "")

    def teardown(self) -> None:
        """Once everything is done, the store holds what came last."""
        if self.in_hand:
            self.done()
        while self.log:
            self.pop()
            self.done()
        assert dict(self.writer.store.content) == self.world
        assert self.queue.version == (self.published[-1][1] if self.published else "")


class DeltaFIFOMachine(QueueMachine):
    by_key = True


class InOrderFIFOMachine(QueueMachine):
    by_key = False


TestDeltaFIFO = DeltaFIFOMachine.TestCase
TestInOrderFIFO = InOrderFIFOMachine.TestCase
