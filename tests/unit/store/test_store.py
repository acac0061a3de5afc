"""The store and its writer."""

from collections.abc import Iterable

import msgspec
import pytest

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, NAMESPACE_INDEX, StoreWriter

PODS = Resource.builtin("Pod")


def key(name: str, namespace: str = "default") -> ObjectKey:
    return ObjectKey(namespace, name)


def record(name: str, version: str = "1", *, namespace: str = "default", app: str = "") -> Record:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": version, "labels": {"app": app}}
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


def by_app(found: Record) -> Iterable[str]:
    app = found.metadata.labels["app"]
    if app == "bad":
        raise ValueError("no such app")
    return app.split("+") if app else ()


def test_what_is_put_is_found_by_its_key() -> None:
    writer = StoreWriter()
    assert writer.put(record("a")) is None
    assert writer.store.get(key("a")) == record("a")
    assert key("a") in writer.store
    assert len(writer.store) == 1
    assert writer.store.get(key("b")) is None


def test_putting_again_gives_back_the_one_before() -> None:
    writer = StoreWriter()
    writer.put(record("a", "1"))
    assert writer.put(record("a", "2")) == record("a", "1")
    assert writer.store.get(key("a")) == record("a", "2")


def test_removing_gives_back_what_was_there() -> None:
    writer = StoreWriter()
    writer.put(record("a"))
    assert writer.remove(key("a")) == record("a")
    assert writer.remove(key("a")) is None
    assert len(writer.store) == 0


def test_a_reader_that_goes_over_the_content_is_not_disturbed_by_changes() -> None:
    writer = StoreWriter()
    writer.put(record("a"))
    writer.put(record("b"))
    seen = []
    for found in writer.store:
        seen.append(found.key.name)
        writer.remove(key("b"))
        writer.put(record("c"))
    assert seen == ["a", "b"]


def test_an_index_finds_records_under_each_of_their_values() -> None:
    writer = StoreWriter({"app": by_app})
    writer.put(record("a", app="web+db"))
    writer.put(record("b", app="web"))
    assert [found.key.name for found in writer.store.by_index("app", "web")] == ["a", "b"]
    assert [found.key.name for found in writer.store.by_index("app", "db")] == ["a"]
    assert writer.store.by_index("app", "none") == ()
    assert writer.store.index_names == ("app",)


def test_a_change_moves_a_record_to_its_new_values() -> None:
    writer = StoreWriter({"app": by_app})
    writer.put(record("a", app="web+db"))
    writer.put(record("a", app="db+mail"))
    assert set(writer.store.index_values("app")) == {"db", "mail"}
    writer.remove(key("a"))
    assert writer.store.index_values("app") == ()


def test_an_unknown_index_is_a_lookup_error_that_names_those_there_are() -> None:
    writer = StoreWriter(BUILTIN_INDEXERS)
    with pytest.raises(LookupError, match="no index is called 'app'; there are: 'namespace', 'owner-uid'"):
        writer.store.by_index("app", "web")
    with pytest.raises(LookupError, match="there are: none"):
        StoreWriter().store.index_values("app")


def test_an_index_added_to_a_filled_store_finds_what_was_there_before() -> None:
    writer = StoreWriter()
    writer.put(record("a", app="web"))
    writer.add_indexers({"app": by_app} | dict(BUILTIN_INDEXERS))
    assert [found.key.name for found in writer.store.by_index("app", "web")] == ["a"]
    assert writer.store.index_values(NAMESPACE_INDEX) == ("default",)


def test_a_name_that_is_taken_adds_no_index_at_all() -> None:
    writer = StoreWriter({"app": by_app})
    with pytest.raises(ValueError, match="index 'app' exists already"):
        writer.add_indexers({"other": by_app, "app": by_app})
    assert writer.store.index_names == ("app",)


def test_a_replacement_swaps_the_content_and_tells_what_vanished() -> None:
    writer = StoreWriter({"app": by_app})
    writer.put(record("a", app="web"))
    writer.put(record("b", app="db"))
    gone = writer.replace([record("b", "2", app="web"), record("c", app="web")], "9")
    assert gone == (record("a", app="web"),)
    assert [found.key.name for found in writer.store.by_index("app", "web")] == ["b", "c"]
    assert writer.store.index_values("app") == ("web",)
    assert writer.store.version == "9"


def test_of_two_records_with_one_key_in_a_replacement_the_last_counts() -> None:
    writer = StoreWriter()
    writer.replace([record("a", "1"), record("a", "2")], "2")
    assert list(writer.store) == [record("a", "2")]


def test_an_empty_version_leaves_the_version_as_it_is() -> None:
    writer = StoreWriter()
    writer.publish("7")
    writer.publish("")
    assert writer.store.version == "7"


def test_an_index_function_that_raises_leaves_no_half_applied_state() -> None:
    writer = StoreWriter({"first": by_app, "app": by_app})
    writer.put(record("a", "1", app="web"))
    with pytest.raises(ValueError, match="no such app"):
        writer.put(record("a", "2", app="bad"))
    with pytest.raises(ValueError, match="no such app"):
        writer.replace([record("b", app="web"), record("c", app="bad")], "9")
    assert list(writer.store) == [record("a", "1", app="web")]
    assert writer.store.index_values("first") == ("web",)
    assert writer.store.version == ""


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
