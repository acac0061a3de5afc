"""Reading a cache."""

import msgspec
import pytest

from kinformer.errors import DecodeError, NotSyncedError
from kinformer.hooks import NoHooks, ObjectQuarantined
from kinformer.informer import Lister
from kinformer.informer._views import Views
from kinformer.meta import LabelSelector, Object, ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, StoreWriter

PODS = Resource.builtin("Pod")
NODES = Resource.builtin("Node")


class Spec(msgspec.Struct):
    replicas: int


class Model(msgspec.Struct):
    spec: Spec


class Quarantine(NoHooks):
    def __init__(self) -> None:
        self.keys: list[str] = []

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.keys.append(event.key)


def record(
    name: str, namespace: str = "default", *, app: str = "web", owner: str = "", replicas: object = 1
) -> Record:
    owners = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": owner}] if owner else []
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}, "ownerReferences": owners}
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": {"replicas": replicas}}), PODS)


def filled(*records: Record, is_synced: bool = True, resource: Resource = PODS) -> Lister[Object]:
    writer = StoreWriter(BUILTIN_INDEXERS)
    for each in records:
        writer.put(each)
    return Lister(
        writer.store,
        Views(Object),
        resource=resource,
        name="pods",
        is_synced=lambda: is_synced,
        hooks=NoHooks(),
    )


def names(found: tuple[Object, ...]) -> list[str]:
    return [str(obj.key) for obj in found]


def test_an_object_is_found_by_key_and_by_text() -> None:
    lister = filled(record("a"))
    found = lister.get("default/a")
    assert found is not None
    assert found == lister.get(ObjectKey("default", "a"))
    assert lister.get("default/b") is None
    assert ObjectKey("default", "a") in lister
    assert len(lister) == 1


def test_a_key_of_the_wrong_scope_is_refused() -> None:
    with pytest.raises(ValueError, match="must be of the form 'namespace/name'"):
        filled().get("a")


def test_a_list_is_of_all_or_of_one_namespace() -> None:
    lister = filled(record("a"), record("b", "shop"))
    assert names(lister.list()) == ["default/a", "shop/b"]
    assert names(lister.list(namespace="shop")) == ["shop/b"]
    assert lister.list(namespace="none") == ()
    assert lister.by_namespace("shop") == lister.list(namespace="shop")


def test_a_list_is_narrowed_by_labels() -> None:
    lister = filled(record("a"), record("b", app="db"), record("c", "shop", app="db"))
    assert names(lister.list(labels="app=db")) == ["default/b", "shop/c"]
    assert names(lister.list(namespace="shop", labels=LabelSelector.parse("app=db"))) == ["shop/c"]
    assert len(lister.list(labels="")) == 3


def test_a_namespace_of_a_cluster_scoped_resource_is_refused() -> None:
    with pytest.raises(ValueError, match="nodes is cluster-scoped"):
        filled(resource=NODES).list(namespace="default")
    with pytest.raises(ValueError, match="nodes is cluster-scoped"):
        filled(resource=NODES).by_namespace("default")


def test_objects_are_found_by_owner_and_by_any_index() -> None:
    lister = filled(record("a", owner="u1"), record("b"))
    assert names(lister.by_owner("u1")) == ["default/a"]
    assert names(lister.by_index("namespace", "default")) == ["default/a", "default/b"]
    with pytest.raises(LookupError, match="no index is called 'node'"):
        lister.by_index("node", "n")


def test_several_indexes_may_be_asked_at_once() -> None:
    lister = filled(record("a", owner="u1"), record("b", "shop", owner="u1"), record("c", "shop"))
    assert names(lister.by_indexes({"owner-uid": "u1", "namespace": "shop"})) == ["shop/b"]
    assert len(lister.by_indexes({})) == 3
    with pytest.raises(LookupError, match="no index is called 'node'"):
        lister.by_indexes({"namespace": "shop", "node": "n"})


def test_before_the_first_list_it_says_so_instead_of_nothing() -> None:
    lister = filled(is_synced=False)
    for ask in (
        lambda: lister.get("default/a"),
        lister.list,
        lambda: lister.by_owner("u"),
        lambda: lister.by_namespace("default"),
        lambda: lister.by_indexes({}),
        lambda: len(lister),
    ):
        with pytest.raises(NotSyncedError, match="before its first list"):
            ask()


def test_an_object_that_does_not_fit_the_model_is_left_out_of_lists_and_named() -> None:
    writer = StoreWriter(BUILTIN_INDEXERS)
    writer.put(record("a", replicas="many"))
    writer.put(record("b"))
    hooks = Quarantine()
    lister = Lister(
        writer.store, Views(Model), resource=PODS, name="pods", is_synced=lambda: True, hooks=hooks
    )
    assert lister.list() == (Model(Spec(1)),)
    assert hooks.keys == ["default/a"]
    with pytest.raises(DecodeError, match="is no Model"):
        lister.get("default/a")


def test_a_lister_of_another_model_reads_the_same_cache() -> None:
    lister = filled(record("a", replicas=3)).typed(Model)
    assert lister.list() == (Model(Spec(3)),)
    assert lister.get("default/a") == Model(Spec(3))
