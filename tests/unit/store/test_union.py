"""Several stores, read as one: as one store reads that has been given everything."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import Record
from kinformer.store import BUILTIN_INDEXERS, NAMESPACE_INDEX, Store, StoreWriter, UnionStore
from tests.unit.store.stage import by_app, key, record

NAMESPACES = ("a", "b", "c")


def by_key(records: tuple[Record, ...] | Store) -> list[Record]:
    return sorted(records, key=lambda each: each.key)


def filled(*versions: str) -> UnionStore:
    writers = {namespace: StoreWriter() for namespace in NAMESPACES}
    for writer, version in zip(writers.values(), versions, strict=True):
        writer.publish(version)
    return UnionStore({namespace: writer.store for namespace, writer in writers.items()})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMESPACES), st.sampled_from("xyz"), st.sampled_from(["", "web", "web+db"])
        ),
        max_size=12,
    )
)
def test_it_reads_like_one_store_of_them_all(objects: list[tuple[str, str, str]]) -> None:
    indexers = {"app": by_app} | dict(BUILTIN_INDEXERS)
    whole = StoreWriter(indexers)
    parts = {namespace: StoreWriter(indexers) for namespace in NAMESPACES}
    union = UnionStore({namespace: writer.store for namespace, writer in parts.items()})
    for namespace, name, app in objects:
        for writer in (whole, parts[namespace]):
            if app:
                writer.put(record(name, namespace=namespace, app=app))
            else:
                writer.remove(key(name, namespace))
    one = whole.store
    assert by_key(union) == by_key(one)
    assert (len(union), union.size, union.index_names) == (len(one), one.size, one.index_names)
    assert dict(union.content) == dict(one.content)
    for namespace in (*NAMESPACES, "d"):
        for name in "xyz":
            assert union.get(key(name, namespace)) == one.get(key(name, namespace))
            assert (key(name, namespace) in union) == (key(name, namespace) in one)
        assert by_key(union.by_index(NAMESPACE_INDEX, namespace)) == by_key(
            one.by_index(NAMESPACE_INDEX, namespace)
        )
        both = {"app": "web", NAMESPACE_INDEX: namespace}
        assert by_key(union.by_indexes(both)) == by_key(one.by_indexes(both))
    assert by_key(union.by_indexes({})) == by_key(one)
    assert sorted(union.index_values("app")) == sorted(one.index_values("app"))


@pytest.mark.parametrize(
    ("versions", "oldest"),
    [
        (("9", "10", "11"), "9"),
        (("11", "10", "9"), "9"),
        (("9", "", "11"), ""),
        (("x", "x", "x"), "x"),
        (("x", "y", "x"), ""),
        (("9", "y", "9"), ""),
    ],
)
def test_its_version_is_the_oldest_of_them_where_that_can_be_told(
    versions: tuple[str, ...], oldest: str
) -> None:
    assert filled(*versions).version == oldest


def test_it_changes_with_its_parts() -> None:
    parts = {"a": StoreWriter(), "b": StoreWriter()}
    union = UnionStore({namespace: writer.store for namespace, writer in parts.items()})
    parts["b"].put(record("x", namespace="b"))
    seen = []
    for found in union:
        seen.append(found.key.name)
        parts["b"].remove(found.key)
    assert seen == ["x"]
    assert key("x", "b") not in union


@pytest.mark.parametrize(
    "ask",
    [
        lambda union: union.by_index("tier", "web"),
        lambda union: union.by_indexes({"tier": "web"}),
        lambda union: union.index_values("tier"),
    ],
    ids=["by_index", "by_indexes", "index_values"],
)
def test_an_unknown_index_is_a_lookup_error(ask: Callable[[Store], object]) -> None:
    with pytest.raises(LookupError, match="'tier'"):
        ask(filled("", "", ""))
