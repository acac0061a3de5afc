"""Our own writes over a cache that lags behind: a read is never older than what we wrote, and never made up."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.controller._overlay import OverlayStore
from kinformer.controller._own_writes import OwnWrite, OwnWrites
from kinformer.meta import Object, ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, OWNER_INDEX, StoreWriter

CONFIG_MAPS = Resource.builtin("ConfigMap")
NAMES = st.sampled_from("ab")
OWNERS = st.sampled_from(["x", "y"])
PATIENCE = 60.0


def key_of(name: str) -> ObjectKey:
    return ObjectKey("default", name)


def record(name: str, uid: str, version: int, owner: str) -> Record:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": uid,
        "resourceVersion": str(version),
        "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": owner, "uid": owner}],
    }
    return Record.decode(Object.from_mapping({"metadata": metadata}, CONFIG_MAPS).raw, CONFIG_MAPS)


class OwnWritesMachine(RuleBasedStateMachine):
    """The server has a history of states by key; the cache shows a prefix of it; we and others write.

    For each key the model knows how far in the history our last write is: what is read is the state there or later.
    """

    @initialize()
    def begin(self) -> None:
        self.now = 0.0
        self.history: list[
            tuple[str, Record | None, str]
        ] = []  # the key's name, its new state, the uid it is about
        self.shown = 0
        self.ours: dict[str, int] = {}  # how much of the history our last write needs, by name
        self.writer = StoreWriter(BUILTIN_INDEXERS)
        self.given_up: list[OwnWrite] = []
        self.noted: list[OwnWrite] = []
        self.writes = OwnWrites(
            self.writer.store, patience=PATIENCE, given_up=lambda write, age: self.given_up.append(write)
        )
        self.store = OverlayStore(self.writer.store, self.writes, lambda: self.now)

    def current(self, name: str, upto: int | None = None) -> Record | None:
        states = [state for key, state, _ in self.history[:upto] if key == name]
        return states[-1] if states else None

    @rule(name=NAMES, owner=OWNERS, is_ours=st.booleans())
    def write(self, name: str, owner: str, is_ours: bool) -> None:
        before = self.current(name)
        uid = f"u{len(self.history)}" if before is None else before.metadata.uid
        state = record(name, uid, len(self.history) + 1, owner)
        self.history.append((name, state, uid))
        if is_ours:
            self.ours[name] = len(self.history)
            self.note(OwnWrite(key_of(name), uid, state.metadata.resource_version, state))

    @rule(name=NAMES, is_ours=st.booleans())
    def delete(self, name: str, is_ours: bool) -> None:
        before = self.current(name)
        if before is None:
            return
        self.history.append((name, None, before.metadata.uid))
        cached, known = self.writer.store.get(key_of(name)), self.writes.known(key_of(name))
        uid = before.metadata.uid
        if not is_ours:
            return
        if known is not None and known.uid == uid:
            version = known.version
        elif cached is not None and cached.metadata.uid == uid:
            version = cached.metadata.resource_version
        else:
            return  # we delete what we have neither seen nor written: nothing is hidden
        self.ours[name] = len(self.history)
        self.note(OwnWrite(key_of(name), uid, version, None, is_gone=True))

    def note(self, write: OwnWrite) -> None:
        self.noted.append(write)
        self.writes.note(write, self.now)

    @precondition(lambda self: self.noted)
    @rule(data=st.data())
    def hear_an_answer_late(self, data: st.DataObject) -> None:
        """Two workers may write one object, and hear in any order: an older write changes nothing."""
        self.writes.note(data.draw(st.sampled_from(self.noted)), self.now)

    @precondition(lambda self: self.shown < len(self.history))
    @rule(count=st.integers(1, 3), is_told=st.booleans())
    def catch_up(self, count: int, is_told: bool) -> None:
        for name, state, _ in self.history[self.shown : self.shown + count]:
            self.shown += 1
            if state is None:
                self.writer.remove(key_of(name))
            else:
                self.writer.put(state)
            self.writer.publish(str(self.shown))
            if is_told:
                self.writes.settle(key_of(name))

    @rule(seconds=st.sampled_from([1.0, 61.0]))
    def wait(self, seconds: float) -> None:
        """After a while the cache is believed, and whoever it concerns is told that it was behind."""
        self.now += seconds
        if seconds > PATIENCE:
            behind = {write.key.name for write in self.writes.all_pending(self.now - seconds)}
            self.writes.sweep(self.now)
            assert {write.key.name for write in self.given_up} == behind
            assert len(self.writes) == 0
            self.given_up.clear()
            self.ours.clear()
            self.noted.clear()

    @invariant()
    def what_is_read_is_as_new_as_our_writes(self) -> None:
        for name in "ab" if hasattr(self, "store") else "":
            floor = self.ours.get(name, 0)
            states = [self.current(name, upto) for upto in range(floor, max(self.shown, floor) + 1)]
            found = self.store.get(key_of(name))
            assert found in states
            assert (key_of(name) in self.store) == (found is not None)

    @invariant()
    def all_ways_to_read_agree(self) -> None:
        if not hasattr(self, "store"):
            return
        found = {name: self.store.get(key_of(name)) for name in "ab"}
        there = {key_of(name): state for name, state in found.items() if state is not None}
        assert dict(self.store.content) == there
        assert {each.key: each for each in self.store} == there
        assert len(self.store) == len(there)
        for owner in "xy":
            owned = {key for key, state in there.items() if state.metadata.owner_references[0].uid == owner}
            assert {each.key for each in self.store.by_index(OWNER_INDEX, owner)} == owned
            assert {each.key for each in self.store.by_indexes({OWNER_INDEX: owner})} == owned
        assert {each.key for each in self.store.by_indexes({})} == set(there)

    @invariant()
    def a_cache_that_has_caught_up_needs_nothing(self) -> None:
        if hasattr(self, "store") and self.shown == len(self.history):
            assert self.writes.all_pending(self.now) == ()


TestOwnWrites = OwnWritesMachine.TestCase
TestOwnWrites.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
