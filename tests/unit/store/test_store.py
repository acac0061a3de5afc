"""The store as its readers see it."""

import pytest

from kinformer.store import BUILTIN_INDEXERS, NAMESPACE_INDEX, Store, StoreWriter
from tests.unit.store.stage import by_app, key, record


def filled() -> StoreWriter:
    writer = StoreWriter({"app": by_app} | dict(BUILTIN_INDEXERS))
    writer.put(record("a", app="web+db"))
    writer.put(record("b", app="web"))
    writer.put(record("c", namespace="shop", app="web"))
    return writer


def names(found: tuple[object, ...]) -> list[str]:
    return [each.key.name for each in found]  # type: ignore[attr-defined]  # they are records


def test_an_empty_store_is_at_no_version() -> None:
    store = Store()
    assert (len(store), list(store), store.version, store.size) == (0, [], "", 0)


def test_a_record_is_found_by_its_key() -> None:
    store = filled().store
    assert store.get(key("a")) == record("a", app="web+db")
    assert key("a") in store
    assert (store.get(key("x")), key("x") in store) == (None, False)
    assert len(store) == 3
    assert store.size == sum(len(each.raw) for each in store)


def test_a_reader_that_goes_over_the_records_is_not_disturbed_by_changes() -> None:
    writer = filled()
    seen = []
    for found in writer.store:
        seen.append(found.key.name)
        writer.remove(key("b"))
        writer.put(record("d"))
    assert seen == ["a", "b", "c"]


def test_the_content_can_be_read_and_not_changed() -> None:
    store = filled().store
    assert list(store.content.values()) == list(store)
    with pytest.raises(TypeError, match="does not support item"):
        store.content[key("x")] = record("x")  # type: ignore[index]  # that it cannot is the point


def test_an_index_finds_records_under_each_of_their_values() -> None:
    store = filled().store
    assert names(store.by_index("app", "web")) == ["a", "b", "c"]
    assert names(store.by_index("app", "db")) == ["a"]
    assert store.by_index("app", "none") == ()
    assert set(store.index_values("app")) == {"web", "db"}
    assert store.index_names == ("app", "namespace", "owner-uid")


def test_several_indexes_find_what_all_of_them_find() -> None:
    store = filled().store
    assert names(store.by_indexes({"app": "web", NAMESPACE_INDEX: "default"})) == ["a", "b"]
    assert names(store.by_indexes({"app": "db", NAMESPACE_INDEX: "shop"})) == []
    assert names(store.by_indexes({"app": "none", NAMESPACE_INDEX: "shop"})) == []
    assert names(store.by_indexes({"app": "db"})) == ["a"]
    assert names(store.by_indexes({})) == ["a", "b", "c"]


def test_an_unknown_index_is_a_lookup_error_that_names_those_there_are() -> None:
    store = filled().store
    for ask in (
        lambda: store.by_index("tier", "web"),
        lambda: store.by_indexes({"app": "web", "tier": "web"}),
        lambda: store.index_values("tier"),
    ):
        with pytest.raises(LookupError, match="'tier'; there are: 'app', 'namespace', 'owner-uid'"):
            ask()
    with pytest.raises(LookupError, match="there are: none"):
        StoreWriter().store.index_values("app")
