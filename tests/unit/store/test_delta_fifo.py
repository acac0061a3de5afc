"""The delta FIFO, against what client-go's delta_fifo_test.go demands."""

import msgspec
import pytest

from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import Change, Delta, DeltaFIFO, StoreWriter, Tombstone

PODS = Resource.builtin("Pod")

ADDED, UPDATED, DELETED, REPLACED, SYNC = Change


def key(name: str) -> ObjectKey:
    return ObjectKey("default", name)


def record(name: str, version: str = "1") -> Record:
    metadata = {"name": name, "namespace": "default", "resourceVersion": version}
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


def event(kind: str, name: str, version: str = "1") -> WatchEvent:
    return WatchEvent(EventType(kind), record(name, version), version)


def tombstone(name: str, version: str = "1") -> Delta:
    return Delta(DELETED, Tombstone(key(name), record(name, version)))


def queue(*known: Record) -> tuple[DeltaFIFO, StoreWriter]:
    writer = StoreWriter()
    for found in known:
        writer.put(found)
    return DeltaFIFO(writer.store), writer


def drain(fifo: DeltaFIFO) -> dict[str, list[Delta]]:
    return {(popped := fifo.pop()).key.name: list(popped.deltas) for _ in range(len(fifo))}


def test_keys_come_in_the_order_of_their_first_change_with_all_their_deltas() -> None:
    fifo, _ = queue()
    fifo.apply([event("ADDED", "a"), event("ADDED", "b"), event("MODIFIED", "a", "2")], "2")
    assert list(drain(fifo).items()) == [
        ("a", [Delta(ADDED, record("a")), Delta(UPDATED, record("a", "2"))]),
        ("b", [Delta(ADDED, record("b"))]),
    ]


def test_a_key_never_jumps_the_line() -> None:
    fifo, _ = queue()
    fifo.apply([event("ADDED", "a"), event("ADDED", "b")], "")
    fifo.apply([event("MODIFIED", "b"), event("MODIFIED", "a")], "")
    assert fifo.pop().key == key("a")
    fifo.apply([event("MODIFIED", "a")], "")
    assert list(drain(fifo)) == ["b", "a"]


def test_popping_from_an_empty_queue_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="empty"):
        queue()[0].pop()


def test_a_deletion_of_an_unknown_key_is_ignored() -> None:
    fifo, _ = queue()
    fifo.apply([event("DELETED", "a")], "5")
    assert len(fifo) == 0
    assert fifo.has_synced
    assert fifo.version == "5"


def test_a_deletion_of_a_key_in_the_store_is_queued() -> None:
    fifo, _ = queue(record("a"))
    fifo.apply([event("DELETED", "a", "2")], "2")
    assert drain(fifo) == {"a": [Delta(DELETED, record("a", "2"))]}


def test_a_deletion_after_an_add_that_is_still_queued_is_kept() -> None:
    fifo, _ = queue()
    fifo.apply([event("ADDED", "a"), event("DELETED", "a", "2")], "2")
    assert drain(fifo) == {"a": [Delta(ADDED, record("a")), Delta(DELETED, record("a", "2"))]}


def test_a_replacement_deletes_what_the_store_knows_and_the_snapshot_lacks() -> None:
    fifo, _ = queue(record("a"), record("b"), record("c"))
    fifo.replace([record("b", "2"), record("d", "3")], "9")
    assert list(drain(fifo).items()) == [
        ("b", [Delta(REPLACED, record("b", "2"))]),
        ("d", [Delta(REPLACED, record("d", "3"))]),
        ("a", [tombstone("a")]),
        ("c", [tombstone("c")]),
    ]


def test_a_replacement_deletes_what_is_only_queued() -> None:
    fifo, _ = queue()
    fifo.apply([event("ADDED", "a"), event("MODIFIED", "a", "2")], "2")
    fifo.replace([record("b")], "9")
    assert drain(fifo)["a"] == [
        Delta(ADDED, record("a")),
        Delta(UPDATED, record("a", "2")),
        tombstone("a", "2"),
    ]


def test_the_tombstone_of_a_key_that_is_queued_and_stored_has_the_queued_record() -> None:
    fifo, _ = queue(record("a", "1"))
    fifo.apply([event("MODIFIED", "a", "5")], "5")
    fifo.replace([], "9")
    assert drain(fifo) == {"a": [Delta(UPDATED, record("a", "5")), tombstone("a", "5")]}


