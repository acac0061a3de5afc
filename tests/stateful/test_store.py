"""The store against two dicts, with indexes computed from scratch."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, Change, Delta, Removed, Stored, StoreWriter, Tombstone

PODS = Resource.builtin("Pod")
VALUES = ("x", "y", "z")
KEYS = tuple(ObjectKey(namespace, name) for namespace in ("one", "two") for name in "abc")


def make(key: ObjectKey, values: frozenset[str], version: int) -> Record:
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "resourceVersion": str(version),
        "labels": dict.fromkeys(sorted(values), ""),
    }
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


def by_label(record: Record) -> list[str]:
    return list(record.metadata.labels)


def by_label_count(record: Record) -> list[str]:
    return [str(len(record.metadata.labels))]


records = st.builds(make, st.sampled_from(KEYS), st.frozensets(st.sampled_from(VALUES)), st.integers(1, 9))


class StoreMachine(RuleBasedStateMachine):
    """Whatever is written, reading by key and by index gives what a plain dict would."""

    def __init__(self) -> None:
        super().__init__()
        self.indexers = {"label": by_label} | dict(BUILTIN_INDEXERS)
        self.writer = StoreWriter(self.indexers)
        self.store = self.writer.store
        self.model: dict[ObjectKey, Record] = {}

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
            expected = None if old is None else Removed(record) if has_record else Tombstone(key, old)
            assert told == expected
        elif old is not None and old.metadata.resource_version == record.metadata.resource_version:
            assert told is None
        else:
            assert told == Stored(old, record)
            self.model[key] = record

    @rule()
    def add_an_index(self) -> None:
        if "count" not in self.indexers:
            self.writer.add_indexers({"count": by_label_count})
            self.indexers["count"] = by_label_count

    @invariant()
    def keys_find_what_was_stored(self) -> None:
        assert {record.key: record for record in self.store} == self.model
        assert len(self.store) == len(self.model)
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

    @rule(label=st.sampled_from(VALUES), namespace=st.sampled_from(["one", "two", "three"]))
    def look_in_two_indexes_at_once(self, label: str, namespace: str) -> None:
        found = self.store.by_indexes({"label": label, "namespace": namespace})
        expected = {
            key
            for key, record in self.model.items()
            if key.namespace == namespace and label in record.metadata.labels
        }
        assert {record.key for record in found} == expected
        assert len(found) == len(expected)


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStore = StoreMachine.TestCase
