"""A relist in steps, with readers, new indexes and cancellations between them, against two dicts."""

from collections.abc import Iterable

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import (
    BUILTIN_INDEXERS,
    DeltaFIFO,
    DeltaQueue,
    InOrderFIFO,
    Relist,
    Removed,
    Replacement,
    Stored,
    StoreWriter,
    Tombstone,
)

PODS = Resource.builtin("Pod")
VALUES = ("x", "y", "z")
KEYS = tuple(ObjectKey(namespace, name) for namespace in ("one", "two") for name in "ab")
LIMITS = st.integers(1, 4)


def make(key: ObjectKey, values: frozenset[str], version: str, uid: str) -> Record:
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": uid,
        "resourceVersion": version,
        "labels": dict.fromkeys(sorted(values), ""),
    }
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


def by_label(record: Record) -> Iterable[str]:
    return list(record.metadata.labels)


def by_version(record: Record) -> Iterable[str]:
    return [record.metadata.resource_version]


class RelistMachine(RuleBasedStateMachine):
    """At any moment the store is what it was before the relist or what it is after it, in every index.

    The model decides the new content at once. ``told`` is what somebody holds who starts from the old content and
    believes every difference.
    """

    def __init__(self) -> None:
        super().__init__()
        self.indexers = {"label": by_label} | dict(BUILTIN_INDEXERS)
        self.writer = StoreWriter(self.indexers)
        self.model: dict[ObjectKey, Record] = {}
        self.version = ""
        self.numbers = 0
        self.queue: DeltaQueue = DeltaFIFO(self.writer.store)
        self.relist: Relist | None = None
        self.is_swapped = False
        self.next_model: dict[ObjectKey, Record] = {}
        self.told: dict[ObjectKey, Record] = {}
        self.kinds: list[bool] = []

    @precondition(lambda self: self.relist is None)
    @rule(
        listed=st.lists(
            st.tuples(
                st.sampled_from(KEYS),
                st.frozensets(st.sampled_from(VALUES)),
                st.sampled_from("uv"),
                st.sampled_from(["new", "new", "twin", "successor"]),
            ),
            max_size=6,
        ),
        kept=st.sets(st.sampled_from(KEYS), max_size=2),
        bad=st.sets(st.sampled_from(KEYS), max_size=1),
        is_initial=st.booleans(),
        deletes_first=st.booleans(),
    )
    def begin(
        self,
        listed: list[tuple[ObjectKey, frozenset[str], str, str]],
        kept: set[ObjectKey],
        bad: set[ObjectKey],
        is_initial: bool,
        deletes_first: bool,
    ) -> None:
        """A snapshot has new states, such as are known, and others of the version that is known: those of successors."""
        self.next_model = {key: self.model[key] for key in kept & self.model.keys()}
        records = []
        for key, values, uid, kind in listed:
            self.numbers += 1
            known = self.model.get(key)
            if kind == "twin" and known is not None:
                records.append(Record.decode(known.raw, PODS))
                self.next_model[key] = known
                continue
            if kind == "successor" and known is not None:
                record = make(key, values, known.metadata.resource_version, f"u{self.numbers}")
            else:
                record = make(key, values, str(self.numbers), uid)
            records.append(record)
            best = known if key in bad else record
            if best is not None:
                self.next_model[key] = best
        queue: DeltaQueue = InOrderFIFO() if deletes_first else DeltaFIFO(self.writer.store)
        if not is_initial:
            queue.replace((), "")
            queue.pop()
            queue.done()
        queue.replace(records, f"v{self.numbers}", kept=kept)
        replacement = queue.pop()
        assert isinstance(replacement, Replacement)
        self.relist = self.writer.relist(replacement, lambda record: None if record.key in bad else record)
        self.is_swapped = False
        assert self.relist.is_first == (is_initial and not self.model)
        self.told = dict(self.next_model if self.relist.is_first else self.model)
        self.kinds = []
        self.deletes_first = deletes_first

    @precondition(lambda self: self.relist is not None and not self.relist.is_filled)
    @rule(limit=LIMITS)
    def fill(self, limit: int) -> None:
        assert self.relist is not None
        self.relist.fill(limit)

    @precondition(lambda self: self.relist is not None and self.relist.is_filled and not self.is_swapped)
    @rule(adds_an_index=st.booleans())
    def swap(self, adds_an_index: bool) -> None:
        assert self.relist is not None
        if adds_an_index and len(self.indexers) < 6:
            self.add_an_index()
        self.relist.swap()
        self.is_swapped = True
        self.model = self.next_model
        self.version = f"v{self.numbers}"

    @precondition(lambda self: self.is_swapped)
    @rule(limit=LIMITS)
    def tell(self, limit: int) -> None:
        assert self.relist is not None
        differences = self.relist.differences(limit)
        for difference in differences:
            match difference:
                case Stored(old, new):
                    assert old is not new
                    assert self.told.get(new.key) is old
                    self.told[new.key] = new
                    self.kinds.append(True)
                case Tombstone(key, last_known):
                    assert self.told.pop(key) is last_known
                    self.kinds.append(False)
                case Removed():
                    raise AssertionError("nobody saw it go")
        if len(differences) < limit:
            assert self.told == self.model
            assert self.kinds == sorted(self.kinds, reverse=not self.deletes_first)

    def tell_the_rest_and_free(self, limit: int) -> None:
        assert self.relist is not None
        self.tell(100)
        while self.relist.free(limit):
            assert len(self.writer.store) == len(self.model)
        self.relist, self.is_swapped = None, False

    @precondition(lambda self: self.relist is not None)
    @rule(limit=LIMITS, adds_an_index=st.booleans())
    def finish(self, limit: int, adds_an_index: bool) -> None:
        assert self.relist is not None
        while not self.relist.is_filled:
            self.fill(limit)
        if not self.is_swapped:
            self.swap(adds_an_index)
        self.tell_the_rest_and_free(limit)

    @precondition(lambda self: self.relist is not None and not self.is_swapped)
    @rule(is_meant=st.sampled_from([False, False, False, True]))
    def cancel(self, is_meant: bool) -> None:
        if is_meant:
            self.relist = None

    @precondition(lambda self: len(self.indexers) < 6)
    @rule()
    def add_an_index(self) -> None:
        name = f"version {len(self.indexers)}"
        self.writer.add_indexers({name: by_version})
        self.indexers[name] = by_version

    @precondition(lambda self: self.relist is None)
    @rule(key=st.sampled_from(KEYS), values=st.frozensets(st.sampled_from(VALUES)))
    def put(self, key: ObjectKey, values: frozenset[str]) -> None:
        self.numbers += 1
        self.model[key] = make(key, values, str(self.numbers), "u")
        self.writer.put(self.model[key])

    @invariant()
    def a_reader_sees_the_model(self) -> None:
        store = self.writer.store
        assert len(store) == len(store.content) == len(self.model)
        assert all(store.get(key) is record for key, record in self.model.items())
        assert store.version == self.version
        assert store.size == sum(len(record.raw) for record in self.model.values())
        for name, function in self.indexers.items():
            expected: dict[str, set[ObjectKey]] = {}
            for record in self.model.values():
                for value in function(record):
                    expected.setdefault(value, set()).add(record.key)
            found = {
                value: {record.key for record in store.by_index(name, value)}
                for value in store.index_values(name)
            }
            assert found == expected


TestRelist = RelistMachine.TestCase
