"""The one who writes."""

from typing import Any

import pytest

from kinformer.meta import Record
from kinformer.store import (
    BUILTIN_INDEXERS,
    NAMESPACE_INDEX,
    Change,
    Delta,
    Difference,
    Removed,
    Stored,
    StoreWriter,
    Tombstone,
)
from tests.unit.store.stage import by_app, delta, key, record

A1, A2, A3 = (record("a", version) for version in "123")
NEXT = record("a", "9", uid="successor")


def test_putting_again_gives_back_the_one_before() -> None:
    writer = StoreWriter()
    assert writer.put(A1) is None
    assert writer.put(A2) == A1
    assert writer.store.get(key("a")) == A2


def test_removing_gives_back_what_was_there() -> None:
    writer = StoreWriter()
    writer.put(A1)
    assert writer.remove(key("a")) == A1
    assert writer.remove(key("a")) is None
    assert len(writer.store) == 0


STORED = Delta(Change.ADDED, A2.key, A2)
CASES: dict[str, tuple[Record | None, Delta, Difference | None, Record | None]] = {
    "an add of what is not there": (None, Delta(Change.ADDED, A1.key, A1), Stored(None, A1), A1),
    "an update of what is not there": (None, Delta(Change.UPDATED, A1.key, A1), Stored(None, A1), A1),
    "an add of what is there": (A1, Delta(Change.ADDED, A1.key, A2), Stored(A1, A2), A2),
    "an update of what is there": (A1, Delta(Change.UPDATED, A1.key, A2), Stored(A1, A2), A2),
    "a state that is known": (A1, Delta(Change.UPDATED, A1.key, record("a", "1")), None, A1),
    "a successor": (A1, Delta(Change.ADDED, A1.key, NEXT), Stored(A1, NEXT), NEXT),
    "a deletion": (A1, Delta(Change.DELETED, A1.key, A3), Removed(A3), None),
    "a deletion without its state": (A1, Delta(Change.DELETED, A1.key, None), Tombstone(A1.key, A1), None),
    "the deletion of a successor that nobody saw": (
        A1,
        Delta(Change.DELETED, A1.key, NEXT),
        Tombstone(A1.key, A1),
        None,
    ),
    "a deletion of what is not there": (None, Delta(Change.DELETED, A1.key, A1), None, None),
}


@pytest.mark.parametrize(("before", "told", "difference", "after"), CASES.values(), ids=CASES)
def test_a_delta_changes_the_store_and_says_how(
    before: Record | None, told: Delta, difference: Difference | None, after: Record | None
) -> None:
    writer = StoreWriter()
    if before is not None:
        writer.put(before)
    assert writer.apply(told) == difference
    assert writer.store.get(key("a")) == after


def test_a_known_state_does_not_take_the_place_of_the_record_that_is_held() -> None:
    writer = StoreWriter()
    writer.put(A1)
    writer.apply(delta(Change.UPDATED, "a", "1"))
    assert writer.store.get(key("a")) is A1


def test_without_versions_objects_are_compared_as_they_are() -> None:
    writer = StoreWriter()
    old, new = record("a", "", spec=1), record("a", "", spec=2)
    writer.put(old)
    assert writer.apply(Delta(Change.UPDATED, old.key, record("a", "", spec=1))) is None
    assert writer.apply(Delta(Change.UPDATED, old.key, new)) == Stored(old, new)


def test_an_index_added_to_a_filled_store_finds_what_was_there_before() -> None:
    writer = StoreWriter()
    writer.put(record("a", app="web"))
    writer.add_indexers({"app": by_app} | dict(BUILTIN_INDEXERS))
    assert writer.store.by_index("app", "web") == (record("a", app="web"),)
    assert writer.store.index_values(NAMESPACE_INDEX) == ("default",)


def test_a_name_that_is_taken_adds_no_index_at_all() -> None:
    writer = StoreWriter({"app": by_app})
    with pytest.raises(ValueError, match="index 'app' exists already"):
        writer.add_indexers({"other": by_app, "app": by_app})
    assert writer.store.index_names == ("app",)


async def by_awaiting(found: Record) -> list[str]:
    return []


@pytest.mark.parametrize("function", ["spec.nodeName", None, by_awaiting])
def test_what_is_no_plain_function_is_no_index(function: Any) -> None:
    with pytest.raises(TypeError, match=r"index 'node': .* must be a plain function"):
        StoreWriter({"node": function})
    writer = StoreWriter()
    with pytest.raises(TypeError, match="index 'node'"):
        writer.add_indexers({"other": by_app, "node": function})
    assert writer.store.index_names == ()


def test_an_empty_version_leaves_the_version_as_it_is() -> None:
    writer = StoreWriter()
    writer.publish("7")
    writer.publish("")
    assert writer.store.version == "7"


def test_an_index_failure_that_somebody_hears_of_leaves_the_record_under_no_value() -> None:
    heard: list[tuple[str, str, str]] = []
    writer = StoreWriter(
        {"app": by_app},
        index_failed=lambda name, found, error: heard.append((name, str(found.key), str(error))),
    )
    writer.put(record("a", "1", app="web"))
    writer.put(record("a", "2", app="bad"))
    assert heard == [("app", "default/a", "no such app")]
    assert writer.store.get(key("a")) == record("a", "2", app="bad")
    assert writer.store.index_values("app") == ()


def test_a_cleared_store_has_its_indexes_and_nothing_in_them() -> None:
    writer = StoreWriter(BUILTIN_INDEXERS)
    writer.put(record("a"))
    writer.clear()
    assert (len(writer.store), writer.store.size, writer.store.by_index(NAMESPACE_INDEX, "default")) == (
        0,
        0,
        (),
    )
    writer.put(record("b"))
    assert writer.store.by_index(NAMESPACE_INDEX, "default") == (record("b"),)
