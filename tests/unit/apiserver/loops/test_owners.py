from collections.abc import Sequence

import pytest

from kinformer.apiserver.loops import (
    Action,
    Delete,
    Detach,
    Node,
    OwnerGraph,
    ReleaseFinalizer,
    Scope,
    Unblock,
)
from kinformer.meta import OwnerReference

SCOPES = {
    "Deployment": Scope.NAMESPACED,
    "ReplicaSet": Scope.NAMESPACED,
    "Pod": Scope.NAMESPACED,
    "Node": Scope.CLUSTER,
}


def scope_of(api_version: str, kind: str) -> Scope:
    return SCOPES.get(kind, Scope.UNKNOWN)


def node(
    name: str,
    *owners: OwnerReference,
    kind: str = "Pod",
    namespace: str = "a",
    uid: str = "",
    finalizers: Sequence[str] = (),
    is_deleting: bool = False,
) -> Node:
    place = f"/registry/x/{kind}/{namespace}/{name}"
    return Node(place, uid or name, "", kind, namespace, name, owners, tuple(finalizers), is_deleting)


def owned_by(owner: Node, *, block: bool = False, name: str = "") -> OwnerReference:
    return OwnerReference("v1", owner.kind, name or owner.name, owner.uid, block_owner_deletion=block)


def graph_of(*nodes: Node) -> OwnerGraph:
    graph = OwnerGraph(scope_of)
    for one in nodes:
        graph.put(one)
    list(graph.decide())
    return graph


def decided(graph: OwnerGraph) -> list[Action]:
    return list(graph.decide())


OWNER = node("owner", kind="Deployment")
CHILD = node("child", owned_by(OWNER))
OTHER = node("other", kind="ReplicaSet")
WAITING = OWNER._replace(is_deleting=True, finalizers=("foregroundDeletion",))
ORPHANING = OWNER._replace(is_deleting=True, finalizers=("orphan",))


def test_nothing_is_done_while_the_owner_lives() -> None:
    graph = OwnerGraph(scope_of)
    graph.put(OWNER)
    graph.put(CHILD)
    assert decided(graph) == []


def test_the_dependents_of_a_vanished_owner_are_deleted_g_2() -> None:
    graph = graph_of(OWNER, CHILD)
    graph.remove(OWNER.place)
    assert decided(graph) == [Delete(CHILD, "Background")]
    assert decided(graph) == []


def test_a_dependent_that_comes_after_its_owner_went_is_deleted_g_1() -> None:
    graph = OwnerGraph(scope_of)
    graph.put(CHILD)
    assert decided(graph) == [Delete(CHILD, "Background")]


def test_an_owner_of_the_same_name_and_another_uid_does_not_count_g_1() -> None:
    graph = graph_of(OWNER, CHILD)
    graph.put(OWNER._replace(uid="new"))
    assert decided(graph) == [Delete(CHILD, "Background")]


@pytest.mark.parametrize(
    "wrong",
    [
        OwnerReference("apps/v1", "Deployment", "owner", "owner"),
        OwnerReference("v1", "ReplicaSet", "owner", "owner"),
        OwnerReference("v1", "Deployment", "renamed", "owner"),
    ],
    ids=["group", "kind", "name"],
)
def test_a_reference_must_fit_in_every_part_g_1(wrong: OwnerReference) -> None:
    graph = graph_of(OWNER)
    child = node("child", wrong)
    graph.put(child)
    assert decided(graph) == [Delete(child, "Background")]


def test_an_owner_in_another_namespace_counts_as_absent_g_1() -> None:
    graph = graph_of(OWNER)
    child = node("child", owned_by(OWNER), namespace="b")
    graph.put(child)
    assert decided(graph) == [Delete(child, "Background")]


def test_a_cluster_scoped_owner_may_own_across_namespaces_g_1() -> None:
    owner = node("n", kind="Node", namespace="")
    graph = graph_of(owner)
    graph.put(node("child", owned_by(owner)))
    assert decided(graph) == []


def test_a_cluster_scoped_dependent_of_a_namespaced_kind_is_left_alone_g_1() -> None:
    graph = OwnerGraph(scope_of)
    graph.put(node("child", owned_by(OWNER), kind="Node", namespace=""))
    assert decided(graph) == []


