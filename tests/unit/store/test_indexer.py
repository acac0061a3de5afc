"""Index functions, and the index that they fill."""

import re
from typing import Any

import msgspec
import pytest

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, NAMESPACE_INDEX, OWNER_INDEX, by_namespace, by_owner_uid
from kinformer.store._indexer import Index

PODS = Resource.builtin("Pod")
NODES = Resource.builtin("Node")
A, B = ObjectKey("default", "a"), ObjectKey("default", "b")


def record(name: str, *, namespace: str = "default", owners: tuple[str, ...] = ()) -> Record:
    references = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid} for uid in owners]
    metadata = {"name": name, "namespace": namespace, "ownerReferences": references}
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


def test_the_namespace_index_finds_an_object_under_its_namespace() -> None:
    assert list(by_namespace(record("a", namespace="shop"))) == ["shop"]


def test_a_cluster_scoped_object_is_in_no_namespace() -> None:
    assert list(by_namespace(Record.decode(b'{"metadata":{"name":"n"}}', NODES))) == []


def test_the_owner_index_finds_an_object_under_each_of_its_owners() -> None:
    assert list(by_owner_uid(record("a", owners=("u1", "u2")))) == ["u1", "u2"]


def test_the_builtin_indexers_are_namespace_and_owner() -> None:
    assert dict(BUILTIN_INDEXERS) == {NAMESPACE_INDEX: by_namespace, OWNER_INDEX: by_owner_uid}


def test_values_that_repeat_count_once_and_a_single_one_stands_for_itself() -> None:
    assert Index(lambda _: ["x", "y", "x"]).values_of(record("a")) == ("x", "y")
    assert Index(lambda _: ["x", "x"]).values_of(record("a")) == "x"
    assert Index(lambda _: ()).values_of(record("a")) == ()


def test_a_function_that_gives_one_string_is_refused() -> None:
    with pytest.raises(TypeError, match="not the one string 'default'"):
        Index(lambda found: found.key.namespace).values_of(record("a"))


@pytest.mark.parametrize("value", [None, 5, ("a", "b")])
def test_a_value_that_is_no_string_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"gives strings, not {value!r}")):
        Index(lambda _: ["x", value]).values_of(record("a"))
    with pytest.raises(TypeError, match=re.escape(f"gives strings, not {value!r}")):
        Index(lambda _: [value]).values_of(record("a"))


def test_no_value_stays_without_a_key() -> None:
    index = Index(by_namespace)
    index.move(A, (), ("x", "y"))
    index.move(B, (), "y")
    index.move(A, ("x", "y"), ("y", "z"))
    assert index.keys == {"y": {B: None, A: None}, "z": {A: None}}
    index.move(A, ("y", "z"), ())
    assert index.keys == {"y": {B: None}}
    index.move(B, "y", ())
    assert index.keys == {}
