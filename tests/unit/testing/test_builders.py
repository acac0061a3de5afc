"""The builders: small, valid, fresh."""

import pytest

from kinformer.controller import owner_reference
from kinformer.meta import Object, Resource
from kinformer.testing import config_map, custom_object, custom_resource_definition, namespace, pod

WEBSITES = Resource("example.dev", "v1", "websites", "Website")
PODS = Resource.builtin("Pod")


def test_a_pod_has_what_a_server_demands_and_nothing_else() -> None:
    assert pod("web") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [{"name": "app", "image": "registry.example/app:1"}]},
    }


def test_a_pod_takes_labels_annotations_a_node_and_a_phase() -> None:
    built = pod("web", "shop", labels={"app": "web"}, annotations={"a": "b"}, node="n1", phase="Running")
    assert built["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web"},
        "annotations": {"a": "b"},
    }
    assert built["spec"]["nodeName"] == "n1"
    assert built["status"] == {"phase": "Running"}


def test_each_call_gives_a_fresh_dict() -> None:
    labels = {"app": "web"}
    first, second = pod("web", labels=labels), pod("web", labels=labels)
    first["metadata"]["labels"]["app"] = "changed"
    assert second["metadata"]["labels"] == labels == {"app": "web"}


def test_a_config_map_holds_its_data() -> None:
    assert config_map("settings", data={"k": "v"})["data"] == {"k": "v"}
    assert config_map("empty")["data"] == {}


def test_a_namespace_is_cluster_scoped() -> None:
    assert namespace("shop") == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def test_a_definition_names_serves_and_stores_its_resource() -> None:
    built = custom_resource_definition(WEBSITES, short_names=("ws",))
    assert built["metadata"]["name"] == "websites.example.dev"
    assert built["spec"]["scope"] == "Namespaced"
    assert built["spec"]["names"] == {
        "plural": "websites",
        "singular": "website",
        "kind": "Website",
        "listKind": "WebsiteList",
        "shortNames": ["ws"],
    }
    (version,) = built["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1", True, True)
    assert version["subresources"] == {"status": {}}


def test_a_definition_takes_a_schema_and_does_without_status() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    (version,) = custom_resource_definition(WEBSITES, schema=schema, status=False)["spec"]["versions"]
    assert version["schema"] == {"openAPIV3Schema": schema}
    assert "subresources" not in version


def test_a_definition_in_the_core_group_is_refused() -> None:
    with pytest.raises(ValueError, match="core group"):
        custom_resource_definition(PODS)


def test_a_custom_object_follows_the_scope_of_its_resource() -> None:
    cluster_wide = Resource("example.dev", "v1", "zones", "Zone", namespaced=False)
    assert custom_object(cluster_wide, "a")["metadata"] == {"name": "a"}
    assert custom_object(WEBSITES, "a", spec={"html": "x"}) == {
        "apiVersion": "example.dev/v1",
        "kind": "Website",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"html": "x"},
    }


def test_what_a_builder_makes_can_be_owned() -> None:
    owner = owner_reference(
        Object.from_mapping(pod("web") | {"metadata": {"name": "web", "uid": "u1"}}, PODS)
    )
    child = config_map("child", owners=[owner])
    assert child["metadata"]["ownerReferences"] == [owner]
