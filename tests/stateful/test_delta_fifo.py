"""The delta FIFO against a plain log of what happened to each key."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import Change, Delta, DeltaFIFO, StoreWriter, Tombstone

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


class DeltaFIFOMachine(RuleBasedStateMachine):
    """Nothing is lost, nothing is reordered, and the version never runs ahead of what was taken.

    The model keeps one list of (number, key, delta) and looks everything up by going through it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.writer = StoreWriter()
        self.fifo = DeltaFIFO(self.writer.store)
        self.clock = 0
        self.log: list[tuple[int, ObjectKey, Delta]] = []
        self.published: list[tuple[int, str]] = []
        self.initial: set[ObjectKey] | None = None

    def pending(self, key: ObjectKey) -> list[Delta]:
        return [delta for _, found, delta in self.log if found == key]

    def queued(self) -> list[ObjectKey]:
        return list(dict.fromkeys(key for _, key, _ in self.log))

    def push(self, key: ObjectKey, delta: Delta) -> None:
        self.clock += 1
        last = next((entry for entry in reversed(self.log) if entry[1] == key), None)
        if last is None or {last[2].change, delta.change} != {Change.DELETED}:
            self.log.append((self.clock, key, delta))
        elif isinstance(last[2].obj, Tombstone):
            self.log[self.log.index(last)] = (last[0], key, delta)

    @rule(
        changes=st.lists(st.tuples(st.sampled_from(list(CHANGES)), st.sampled_from(KEYS)), max_size=4),
        publishes=st.booleans(),
    )
    def apply(self, changes: list[tuple[EventType, ObjectKey]], publishes: bool) -> None:
        events = []
        for kind, key in changes:
            if self.initial is None:
                self.initial = set()
            record = make(key, self.clock + 1)
            events.append(WatchEvent(kind, record))
            if kind is EventType.DELETED and not self.pending(key) and key not in self.writer.store:
                self.clock += 1
                continue
            self.push(key, Delta(CHANGES[kind], record))
        version = f"v{self.clock}" if publishes else ""
        if version:
            self.published.append((self.clock, version))
        self.fifo.apply(events, version)

    @rule(keys=st.lists(st.sampled_from(KEYS), max_size=5), kept=st.sets(st.sampled_from(KEYS), max_size=2))
    def replace(self, keys: list[ObjectKey], kept: set[ObjectKey]) -> None:
        queued = self.queued()
        newest = {key: self.pending(key)[-1].obj for key in queued}
        records = [make(key, self.clock + 1 + at) for at, key in enumerate(keys)]
        for record in records:
            self.push(record.key, Delta(Change.REPLACED, record))
        for key in queued:
            if key not in keys and key not in kept:
                obj = newest[key]
                last = obj.last_known if isinstance(obj, Tombstone) else obj
                self.push(key, Delta(Change.DELETED, Tombstone(key, last)))
        for record in self.writer.store:
            if record.key not in {*keys, *kept, *queued}:
                self.push(record.key, Delta(Change.DELETED, Tombstone(record.key, record)))
        if self.initial is None:
            self.initial = set(self.queued())
        self.published.append((self.clock, f"v{self.clock}"))
        self.fifo.replace(records, f"v{self.clock}", kept=kept)

    @rule()
    def resync(self) -> None:
        queued = self.queued()
        for record in self.writer.store:
            if record.key not in queued:
                self.push(record.key, Delta(Change.SYNC, record))
        self.fifo.resync()

    @precondition(lambda self: self.log)
    @rule()
    def pop(self) -> None:
        key = self.queued()[0]
        expected = self.pending(key)
        popped = self.fifo.pop()
        assert popped.key == key
        assert list(popped.deltas) == expected
        assert popped.is_initial == bool(self.initial)
        self.log = [entry for entry in self.log if entry[1] != key]
        if self.initial is not None:
            self.initial.discard(key)
        for delta in popped.deltas:
            if isinstance(delta.obj, Record) and delta.change is not Change.DELETED:
                self.writer.put(delta.obj)
            else:
                self.writer.remove(key)

    @invariant()
    def it_holds_the_keys_of_the_log(self) -> None:
        assert len(self.fifo) == len(self.queued())
        assert self.fifo.has_synced == (self.initial == set())

    @invariant()
    def the_version_is_the_newest_whose_deltas_are_all_taken(self) -> None:
        oldest = min((number for number, _, _ in self.log), default=self.clock + 1)
        earned = [version for number, version in self.published if number < oldest]
        assert self.fifo.version == (earned[-1] if earned else "")


DeltaFIFOMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestDeltaFIFO = DeltaFIFOMachine.TestCase
