"""What comes in reaches the queue as it is to be kept."""

from typing import Any

import msgspec
import pytest

from kinformer.informer import Transform
from kinformer.informer._admission import Admission
from kinformer.informer._ingest import Ingest
from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import Change, Delta, InOrderFIFO, Replacement
from tests.unit.informer.stage import Quarantine

PODS = Resource.builtin("Pod")
KEY = ObjectKey("default", "a")


class Bench:
    """An ingest with everything around it."""

    def __init__(self, *, transform: Transform | None = None) -> None:
        self.queue = InOrderFIFO()
        self.hooks = Quarantine()
        self.changes = 0
        self.resyncs = 0
        self.ingest = Ingest(
            self.queue,
            admit=Admission("pods", prune=None, transform=transform, hooks=self.hooks),
            changed=self.change,
            resync=self.resync,
        )

    def change(self) -> None:
        self.changes += 1

    def resync(self) -> None:
        self.resyncs += 1

    def take(self) -> list[Delta]:
        taken: list[Delta] = []
        while self.queue:
            item = self.queue.pop()
            assert isinstance(item, list)
            taken += item
            self.queue.done()
        return taken


def record(version: str = "1", *, name: str = "a", spec: int = 0) -> Record:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": "u", "resourceVersion": version}
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": spec}), PODS)


def event(kind: str, found: Record) -> WatchEvent:
    return WatchEvent(EventType(kind), found, found.metadata.resource_version)


def refuse_odd(content: dict[str, Any]) -> None:
    if content["spec"] % 2:
        raise ValueError("odd")
    content["spec"] += 10


def spec_of(told: Delta) -> object:
    assert told.record is not None
    return msgspec.json.decode(told.record.raw)["spec"]


def test_changes_come_in_order_each_as_it_was_admitted() -> None:
    bench = Bench(transform=refuse_odd)
    bench.ingest.apply(
        [
            event("ADDED", record(spec=2)),
            event("MODIFIED", record("2", spec=4)),
            event("DELETED", record("3")),
        ],
        "3",
    )
    assert [(told.change, spec_of(told)) for told in bench.take()] == [
        (Change.ADDED, 12),
        (Change.UPDATED, 14),
        (Change.DELETED, 10),
    ]
    assert bench.queue.version == "3"


def test_what_needs_no_change_is_passed_on_as_it_is() -> None:
    bench, found = Bench(), record()
    bench.ingest.apply([event("ADDED", found)], "1")
    assert bench.take()[0].record is found


def test_of_what_is_quarantined_nothing_comes_but_its_deletion() -> None:
    bench = Bench(transform=refuse_odd)
    bench.ingest.apply([event("MODIFIED", record(spec=3)), event("DELETED", record("2", spec=3))], "2")
    assert bench.take() == [Delta(Change.DELETED, KEY, None)]
    assert bench.hooks.keys == ["default/a", "default/a"]
    assert bench.queue.version == "2"


def test_a_snapshot_is_passed_on_as_it_came() -> None:
    bench = Bench(transform=refuse_odd)
    bench.ingest.replace([record(spec=3), record(name="b")], "9", kept=[KEY])
    snapshot = bench.queue.pop()
    assert isinstance(snapshot, Replacement)
    assert list(snapshot.records) == [record(spec=3), record(name="b")]
    assert (snapshot.version, snapshot.kept) == ("9", frozenset([KEY]))
    assert bench.hooks.keys == []


def test_it_tells_when_something_has_come_and_when_a_resync_is_due() -> None:
    bench = Bench()
    bench.ingest.apply([], "1")
    bench.ingest.replace([], "2")
    bench.ingest.replace([], "3")
    bench.ingest.resync()
    assert (bench.changes, bench.resyncs, bench.ingest.lists) == (3, 1, 2)


def test_an_event_about_no_object_is_refused_and_nothing_is_taken() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="about no object"):
        bench.ingest.apply([event("ADDED", record()), WatchEvent(EventType.BOOKMARK, version="5")], "5")
    assert len(bench.queue) == 0
