"""Index functions and the index that keeps their answers."""

import msgspec
import pytest

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, NAMESPACE_INDEX, OWNER_INDEX, by_namespace, by_owner_uid
from kinformer.store._indexer import Index

PODS = Resource.builtin("Pod")
NODES = Resource.builtin("Node")
A = ObjectKey("default", "a")


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


def test_values_that_repeat_count_once() -> None:
    assert Index(lambda _: ["x", "y", "x"]).values_of(record("a")) == ("x", "y")


def test_a_function_that_gives_one_string_is_refused() -> None:
    with pytest.raises(TypeError, match="not the one string 'default'"):
        Index(lambda found: found.key.namespace).values_of(record("a"))


def test_no_empty_value_stays_behind() -> None:
    index = Index(by_namespace)
    index.set(A, ("x", "y"))
    index.set(A, ("y", "z"))
    assert index.keys == {"y": {A: None}, "z": {A: None}}
    index.set(A, ())
    assert index.keys == {}
    assert index.values == {}


def test_clearing_a_key_that_has_no_values_does_nothing() -> None:
    index = Index(by_namespace)
    index.set(A, ())
    assert index.values == {}
