"""What happens to objects before they reach the FIFO."""

from typing import Any

import msgspec
import pytest

from kinformer.hooks import NoHooks, ObjectQuarantined
from kinformer.informer import MANAGED_FIELDS, Prune, Transform
from kinformer.informer._ingest import Ingest
from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import Change, Delta, DeltaFIFO, StoreWriter, Tombstone

PODS = Resource.builtin("Pod")
KEY = ObjectKey("default", "a")


class Quarantine(NoHooks):
    def __init__(self) -> None:
        self.keys: list[str] = []

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.keys.append(event.key)


class Bench:
    """An ingest with everything around it."""

    def __init__(self, *, prune: Prune | None = MANAGED_FIELDS, transform: Transform | None = None) -> None:
        self.writer = StoreWriter()
        self.fifo = DeltaFIFO(self.writer.store)
        self.hooks = Quarantine()
        self.changes = 0
        self.resyncs = 0
        self.ingest = Ingest(
            self.fifo,
            name="pods",
            prune=prune,
            transform=transform,
            hooks=self.hooks,
            changed=self.change,
            resync=self.resync,
        )

    def change(self) -> None:
        self.changes += 1

    def resync(self) -> None:
        self.resyncs += 1

    def popped(self) -> list[Delta]:
        return [delta for _ in range(len(self.fifo)) for delta in self.fifo.pop().deltas]


def record(version: str = "1", *, name: str = "a", spec: int = 0, managed: bool = False) -> Record:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": "u", "resourceVersion": version}
    if managed:
        metadata["managedFields"] = [{"manager": "kubectl"}]
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": spec}), PODS)


def event(kind: str, found: Record) -> WatchEvent:
    return WatchEvent(EventType(kind), found, found.metadata.resource_version)


def count_up(content: dict[str, Any]) -> None:
    content["spec"] += 1


def refuse_odd(content: dict[str, Any]) -> None:
    if content["spec"] % 2:
        raise ValueError("odd")


def spec(delta: Delta) -> int:
    assert isinstance(delta.obj, Record)
    return int(msgspec.json.decode(delta.obj.raw)["spec"])


def test_managed_fields_are_cut_unless_they_are_to_be_kept() -> None:
    bench, keeping = Bench(), Bench(prune=None)
    for each in (bench, keeping):
        each.ingest.apply([event("ADDED", record(managed=True))], "1")
    assert b"managedFields" not in bench.fifo.pop().deltas[0].obj.raw  # type: ignore[union-attr]  # not a tombstone
    assert keeping.popped() == [Delta(Change.ADDED, record(managed=True))]


def test_a_transform_is_applied_once_to_each_object() -> None:
    bench = Bench(transform=count_up)
    bench.ingest.replace([record(), record(name="b", spec=5)], "1")
    deltas = bench.popped()
    assert [spec(delta) for delta in deltas] == [1, 6]
    for delta in deltas:
        bench.writer.put(delta.obj)  # type: ignore[arg-type]  # not a tombstone
    bench.ingest.replace([record(), record("2", name="b", spec=5)], "2")
    bench.ingest.apply(
        [event("MODIFIED", record("3", spec=7)), event("DELETED", record("4", name="b", spec=8))], "4"
    )
    assert [spec(delta) for delta in bench.popped()] == [1, 8, 6, 9]


def test_a_transform_may_give_another_dict() -> None:
    bench = Bench(transform=lambda content: {"metadata": content["metadata"], "spec": 42})
    bench.ingest.apply([event("ADDED", record())], "1")
    assert [spec(delta) for delta in bench.popped()] == [42]


def test_an_object_whose_transform_fails_is_quarantined_and_the_rest_flows() -> None:
    bench = Bench(transform=refuse_odd)
    bench.ingest.replace([record(spec=1), record(name="b", spec=2)], "9")
    assert [delta.obj.key.name for delta in bench.popped()] == ["b"]
    assert bench.hooks.keys == ["default/a"]
    assert bench.fifo.version == "9"


def test_of_a_quarantined_object_the_last_good_state_stays() -> None:
    bench = Bench(transform=refuse_odd)
    bench.writer.put(record("1", spec=2))
    bench.ingest.apply([event("MODIFIED", record("2", spec=3))], "2")
    assert bench.popped() == []
    bench.ingest.replace([record("2", spec=3)], "3")
    assert bench.popped() == [Delta(Change.REPLACED, record("1", spec=2))]
    assert bench.hooks.keys == ["default/a", "default/a"]


def test_the_deletion_of_a_quarantined_object_shows_the_last_good_state() -> None:
    bench = Bench(transform=refuse_odd)
    bench.writer.put(record("1", spec=2))
    bench.ingest.apply([event("DELETED", record("2", spec=3))], "2")
    assert bench.popped() == [Delta(Change.DELETED, Tombstone(KEY, record("1", spec=2)))]
    bench.writer.remove(KEY)
    bench.ingest.apply([event("DELETED", record("3", spec=3))], "3")
    assert bench.popped() == []


def test_a_transform_that_changes_the_identity_is_an_error() -> None:
    def rename(content: dict[str, Any]) -> None:
        content["metadata"]["name"] = "other"

    bench = Bench(transform=rename)
    bench.ingest.apply([event("ADDED", record())], "1")
    assert bench.popped() == []
    assert bench.hooks.keys == ["default/a"]


def test_it_tells_when_something_has_come_and_when_a_resync_is_due() -> None:
    bench = Bench()
    bench.ingest.apply([], "1")
    bench.ingest.replace([], "2")
    bench.ingest.resync()
    assert (bench.changes, bench.resyncs) == (2, 1)


def test_an_event_about_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="about no object"):
        Bench().ingest.apply([WatchEvent(EventType.BOOKMARK, version="5")], "5")
