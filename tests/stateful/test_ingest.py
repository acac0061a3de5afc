"""Ingest, queue, store and digest: whatever comes in, however it is taken, ends as what the plainest cache would hold."""

import logging
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.hooks import NoHooks, ObjectQuarantined
from kinformer.informer import MANAGED_FIELDS, Added, Deleted, Notification, Updated
from kinformer.informer._admission import Admission
from kinformer.informer._digest import told_of
from kinformer.informer._ingest import Ingest
from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import DeltaFIFO, DeltaQueue, InOrderFIFO, Replacement, Resync, StoreWriter

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from("abc")
State = tuple[str, int]
"""One state of an object: its uid, and the number of the write that made it."""


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "kinformer.informer")


class Quarantine(NoHooks):
    def __init__(self) -> None:
        self.keys: list[str] = []

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.keys.append(event.key)


class IngestMachine(RuleBasedStateMachine):
    """A server whose objects come as events and as lists; now and then one that the transform cannot bear.

    The model is a dict of what is kept of each name: the newest state that could be transformed.
    """

    @initialize(has_versions=st.booleans(), is_in_order=st.booleans())
    def begin(self, has_versions: bool, is_in_order: bool) -> None:
        self.has_versions = has_versions
        self.writes = 0
        self.world: dict[str, tuple[State, bool]] = {}  # with whether it can be transformed
        self.kept: dict[str, State] = {}
        self.quarantined: list[str] = []
        self.transforms: list[int] = []
        self.expected_transforms: list[int] = []
        self.told: dict[ObjectKey, Record] = {}
        self.changes = self.expected_changes = 0
        self.published = ""
        self.hooks = Quarantine()
        self.writer = StoreWriter()
        self.queue: DeltaQueue = InOrderFIFO() if is_in_order else DeltaFIFO(self.writer.store)
        self.admit_record = Admission(
            "pods", prune=MANAGED_FIELDS, transform=self.transform, hooks=self.hooks
        )
        self.ingest = Ingest(
            self.queue, admit=self.admit_record, changed=self.change, resync=self.queue.resync
        )

    def change(self) -> None:
        self.changes += 1

    def transform(self, content: dict[str, Any]) -> None:
        self.transforms.append(content["spec"]["number"])
        assert "managedFields" not in content["metadata"]
        if content["spec"]["isBad"]:
            raise ValueError("not this one")
        content["spec"]["isSeen"] = True

    def record(self, name: str, state: State, *, is_good: bool) -> Record:
        uid, number = state
        metadata = {"name": name, "namespace": "n", "uid": uid, "managedFields": [{"manager": "m"}]}
        if self.has_versions:
            metadata["resourceVersion"] = str(number)
        return Record.decode(
            msgspec.json.encode({"metadata": metadata, "spec": {"number": number, "isBad": not is_good}}),
            PODS,
        )

    def write(self, name: str, *, is_deleted: bool, is_good: bool) -> WatchEvent:
        self.writes += 1
        kind = EventType.ADDED
        state = (f"u{self.writes}", self.writes)
        if name in self.world:
            kind = EventType.DELETED if is_deleted else EventType.MODIFIED
            state = (self.world[name][0][0], self.writes)
        self.world[name] = (state, is_good)
        if kind is EventType.DELETED:
            del self.world[name]
        return WatchEvent(kind, self.record(name, state, is_good=is_good))

    def admit(self, name: str, state: State, *, is_good: bool) -> bool:
        self.expected_transforms.append(state[1])
        if not is_good:
            self.quarantined.append(f"n/{name}")
        return is_good

    @rule(
        writes=st.lists(st.tuples(NAMES, st.booleans(), st.sampled_from([True, True, False])), max_size=5),
        publishes=st.booleans(),
    )
    def follow(self, writes: list[tuple[str, bool, bool]], publishes: bool) -> None:
        events = []
        for name, is_deleted, is_good in writes:
            event = self.write(name, is_deleted=is_deleted, is_good=is_good)
            events.append(event)
            assert event.record is not None
            state = (event.record.metadata.uid, self.writes)
            is_admitted = self.admit(name, state, is_good=is_good)
            if event.type is EventType.DELETED:
                self.kept.pop(name, None)
            elif is_admitted:
                self.kept[name] = state
        version = str(self.writes) if publishes else ""
        self.ingest.apply(events, version)
        self.published = version or self.published
        self.expected_changes += 1

    @rule(
        missed=st.lists(st.tuples(NAMES, st.booleans(), st.sampled_from([True, True, False]))),
        illegible=st.sets(NAMES, max_size=1),
    )
    def relist(self, missed: list[tuple[str, bool, bool]], illegible: set[str]) -> None:
        """Something may have happened that no event told."""
        for name, is_deleted, is_good in missed:
            self.write(name, is_deleted=is_deleted, is_good=is_good)
        records = []
        for name in list(self.kept):
            if name not in self.world and name not in illegible:
                del self.kept[name]
        for name, (state, is_good) in self.world.items():
            if name in illegible:
                continue
            records.append(self.record(name, state, is_good=is_good))
            is_known = self.has_versions and self.kept.get(name) == state
            if not is_known and self.admit(name, state, is_good=is_good):
                self.kept[name] = state
        self.published = f"list {self.writes}"
        self.ingest.replace(records, self.published, kept=[ObjectKey("n", name) for name in illegible])
        self.expected_changes += 1

    @rule()
    def resync(self) -> None:
        self.ingest.resync()

    @precondition(lambda self: self.queue)
    @rule()
    def take_one(self) -> None:
        """Store and handlers move on by one thing; the handlers believe what they are told."""
        match self.queue.pop():
            case Replacement() as replacement:
                relist = self.writer.relist(replacement, self.admit_record)
                while not relist.is_filled:
                    relist.fill(1)
                relist.swap()
                differences = relist.differences(100)
                if relist.is_first:
                    assert differences == []
                    self.told = dict(self.writer.store.content)
                for difference in differences:
                    for told in told_of(difference):
                        self.replay(told)
            case Resync():
                for record in self.writer.store:
                    assert self.told[record.key] is record
            case deltas:
                for delta in deltas:
                    changed = self.writer.apply(delta)
                    for told in () if changed is None else told_of(changed):
                        self.replay(told)
        self.queue.done()
        self.writer.publish(self.queue.version)
        assert self.told == {record.key: record for record in self.writer.store}

    def replay(self, told: Notification[Record]) -> None:
        match told:
            case Added(obj):
                assert obj.key not in self.told
                self.told[obj.key] = obj
            case Updated(old, new):
                assert self.told[new.key] is old
                assert old.metadata.uid == new.metadata.uid
                assert old.raw != new.raw
                self.told[new.key] = new
            case Deleted(obj):
                assert self.told.pop(obj.key).metadata.uid == obj.metadata.uid

    @invariant()
    def once_nothing_waits_the_store_has_what_is_kept(self) -> None:
        if not self.queue:
            assert {key.name: state_of(record) for key, record in self.told.items()} == self.kept
            assert self.queue.version == self.published

    @invariant()
    def each_state_is_transformed_once_and_whoever_fails_is_named(self) -> None:
        """What a list brings is looked at when its turn comes."""
        assert self.changes == self.expected_changes
        if not self.queue:
            assert sorted(self.transforms) == sorted(self.expected_transforms)
            assert sorted(self.hooks.keys) == sorted(self.quarantined)

    def teardown(self) -> None:
        if not hasattr(self, "queue"):
            return
        while self.queue:
            self.take_one()
        self.once_nothing_waits_the_store_has_what_is_kept()
        self.each_state_is_transformed_once_and_whoever_fails_is_named()


def state_of(record: Record) -> State:
    content = msgspec.json.decode(record.raw)
    assert content["spec"]["isSeen"]
    return content["metadata"]["uid"], content["spec"]["number"]


TestIngest = IngestMachine.TestCase
TestIngest.settings = settings(max_examples=40, stateful_step_count=25)
