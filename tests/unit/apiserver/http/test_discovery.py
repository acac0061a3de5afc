from typing import Any

import msgspec

from kinformer.apiserver.http._discovery import Discovery
from kinformer.apiserver.registry import Registry, Served


def site(version: str, *subresources: str) -> Served:
    return Served(
        "example.dev",
        version,
        "sites",
        "Site",
        short_names=("st",),
        categories=("all",),
        subresources=subresources,
        is_custom=True,
    )


def resource(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in document["resources"] if entry["name"] == name)


def aggregated(discovery: Discovery, version: str, *, is_core: bool) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(discovery.aggregated(version, is_core=is_core)[0])
    return document


def test_core_is_told_apart_from_the_groups_d_1_d_2() -> None:
    discovery = Discovery(Registry())
    core = discovery.core_versions("127.0.0.1:8001")
    assert (core["kind"], core["versions"]) == ("APIVersions", ["v1"])
    assert core["serverAddressByClientCIDRs"][0]["serverAddress"] == "127.0.0.1:8001"
    names = [group["name"] for group in discovery.group_list()["groups"]]
    assert "apps" in names
    assert "" not in names
    assert discovery.group("") is None
    assert discovery.group("nothing.dev") is None


def test_versions_are_ordered_and_the_first_is_preferred() -> None:
    registry = Registry()
    registry.put_custom(
        "sites.example.dev", [site(version) for version in ("v1beta1", "v1", "v2", "v1alpha1")]
    )
    group = Discovery(registry).group("example.dev")
    assert group is not None
    assert [entry["version"] for entry in group["versions"]] == ["v2", "v1", "v1beta1", "v1alpha1"]
    assert group["preferredVersion"] == {"groupVersion": "example.dev/v2", "version": "v2"}


def test_a_resource_list_has_resources_and_subresources_d_3() -> None:
    discovery = Discovery(Registry())
    apps = discovery.resource_list("apps", "v1")
    assert apps is not None
    deployments = resource(apps, "deployments")
    assert (deployments["shortNames"], deployments["categories"]) == (["deploy"], ["all"])
    assert deployments["singularName"] == "deployment"
    scale = resource(apps, "deployments/scale")
    assert (scale["kind"], scale["group"], scale["version"]) == ("Scale", "autoscaling", "v1")
    assert (scale["singularName"], scale["verbs"]) == ("", ["get", "patch", "update"])
    assert "group" not in resource(apps, "deployments/status")
    core = discovery.resource_list("", "v1")
    assert core is not None
    assert resource(core, "namespaces/finalize")["verbs"] == ["update"]
    assert "deletecollection" not in resource(core, "namespaces")["verbs"]
    assert discovery.resource_list("apps", "v2") is None


def test_reviews_are_listed_and_can_only_be_created_r_6() -> None:
    reviews = Discovery(Registry()).resource_list("authorization.k8s.io", "v1")
    assert reviews is not None
    assert resource(reviews, "selfsubjectaccessreviews")["verbs"] == ["create"]


def test_the_aggregated_form_holds_everything_d_5() -> None:
    registry = Registry()
    registry.put_custom("sites.example.dev", [site("v1", "status")])
    document = aggregated(Discovery(registry), "v2", is_core=False)
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    group = next(item for item in document["items"] if item["metadata"]["name"] == "example.dev")
    (version,) = group["versions"]
    (entry,) = version["resources"]
    assert (version["freshness"], entry["scope"], entry["singularResource"]) == (
        "Current",
        "Namespaced",
        "site",
    )
    assert entry["responseKind"] == {"group": "example.dev", "version": "v1", "kind": "Site"}
    assert entry["subresources"][0]["subresource"] == "status"
    for item in document["items"]:
        for one in item["versions"]:
            assert all(entry["responseKind"]["kind"] for entry in one["resources"])


def test_the_aggregated_core_is_one_group_without_a_name_d_5() -> None:
    document = aggregated(Discovery(Registry()), "v2beta1", is_core=True)
    assert document["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert [item["metadata"]["name"] for item in document["items"]] == [""]


def test_the_tag_changes_with_every_definition_and_stays_otherwise_d_6() -> None:
    registry = Registry()
    discovery = Discovery(registry)
    tags = [discovery.aggregated("v2", is_core=False)[1]]
    assert discovery.aggregated("v2", is_core=False)[1] == tags[0]
    for change in ([site("v1")], [site("v1", "status")]):
        registry.put_custom("sites.example.dev", change)
        tags.append(discovery.aggregated("v2", is_core=False)[1])
    assert len(set(tags)) == 3
    registry.remove_custom("sites.example.dev")
    assert discovery.aggregated("v2", is_core=False)[1] == tags[0]
    assert all(tag[0] == tag[-1] == '"' for tag in tags)


def test_a_group_version_of_custom_resources_only_is_known_as_such_h_7() -> None:
    registry = Registry()
    registry.put_custom("sites.example.dev", [site("v1")])
    discovery = Discovery(registry)
    assert discovery.has_custom_only("example.dev", "v1")
    assert discovery.has_custom_only("nothing.dev", "v1")
    assert not discovery.has_custom_only("apps", "v1")
    assert not discovery.has_custom_only("authorization.k8s.io", "v1")
