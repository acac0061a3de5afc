"""From deltas to the store and to notifications."""

import msgspec
import pytest

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._digest import digest, is_resync
from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import Change, Delta, Popped, StoreWriter, Tombstone

PODS = Resource.builtin("Pod")
KEY = ObjectKey("default", "a")


def record(version: str, *, uid: str = "u", spec: int = 0) -> Record:
    content = {
        "metadata": {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": version},
        "spec": spec,
    }
    return Record.decode(msgspec.json.encode(content), PODS)


R1, R2, R3, NEXT = record("1"), record("2"), record("3"), record("9", uid="v")


def run(stored: Record | None, *deltas: Delta, is_initial: bool = False) -> list[Notification[Record]]:
    writer = StoreWriter()
    if stored is not None:
        writer.put(stored)
    told = list(digest(Popped(KEY, deltas, is_initial), writer))
    last = deltas[-1]
    expected = None if last.change is Change.DELETED else last.obj
    assert writer.store.get(KEY) == expected or last.change is Change.SYNC
    return told


@pytest.mark.parametrize("change", [Change.ADDED, Change.UPDATED, Change.REPLACED])
def test_the_store_says_whether_it_is_an_add_or_an_update(change: Change) -> None:
    assert run(None, Delta(change, R1)) == [Added(R1)]
    assert run(None, Delta(change, R1), is_initial=True) == [Added(R1, is_initial=True)]
    assert run(R1, Delta(change, R2)) == [Updated(R1, R2)]


@pytest.mark.parametrize("change", [Change.ADDED, Change.UPDATED, Change.REPLACED])
def test_a_state_that_is_known_is_not_told(change: Change) -> None:
    assert run(R1, Delta(change, record("1"))) == []


def test_without_versions_objects_are_compared_as_they_are() -> None:
    assert run(record(""), Delta(Change.REPLACED, record(""))) == []
    changed = record("", spec=1)
    assert run(record(""), Delta(Change.REPLACED, changed)) == [Updated(record(""), changed)]


def test_another_uid_is_another_object() -> None:
    assert run(R1, Delta(Change.REPLACED, NEXT)) == [Deleted(R1, is_tombstone=True), Added(NEXT)]


def test_a_deletion_shows_the_last_state() -> None:
    assert run(R1, Delta(Change.DELETED, R2)) == [Deleted(R2)]


def test_a_missed_deletion_shows_what_was_last_known() -> None:
    gone = Delta(Change.DELETED, Tombstone(KEY, R2))
    assert run(R1, gone) == [Deleted(R2, is_tombstone=True)]


def test_the_deletion_of_a_successor_that_nobody_saw_is_that_of_what_was_known() -> None:
    assert run(R1, Delta(Change.DELETED, NEXT)) == [Deleted(R1, is_tombstone=True)]
    assert run(R1, Delta(Change.DELETED, Tombstone(KEY, NEXT))) == [Deleted(R1, is_tombstone=True)]


def test_a_deletion_of_what_is_not_stored_is_not_told() -> None:
    assert run(None, Delta(Change.DELETED, R1)) == []


def test_all_deltas_of_a_key_are_told_in_order() -> None:
    told = run(
        None,
        Delta(Change.ADDED, R1),
        Delta(Change.UPDATED, R2),
        Delta(Change.DELETED, R3),
        Delta(Change.ADDED, NEXT),
    )
    assert told == [Added(R1), Updated(R1, R2), Deleted(R3), Added(NEXT)]


def test_a_sync_shows_what_is_stored_and_nothing_else() -> None:
    told = run(R1, Delta(Change.SYNC, R1))
    assert told == [Updated(R1, R1)]
    assert is_resync(told[0])
    assert run(None, Delta(Change.SYNC, R1)) == []
    assert not is_resync(Updated(R1, R2))
