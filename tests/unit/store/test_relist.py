"""A snapshot goes into the store in steps; readers see the old content or the new one."""

import gc
import weakref
from collections.abc import Iterable

import pytest

from kinformer.meta import ObjectKey, Record
from kinformer.store import Difference, Relist, Replacement, Stored, StoreWriter, Tombstone
from tests.unit.store.stage import by_app, key, record, replacement


def filled(*records: Record) -> StoreWriter:
    writer = StoreWriter({"app": by_app})
    for each in records:
        writer.put(each)
    writer.publish("1")
    return writer


def fill(relist: Relist, limit: int = 100) -> None:
    while not relist.is_filled:
        relist.fill(limit)


def perform(relist: Relist) -> list[Difference]:
    fill(relist)
    relist.swap()
    differences = relist.differences(100)
    while relist.free(100):
        pass
    return differences


def content(writer: StoreWriter) -> dict[str, str]:
    return {each.key.name: each.metadata.resource_version for each in writer.store}


def test_before_the_swap_a_reader_sees_the_old_content_and_after_it_the_new_one() -> None:
    writer = filled(record("a", app="web"), record("b", app="db"))
    relist = writer.relist(replacement(record("b", "2", app="web"), record("c", app="web")))
    seen = []
    while not relist.is_filled:
        seen.append((content(writer), writer.store.version, writer.store.index_values("app")))
        relist.fill(1)
    assert seen == [({"a": "1", "b": "1"}, "1", ("web", "db"))] * len(seen)
    assert len(seen) > 3
    relist.swap()
    assert (content(writer), writer.store.version) == ({"b": "2", "c": "1"}, "9")
    assert [found.key.name for found in writer.store.by_index("app", "web")] == ["b", "c"]
    assert writer.store.index_values("app") == ("web",)


@pytest.mark.parametrize("deletes_first", [False, True], ids=["changes first", "deletions first"])
def test_it_tells_what_changed_in_the_order_of_the_list_and_what_is_gone(deletes_first: bool) -> None:
    writer = filled(record("a"), record("b"), record("c"), record("z"))
    snapshot = replacement(
        record("d", "9"), record("c", "8"), record("a"), record("b", "7"), deletes_first=deletes_first
    )
    changes: list[Difference] = [
        Stored(None, record("d", "9")),
        Stored(record("c"), record("c", "8")),
        Stored(record("b"), record("b", "7")),
    ]
    gone: list[Difference] = [Tombstone(key("z"), record("z"))]
    expected = gone + changes if deletes_first else changes + gone
    assert perform(writer.relist(snapshot)) == expected


def test_a_record_that_is_held_already_is_held_once() -> None:
    held, twin, newer = record("a", "5"), record("a", "5"), record("b", "6")
    writer = filled(held, record("b", "5"))
    assert perform(writer.relist(replacement(twin, newer))) == [Stored(record("b", "5"), newer)]
    assert writer.store.get(key("a")) is held
    assert writer.store.get(key("b")) is newer


def test_a_twin_is_let_go_as_soon_as_it_has_been_looked_at() -> None:
    writer = filled(record("a", "5"), record("b", "5"))
    snapshot = replacement(record("a", "5"), record("b", "5"))
    relist = writer.relist(snapshot)
    relist.fill(1)
    assert list(snapshot.records) == [record("b", "5")]


def test_an_object_of_another_uid_is_a_change_even_at_the_same_version() -> None:
    old, new = record("a", "5", uid="u"), record("a", "5", uid="v")
    assert perform(filled(old).relist(replacement(new))) == [Stored(old, new)]


def test_of_several_records_with_one_key_the_last_counts() -> None:
    writer = filled(record("a", "1"), record("b", "1"))
    told = perform(
        writer.relist(
            replacement(
                record("a", "2"), record("b", "2"), record("a", "3"), record("b", "1"), record("c", "4")
            )
        )
    )
    assert told == [Stored(record("a", "1"), record("a", "3")), Stored(None, record("c", "4"))]
    assert content(writer) == {"a": "3", "b": "1", "c": "4"}


def test_what_the_snapshot_holds_illegibly_stays_as_it_is_known() -> None:
    writer = filled(record("a", app="web"), record("b"))
    assert perform(writer.relist(replacement(kept=[key("a"), key("x")]))) == [
        Tombstone(key("b"), record("b"))
    ]
    assert writer.store.by_index("app", "web") == (record("a", app="web"),)


def test_only_what_is_news_is_admitted() -> None:
    admitted: list[ObjectKey] = []

    def admit(each: Record) -> Record:
        admitted.append(each.key)
        return record(each.key.name, each.metadata.resource_version, spec=7)

    writer = filled(record("a", "5"), record("b", "5"))
    perform(writer.relist(replacement(record("a", "5"), record("b", "6"), record("c", "7")), admit))
    assert admitted == [key("b"), key("c")]
    assert list(writer.store) == [record("a", "5"), record("b", "6", spec=7), record("c", "7", spec=7)]


def test_of_what_cannot_be_admitted_the_last_good_state_stays() -> None:
    writer = filled(record("a", "5"))
    assert perform(writer.relist(replacement(record("a", "6"), record("b", "7")), lambda each: None)) == []
    assert content(writer) == {"a": "5"}


