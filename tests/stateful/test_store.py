"""The store against two dicts, with indexes computed from scratch."""

from itertools import product

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, Change, Delta, Removed, Stored, StoreWriter, Tombstone

PODS = Resource.builtin("Pod")
VALUES = ("x", "y", "z")
KEYS = tuple(ObjectKey(namespace, name) for namespace in ("one", "two") for name in "ab")


def make(key: ObjectKey, values: frozenset[str], version: int, uid: str) -> Record:
    """At version 0 it has none, as with some servers."""
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": uid,
        "resourceVersion": str(version or ""),
        "labels": dict.fromkeys(sorted(values), ""),
    }
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


def by_label(record: Record) -> list[str]:
    return list(record.metadata.labels)


def by_label_count(record: Record) -> list[str]:
    return [str(len(record.metadata.labels))]


records = st.builds(
    make,
    st.sampled_from(KEYS),
    st.frozensets(st.sampled_from(VALUES)),
    st.integers(0, 2),
    st.sampled_from("uv"),
)


def is_known(old: Record, new: Record) -> bool:
    """Whether a state is no news: it has the version of the one before, or, of none that has a version, its bytes."""
    if old.metadata.uid != new.metadata.uid:
        return False
    versions = {old.metadata.resource_version, new.metadata.resource_version}
    return len(versions) == 1 and (versions != {""} or old.raw == new.raw)


class StoreMachine(RuleBasedStateMachine):
    """Whatever is written, reading by key and by index gives what a plain dict would."""

    def __init__(self) -> None:
        super().__init__()
        self.indexers = {"label": by_label} | dict(BUILTIN_INDEXERS)
        self.writer = StoreWriter(self.indexers)
        self.store = self.writer.store
        self.model: dict[ObjectKey, Record] = {}
        self.version = ""

    @rule(record=records)
    def put(self, record: Record) -> None:
        assert self.writer.put(record) == self.model.get(record.key)
        self.model[record.key] = record

    @rule(key=st.sampled_from(KEYS))
    def remove(self, key: ObjectKey) -> None:
        assert self.writer.remove(key) == self.model.pop(key, None)

    @rule(change=st.sampled_from(Change), record=records, has_record=st.booleans())
    def apply(self, change: Change, record: Record, has_record: bool) -> None:
        key, old = record.key, self.model.get(record.key)
        is_deletion = change is Change.DELETED
        told = self.writer.apply(Delta(change, key, record if has_record or not is_deletion else None))
        if is_deletion:
            self.model.pop(key, None)
            if old is None:
                assert told is None
            elif has_record and old.metadata.uid == record.metadata.uid:
                assert told == Removed(record)
            else:
                assert told == Tombstone(key, old)
        elif old is not None and is_known(old, record):
            assert told is None
        else:
            assert told == Stored(old, record)
            self.model[key] = record

    @rule(version=st.sampled_from(["", "7", "8"]))
    def publish(self, version: str) -> None:
        self.writer.publish(version)
        self.version = version or self.version

    @rule()
    def add_an_index(self) -> None:
        if "count" not in self.indexers:
            self.writer.add_indexers({"count": by_label_count})
            self.indexers["count"] = by_label_count

    @invariant()
    def keys_find_what_was_stored(self) -> None:
        assert len(self.store) == len(self.model)
        assert all(self.store.get(key) is record for key, record in self.model.items())
        assert self.store.version == self.version
        assert self.store.size == sum(len(record.raw) for record in self.model.values())

    @invariant()
    def indexes_find_what_a_scan_would(self) -> None:
        for name, function in self.indexers.items():
            expected: dict[str, set[ObjectKey]] = {}
            for record in self.model.values():
                for value in function(record):
                    expected.setdefault(value, set()).add(record.key)
            found = {
                value: {record.key for record in self.store.by_index(name, value)}
                for value in self.store.index_values(name)
            }
            assert found == expected

    @rule()
    def look_in_two_indexes_at_once(self) -> None:
        for label, namespace in product(VALUES, ("one", "two", "three")):
            found = self.store.by_indexes({"label": label, "namespace": namespace})
            assert sorted(record.key.name for record in found) == sorted(
                key.name
                for key, record in self.model.items()
                if key.namespace == namespace and label in record.metadata.labels
            )


TestStore = StoreMachine.TestCase