def test_an_owner_of_an_unknown_kind_is_left_alone_until_the_kind_is_known() -> None:
    known: dict[str, Scope] = {}
    graph = OwnerGraph(lambda _, kind: known.get(kind, Scope.UNKNOWN))
    graph.put(CHILD)
    assert decided(graph) == []
    known["Deployment"] = Scope.NAMESPACED
    graph.concern_all()
    assert decided(graph) == [Delete(CHILD, "Background")]


def test_a_dependent_of_several_stays_while_one_lives_and_loses_the_others_g_5() -> None:
    child = node("child", owned_by(OWNER), owned_by(OTHER))
    graph = graph_of(OWNER, OTHER, child)
    graph.remove(OWNER.place)
    assert decided(graph) == [Detach(child, frozenset({"owner"}))]
    graph.put(node("child", owned_by(OTHER)))
    graph.remove(OTHER.place)
    assert decided(graph) == [Delete(node("child", owned_by(OTHER)), "Background")]


def test_a_dependent_that_is_being_deleted_is_not_deleted_again() -> None:
    graph = graph_of(OWNER, CHILD._replace(is_deleting=True, finalizers=("mine",)))
    graph.remove(OWNER.place)
    assert decided(graph) == []


@pytest.mark.parametrize(
    ("finalizer", "propagation"),
    [("orphan", "Orphan"), ("foregroundDeletion", "Foreground"), ("mine", "Background")],
)
def test_a_dependent_keeps_what_its_own_finalizers_ask_for(finalizer: str, propagation: str) -> None:
    child = CHILD._replace(finalizers=(finalizer,))
    graph = graph_of(OWNER, child)
    graph.remove(OWNER.place)
    (action,) = decided(graph)
    assert isinstance(action, Delete)
    assert action.propagation == propagation


def test_foreground_deletes_the_dependents_first_and_then_releases_the_owner_g_3() -> None:
    child = node("child", owned_by(OWNER, block=True))
    graph = graph_of(OWNER, child)
    graph.put(WAITING)
    assert decided(graph) == [Delete(child, "Background")]
    graph.remove(child.place)
    assert decided(graph) == [ReleaseFinalizer(WAITING, "foregroundDeletion")]


def test_foreground_does_not_wait_for_dependents_that_do_not_block_g_3() -> None:
    graph = graph_of(OWNER, CHILD)
    graph.put(WAITING)
    assert decided(graph) == [ReleaseFinalizer(WAITING, "foregroundDeletion"), Delete(CHILD, "Background")]


def test_foreground_goes_down_the_whole_chain_g_3() -> None:
    middle = node("middle", owned_by(OWNER, block=True), kind="ReplicaSet")
    leaf = node("leaf", owned_by(middle, block=True))
    graph = graph_of(OWNER, middle, leaf)
    graph.put(WAITING)
    assert decided(graph) == [Delete(middle, "Foreground")]
    graph.put(waiting := middle._replace(is_deleting=True, finalizers=("foregroundDeletion",)))
    assert decided(graph) == [Delete(leaf, "Background")]
    graph.remove(leaf.place)
    assert decided(graph) == [ReleaseFinalizer(waiting, "foregroundDeletion")]
    graph.remove(middle.place)
    assert decided(graph) == [ReleaseFinalizer(WAITING, "foregroundDeletion")]


def test_a_circle_of_waiting_owners_is_cut() -> None:
    first = node("first", kind="ReplicaSet", finalizers=["foregroundDeletion"], is_deleting=True)
    second = node("second", owned_by(first, block=True))
    first = first._replace(owners=(owned_by(second, block=True),))
    graph = OwnerGraph(scope_of)
    graph.put(second)
    graph.put(first)
    assert Unblock(second) in decided(graph)


def test_orphaning_detaches_the_dependents_and_then_releases_the_owner_g_4() -> None:
    graph = graph_of(OWNER, CHILD)
    graph.put(ORPHANING)
    assert decided(graph) == [Detach(CHILD, frozenset({"owner"}))]
    graph.put(CHILD._replace(owners=()))
    assert decided(graph) == [ReleaseFinalizer(ORPHANING, "orphan")]


def test_an_action_that_failed_is_decided_again_when_asked() -> None:
    graph = graph_of(OWNER, CHILD)
    graph.remove(OWNER.place)
    assert len(decided(graph)) == 1
    graph.concern(CHILD.place)
    assert decided(graph) == [Delete(CHILD, "Background")]


def test_what_is_not_known_can_be_removed_and_concerned() -> None:
    graph = graph_of(OWNER)
    graph.remove("/registry/nowhere")
    graph.concern("/registry/nowhere")
    assert decided(graph) == []
    assert len(graph) == 1
