"""The store against two dicts, with indexes computed from scratch."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, StoreWriter

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

    @rule(snapshot=st.lists(records, max_size=5), version=st.integers(1, 99).map(str))
    def replace(self, snapshot: list[Record], version: str) -> None:
        before = self.model
        self.model = {record.key: record for record in snapshot}
        gone = self.writer.replace(snapshot, version)
        assert {record.key for record in gone} == before.keys() - self.model.keys()
        assert self.store.version == version

    @rule()
    def add_an_index(self) -> None:
        if "count" not in self.indexers:
            self.writer.add_indexers({"count": by_label_count})
            self.indexers["count"] = by_label_count

    @invariant()
    def keys_find_what_was_stored(self) -> None:
        assert {record.key: record for record in self.store} == self.model
        assert len(self.store) == len(self.model)

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


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStore = StoreMachine.TestCase