def test_without_versions_what_was_admitted_is_compared() -> None:
    def admit(each: Record) -> Record:
        return record(each.key.name, "", spec=int(each.raw.endswith(b"2}")))

    old = record("a", "", spec=0)
    writer = filled(old)
    assert perform(writer.relist(replacement(record("a", "", spec=0)), admit)) == []
    assert writer.store.get(key("a")) is old
    assert perform(writer.relist(replacement(record("a", "", spec=2)), admit)) == [
        Stored(old, record("a", "", spec=1))
    ]


def test_the_first_snapshot_of_an_empty_store_keeps_no_differences() -> None:
    writer = filled()
    relist = writer.relist(replacement(record("a"), is_initial=True))
    assert relist.is_first
    assert perform(relist) == []
    assert content(writer) == {"a": "1"}


def test_a_later_snapshot_tells_an_empty_store_of_everything() -> None:
    relist = filled().relist(replacement(record("a")))
    assert not relist.is_first
    assert perform(relist) == [Stored(None, record("a"))]


def test_an_empty_snapshot_empties_the_store() -> None:
    writer = filled(record("a"))
    assert perform(writer.relist(replacement())) == [Tombstone(key("a"), record("a"))]
    assert len(writer.store) == 0
    assert writer.store.size == 0


def test_a_snapshot_without_a_version_leaves_the_stores_as_it_is() -> None:
    writer = filled(record("a"))
    perform(writer.relist(replacement(record("a"), version="")))
    assert writer.store.version == "1"


@pytest.mark.parametrize("steps", range(8))
def test_an_index_that_is_added_on_the_way_is_in_the_new_content_too(steps: int) -> None:
    writer = filled(record("a", app="web"), record("b", app="db"), record("c", app="web"))
    relist = writer.relist(replacement(record("a", app="web"), record("b", "2", app="web"), kept=[key("c")]))
    for _ in range(steps):
        relist.fill(1)

    def by_version(each: Record) -> Iterable[str]:
        return [each.metadata.resource_version]

    writer.add_indexers({"version": by_version})
    assert {each.key.name for each in writer.store.by_index("version", "1")} == {"a", "b", "c"}
    fill(relist, 1)
    relist.swap()
    assert {each.key.name for each in writer.store.by_index("version", "1")} == {"a", "c"}
    assert {each.key.name for each in writer.store.by_index("app", "web")} == {"a", "b", "c"}


def test_an_index_that_is_added_between_the_last_step_and_the_swap_is_not_lost() -> None:
    writer = filled(record("a"))
    relist = writer.relist(replacement(record("b", app="web")))
    fill(relist)
    writer.add_indexers({"late": by_app})
    relist.swap()
    assert writer.store.by_index("late", "web") == (record("b", app="web"),)


def test_a_swap_comes_once_and_only_when_it_is_filled() -> None:
    writer = filled(record("a"))
    relist = writer.relist(replacement(record("b")))
    with pytest.raises(RuntimeError, match="once, when it is filled"):
        relist.swap()
    fill(relist)
    relist.swap()
    with pytest.raises(RuntimeError, match="once, when it is filled"):
        relist.swap()


def test_dropped_before_its_swap_it_leaves_the_old_content_and_no_memory() -> None:
    writer = filled(record("a", app="web"))
    relist = writer.relist(replacement(record("b", app="web"), record("c")))
    relist.fill(1)
    remains = weakref.ref(relist)
    del relist
    gc.collect()
    assert remains() is None
    assert content(writer) == {"a": "1"}
    assert writer.store.index_values("app") == ("web",)


def test_an_index_function_that_raises_leaves_the_store_as_it_was() -> None:
    writer = filled(record("a", app="web"))
    relist = writer.relist(replacement(record("b", app="web"), record("c", app="bad")))
    with pytest.raises(ValueError, match="no such app"):
        fill(relist)
    assert (content(writer), writer.store.version) == ({"a": "1"}, "1")
    assert writer.store.by_index("app", "web") == (record("a", app="web"),)


def test_differences_are_given_out_some_at_a_time() -> None:
    writer = filled(*(record(str(number)) for number in range(5)))
    relist = writer.relist(replacement(*(record(str(number), "2") for number in range(5))))
    fill(relist, 2)
    relist.swap()
    sizes = [len(relist.differences(2)) for _ in range(4)]
    assert sizes == [2, 2, 1, 0]


def test_the_old_content_is_freed_some_entries_at_a_time_and_the_new_one_is_not() -> None:
    old = [record(str(number), app="web") for number in range(5)]
    writer = filled(*old)
    before = writer.store.content
    relist = writer.relist(replacement(*old))
    fill(relist)
    relist.swap()
    assert relist.differences(1) == []
    steps = 1
    while relist.free(2):
        steps += 1
    # Five records, five tuples of values, one value with five keys.
    assert steps == 8 + 1
    assert len(before) == 0
    assert list(writer.store) == old
    assert writer.store.by_index("app", "web") == tuple(old)


def test_a_replacement_says_what_it_holds() -> None:
    made = replacement(record("a"), version="5", kept=[key("b")], is_initial=True, deletes_first=True)
    assert isinstance(made, Replacement)
    assert (made.version, made.kept, made.is_initial, made.deletes_first) == (
        "5",
        frozenset([key("b")]),
        True,
        True,
    )
