import json
from typing import Any

import pytest

from kinformer.client import ServedResource
from kinformer.client._documents import read_resources, read_root
from kinformer.errors import DecodeError, ServerError
from kinformer.meta import Resource
from tests.unit.client.discovery_stage import (
    ALL_AT_ONCE,
    GROUPS,
    PLAIN,
    aggregated,
    entry,
    group,
    line,
    lines,
)

POD = ServedResource(
    Resource.builtin("Pod"), "pod", ("po",), ("all",), ("get", "list"), subresources=("log", "eviction")
)


def raw(document: Any) -> bytes:
    return json.dumps(document).encode()


def test_the_plain_roots_say_where_to_ask_the_preferred_version_first() -> None:
    assert read_root(raw({"kind": "APIVersions", "versions": ["v1"]})).group_versions == ("v1",)
    assert read_root(raw(GROUPS)).group_versions == ("apps/v1", "apps/v1beta1", "metrics.k8s.io/v1")


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "APIVersions", "versions": None},
        {"kind": "APIGroupList", "groups": None},
        {"kind": "APIGroupList", "groups": [{"name": "empty", "versions": None, "preferredVersion": None}]},
        {
            "kind": "APIGroupList",
            "groups": [{"name": "e", "versions": [], "preferredVersion": {"groupVersion": ""}}],
        },
        {"kind": "APIGroupDiscoveryList", "items": None},
        {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "empty"}, "versions": None}]},
        {"kind": "APIGroupDiscoveryList", "items": [{"versions": [{"version": "v1", "resources": None}]}]},
    ],
)
def test_what_is_empty_is_nothing(document: Any) -> None:
    root = read_root(raw(document))
    assert (root.resources, root.group_versions, root.failures) == ((), (), {})


def test_a_plain_list_has_resources_with_their_subresources() -> None:
    pods, nodes = read_resources(raw(PLAIN["/api/v1"]), "v1")
    assert pods == POD
    assert (nodes.resource, nodes.subresources) == (Resource.builtin("Node"), ())


def test_an_aggregated_root_has_all_resources_in_order() -> None:
    pods, nodes = read_root(raw(ALL_AT_ONCE["/api"])).resources
    assert pods == POD
    assert nodes.resource == Resource.builtin("Node")
    found = [one.full_name for one in read_root(raw(ALL_AT_ONCE["/apis"])).resources]
    assert found == ["deployments.v1.apps", "deployments.v1beta1.apps", "pods.v1.metrics.k8s.io"]


def test_the_older_aggregated_form_is_read_alike() -> None:
    groups = ALL_AT_ONCE["/apis"]["items"]
    assert read_root(raw(aggregated(*groups, version="v2beta1"))) == read_root(raw(ALL_AT_ONCE["/apis"]))


def test_a_stale_version_is_a_failure_that_keeps_what_was_known() -> None:
    stale = group("metrics.k8s.io", v1=[entry("pods", "PodMetrics", "metrics.k8s.io", "v1")])
    stale["versions"][0]["freshness"] = "Stale"
    root = read_root(raw(aggregated(stale)))
    assert [one.full_name for one in root.resources] == ["pods.v1.metrics.k8s.io"]
    error = root.failures["metrics.k8s.io/v1"]
    assert isinstance(error, ServerError)
    assert "the server behind it did not answer" in str(error)


def test_what_no_resource_can_tell_is_left_out() -> None:
    plain = lines(
        "apps/v1",
        line("deployments", "Deployment"),
        line("scales", "Scale", group="autoscaling", version="v1"),
        line("Upper", "Upper"),
        line("nameless", ""),
    )
    assert [one.full_name for one in read_resources(raw(plain), "apps/v1")] == ["deployments.v1.apps"]
    entries = [
        entry("deployments", "Deployment", "apps", "v1"),
        entry("scales", "Scale", "autoscaling", "v1"),
        entry("unkind", "Unkind", "apps", "v1", responseKind=None),
        entry("Upper", "Upper", "apps", "v1"),
    ]
    found = read_root(raw(aggregated(group("apps", v1=entries)))).resources
    assert [one.full_name for one in found] == ["deployments.v1.apps"]


def test_a_list_may_leave_out_all_that_is_empty() -> None:
    plain = {
        "kind": "APIResourceList",
        "resources": [{"name": "a", "kind": "A", "namespaced": False, "verbs": None}],
    }
    assert read_resources(raw(plain), "v1") == (
        ServedResource(Resource("", "v1", "a", "A", namespaced=False)),
    )
    assert read_resources(raw({"kind": "APIResourceList", "resources": None}), "v1") == ()


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"<html>", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"kind":"Status"}', "expected a discovery document, found Status"),
        (b"{}", "expected a discovery document, found no kind"),
        (b'{"kind":"APIVersions","versions":7}', "cannot be read: Expected"),
        (b'{"kind":"APIGroupDiscoveryList","items":[{"versions":[{}]}]}', "missing required field `version`"),
    ],
)
def test_what_is_no_root_is_told(body: bytes, match: str) -> None:
    with pytest.raises(DecodeError, match=match):
        read_root(body)


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"<html>", "the resources of apps/v1 cannot be read"),
        (b'{"kind":"Status"}', "expected the resources of apps/v1, found Status"),
        (b'{"kind":"APIResourceList","resources":[{}]}', "missing required field `name`"),
    ],
)
def test_what_is_no_list_is_told(body: bytes, match: str) -> None:
    with pytest.raises(DecodeError, match=match):
        read_resources(body, "apps/v1")
