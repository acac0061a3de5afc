from typing import Any

import pytest

from kinformer.controller._owners import owner_reference, set_owner
from kinformer.meta import Object, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
NODES = Resource.builtin("Node")

REFERENCE = {
    "apiVersion": "example.dev/v1",
    "kind": "Website",
    "name": "shop",
    "uid": "u1",
    "controller": True,
    "blockOwnerDeletion": True,
}


def site(name: str = "shop", namespace: str = "default", uid: str = "u1") -> Object:
    return Object.from_mapping({"metadata": {"name": name, "namespace": namespace, "uid": uid}}, WEBSITES)


def dependent(**metadata: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "page", "namespace": "default"} | metadata}


def test_a_reference_names_the_owner_as_controller() -> None:
    assert owner_reference(site()) == REFERENCE


def test_a_plain_owner_is_not_marked() -> None:
    reference = owner_reference(site(), controller=False, block_deletion=False)
    assert reference == {key: REFERENCE[key] for key in ("apiVersion", "kind", "name", "uid")}


def test_an_owner_without_uid_is_refused() -> None:
    with pytest.raises(ValueError, match="Website default/shop has no uid"):
        owner_reference(site(uid=""))


def test_an_owner_is_added_behind_the_others() -> None:
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u0"}
    content = dependent(ownerReferences=[other])
    set_owner(content, site())
    assert content["metadata"]["ownerReferences"] == [other, REFERENCE]


def test_content_without_metadata_gets_some() -> None:
    content: dict[str, Any] = {}
    set_owner(content, site())
    assert content == {"metadata": {"ownerReferences": [REFERENCE]}}


def test_setting_an_owner_twice_changes_nothing() -> None:
    content = dependent()
    set_owner(content, site())
    set_owner(content, site())
    assert content["metadata"]["ownerReferences"] == [REFERENCE]


def test_owners_that_name_themselves_in_turn_change_nothing_any_more() -> None:
    content = dependent()
    owners = [site("a", uid="ua"), site("b", uid="ub"), site("c", uid="uc")]
    for owner in owners * 2:
        set_owner(content, owner, controller=False)
        if len(content["metadata"]["ownerReferences"]) == 3:
            assert [entry["name"] for entry in content["metadata"]["ownerReferences"]] == ["a", "b", "c"]


def test_an_earlier_reference_to_the_owner_is_replaced() -> None:
    content = dependent(
        ownerReferences=[REFERENCE | {"apiVersion": "example.dev/v1alpha1", "controller": False}]
    )
    set_owner(content, site())
    assert content["metadata"]["ownerReferences"] == [REFERENCE]


def test_a_second_controller_is_refused_and_nothing_changes() -> None:
    rival = REFERENCE | {"name": "bakery", "uid": "u2"}
    content = dependent(ownerReferences=[rival])
    with pytest.raises(
        ValueError, match=r"ConfigMap page is controlled by Website bakery already.*controller=False"
    ):
        set_owner(content, site())
    assert content["metadata"]["ownerReferences"] == [rival]


def test_a_plain_owner_may_stand_beside_a_controller() -> None:
    rival = REFERENCE | {"name": "bakery", "uid": "u2"}
    content = dependent(ownerReferences=[rival])
    set_owner(content, site(), controller=False)
    assert [entry["name"] for entry in content["metadata"]["ownerReferences"]] == ["bakery", "shop"]


def test_an_owner_in_another_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="same namespace, or cluster-scoped"):
        set_owner(dependent(namespace="elsewhere"), site())


def test_a_cluster_scoped_owner_may_own_anything() -> None:
    content = dependent()
    set_owner(content, Object.from_mapping({"metadata": {"name": "n1", "uid": "u9"}}, NODES))
    assert content["metadata"]["ownerReferences"][0]["apiVersion"] == "v1"
