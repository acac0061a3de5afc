"""Records with their indexes: what is found where, and what is left when a function fails."""

import gc

import pytest

from kinformer.meta import Record
from kinformer.store import by_namespace
from kinformer.store._content import Content, Places
from tests.unit.store.stage import by_app, key, record


def content(*records: Record) -> Content:
    made = Content(None)
    made.add_indexers({"app": by_app, "namespace": by_namespace})
    for each in records:
        made.put(each)
    return made


def found(where: Content, index: str) -> dict[str, list[str]]:
    return {value: [each.name for each in keys] for value, keys in where.indexes[index].keys.items()}


def test_a_change_moves_a_record_to_its_new_values_in_that_index_alone() -> None:
    made = content(record("a", app="web+db"), record("b", app="web"))
    made.put(record("a", "2", app="db+mail"))
    assert found(made, "app") == {"web": ["b"], "db": ["a"], "mail": ["a"]}
    assert found(made, "namespace") == {"default": ["a", "b"]}


def test_what_is_removed_is_found_nowhere() -> None:
    made = content(record("a", app="web"), record("b"))
    made.remove(key("a"))
    made.remove(key("b"))
    assert (made.records, made.values, found(made, "app"), found(made, "namespace")) == ({}, {}, {}, {})


def test_the_collector_has_none_of_what_grows_with_the_records_to_look_through() -> None:
    made = content(*(record(f"n{number}", app=f"app-{number}+web") for number in range(20)))
    assert not gc.is_tracked(made.records)
    assert not gc.is_tracked(made.values)
    for index in made.indexes.values():
        assert not any(map(gc.is_tracked, index.keys.values()))


def test_it_knows_how_long_its_json_is() -> None:
    short, long = record("a"), record("a", "2", spec=10**9)
    made = content(short, record("b"))
    made.put(long)
    assert made.size == len(long.raw) + len(record("b").raw)
    made.remove(key("a"))
    made.remove(key("b"))
    assert made.size == 0


def test_a_function_that_raises_changes_nothing() -> None:
    made = content(record("a", app="web"))
    with pytest.raises(ValueError, match="no such app"):
        made.put(record("a", "2", app="bad"))
    assert made.records == {key("a"): record("a", app="web")}
    assert found(made, "app") == {"web": ["a"]}


def test_an_index_function_that_raises_on_what_is_there_adds_no_index() -> None:
    made = Content(None)
    made.put(record("a", app="web"))
    made.put(record("b", app="bad"))
    with pytest.raises(ValueError, match="no such app"):
        made.add_indexers({"namespace": by_namespace, "app": by_app})
    assert made.indexes == {}
    assert made.values == {key("a"): Places(()), key("b"): Places(())}


def test_a_record_is_adopted_under_the_values_that_it_has_without_asking_again() -> None:
    asked: list[str] = []

    def counting(each: Record) -> list[str]:
        asked.append(each.key.name)
        return [f"asked {len(asked)} times"]

    old = Content(None)
    old.add_indexers({"count": counting})
    old.put(record("a"))
    fresh = old.empty_copy()
    fresh.adopt(record("a"), old)
    assert asked == ["a"]
    assert found(fresh, "count") == {"asked 1 times": ["a"]}


def test_what_a_function_said_before_is_forgotten_when_it_changes_its_mind() -> None:
    answers = iter(["x", "y"])
    made = Content(None)
    made.add_indexers({"moody": lambda _: [next(answers)]})
    made.put(record("a"))
    made.put(record("a", "2"))
    assert found(made, "moody") == {"y": ["a"]}