def test_a_replacement_adds_no_second_deletion_to_a_pending_one() -> None:
    fifo, _ = queue(record("a", "1"))
    fifo.apply([event("DELETED", "a", "2")], "2")
    fifo.replace([], "9")
    fifo.replace([], "10")
    assert drain(fifo) == {"a": [Delta(DELETED, record("a", "2"))]}


def test_a_replacement_after_a_pending_deletion_follows_it() -> None:
    fifo, _ = queue(record("a", "1"))
    fifo.apply([event("DELETED", "a", "2")], "2")
    fifo.replace([record("a", "3")], "9")
    assert drain(fifo) == {"a": [Delta(DELETED, record("a", "2")), Delta(REPLACED, record("a", "3"))]}


def test_a_deletion_that_is_seen_after_all_takes_the_place_of_a_tombstone() -> None:
    fifo, _ = queue(record("a", "1"))
    fifo.replace([], "9")
    fifo.apply([event("DELETED", "a", "2")], "10")
    assert drain(fifo) == {"a": [Delta(DELETED, record("a", "2"))]}


def test_a_resync_shows_each_key_of_the_store_that_has_nothing_pending() -> None:
    fifo, _ = queue(record("a"), record("b"), record("c"))
    fifo.apply([event("MODIFIED", "a", "2"), event("DELETED", "b", "3")], "3")
    fifo.resync()
    fifo.resync()
    assert drain(fifo) == {
        "a": [Delta(UPDATED, record("a", "2"))],
        "b": [Delta(DELETED, record("b", "3"))],
        "c": [Delta(SYNC, record("c"))],
    }


def test_it_is_not_synced_before_anything_has_come() -> None:
    fifo, _ = queue()
    fifo.resync()
    fifo.apply([], "")
    assert not fifo.has_synced


def test_an_empty_first_snapshot_is_synced_at_once() -> None:
    fifo, _ = queue()
    fifo.replace([], "9")
    assert fifo.has_synced
    assert fifo.version == "9"


def test_it_is_synced_once_the_last_key_of_the_first_snapshot_is_taken() -> None:
    fifo, _ = queue(record("gone"))
    fifo.replace([record("a"), record("b"), record("a", "2")], "9")
    fifo.apply([event("ADDED", "late")], "10")
    taken = [(fifo.pop().is_initial, fifo.has_synced) for _ in range(4)]
    assert taken == [(True, False), (True, False), (True, True), (False, True)]


def test_a_second_snapshot_does_not_make_it_unsynced() -> None:
    fifo, _ = queue()
    fifo.replace([], "1")
    fifo.replace([record("a")], "2")
    assert fifo.has_synced
    assert not fifo.pop().is_initial


def test_the_version_moves_when_the_last_delta_that_belongs_to_it_is_taken() -> None:
    fifo, _ = queue()
    fifo.replace([record("a"), record("b")], "9")
    assert fifo.version == ""
    fifo.pop()
    assert fifo.version == ""
    fifo.apply([event("MODIFIED", "b", "10"), event("ADDED", "c", "11")], "11")
    fifo.pop()
    assert fifo.version == "9"
    fifo.apply([], "12")
    assert fifo.version == "9"
    fifo.pop()
    assert fifo.version == "12"
    fifo.publish("13")
    assert fifo.version == "13"


def test_changes_without_a_published_version_leave_it_as_it_is() -> None:
    fifo, _ = queue()
    fifo.replace([], "9")
    fifo.apply([event("ADDED", "a", "10")], "")
    fifo.pop()
    assert fifo.version == "9"


def test_a_bookmark_is_refused_and_nothing_is_taken() -> None:
    fifo, _ = queue()
    with pytest.raises(ValueError, match="no BOOKMARK event"):
        fifo.apply([event("ADDED", "a"), WatchEvent(EventType.BOOKMARK, version="5")], "5")
    assert len(fifo) == 0
    assert fifo.version == ""


def test_the_newest_record_is_the_queued_one_then_the_stored_one() -> None:
    fifo, _ = queue(record("a", "1"), record("b", "1"))
    fifo.apply([event("MODIFIED", "a", "5"), event("DELETED", "b", "6")], "6")
    assert fifo.newest(key("a")) == record("a", "5")
    assert fifo.newest(key("b")) is None
    assert fifo.newest(key("c")) is None
    fifo.pop()
    assert fifo.newest(key("a")) == record("a", "1")


def test_the_high_water_mark_is_the_longest_that_the_queue_has_been() -> None:
    fifo, _ = queue()
    fifo.replace([record("a"), record("b")], "9")
    drain(fifo)
    fifo.apply([event("ADDED", "c")], "10")
    assert len(fifo) == 1
    assert fifo.high_water == 2
