from typing import Any

import pytest

from kinformer.meta import BUILTINS, ObjectKey, Resource

PODS = Resource.builtin("Pod")
NODES = Resource.builtin("Node")


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("Deployment", Resource("apps", "v1", "deployments", "Deployment")),
        ("deployments", Resource("apps", "v1", "deployments", "Deployment")),
        ("deploy", Resource("apps", "v1", "deployments", "Deployment")),
        (
            "CRD",
            Resource(
                "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
            ),
        ),
        ("event", Resource("", "v1", "events", "Event")),
        ("hpa", Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")),
    ],
    ids=str,
)
def test_a_builtin_is_found_by_kind_plural_and_short_name(name: str, resource: Resource) -> None:
    assert Resource.builtin(name) == resource


def test_an_unknown_builtin_says_how_to_name_a_custom_resource() -> None:
    with pytest.raises(LookupError, match=r"'Website'.*Resource\(group, version, plural, kind\)"):
        Resource.builtin("Website")


def test_every_row_of_the_table_is_a_resource_of_its_own() -> None:
    assert len({(row.group, row.version, row.plural) for row in BUILTINS}) == len(BUILTINS)
    for row in BUILTINS:
        assert Resource(*row[:5]).plural == row.plural


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("default",), "/api/v1/namespaces/default/pods"),
        (PODS, ("default", "web", "log"), "/api/v1/namespaces/default/pods/web/log"),
        (NODES, ("", "n1"), "/api/v1/nodes/n1"),
        (Resource.builtin("Deployment"), ("a", "b"), "/apis/apps/v1/namespaces/a/deployments/b"),
    ],
    ids=["everywhere", "one namespace", "subresource", "cluster scope", "named group"],
)
def test_a_path_leads_to_the_collection_the_object_or_its_subresource(
    resource: Resource, arguments: tuple[str, ...], path: str
) -> None:
    assert resource.path(*arguments) == path


@pytest.mark.parametrize(
    ("resource", "arguments", "complaint"),
    [
        (NODES, ("default", "n1"), "cluster-scoped, so it has no namespace 'default'"),
        (PODS, ("", "web"), "as in 'default/web'"),
        (PODS, ("default", "", "status"), "'status' belongs to one object"),
        (PODS, ("default", "a/b"), "name 'a/b' must not contain"),
        (PODS, ("..", ""), r"namespace '\.\.' must not"),
        (PODS, ("default", "a%2Fb"), "must not contain"),
        (PODS, ("default", "a", "../b"), r"subresource '\.\./b' must not contain"),
    ],
    ids=["no such scope", "no namespace", "no name", "slash", "dots", "percent", "way out"],
)
def test_a_path_that_cannot_be_says_which_part_is_wrong(
    resource: Resource, arguments: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        resource.path(*arguments)


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        (("Apps", "v1", "deployments", "Deployment"), "group 'Apps'"),
        (("apps", "v 1", "deployments", "Deployment"), "version 'v 1'"),
        (("apps", "v1", "Deployments", "Deployment"), "plural 'Deployments'"),
        (("apps", "v1", "deployments", ""), "kind ''"),
    ],
    ids=["group", "version", "plural", "kind"],
)
def test_a_resource_names_the_part_that_is_wrong(parts: tuple[str, str, str, str], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        Resource(*parts)


def test_a_key_is_checked_against_the_scope() -> None:
    assert PODS.key("default/web") == ObjectKey("default", "web")
    assert NODES.key("n1") == ObjectKey("", "n1")
    with pytest.raises(ValueError, match="'web' does not fit pods: it must be of the form 'namespace/name'"):
        PODS.key("web")
    with pytest.raises(
        ValueError, match="'default/n1' does not fit nodes: it must be of the form 'name' alone"
    ):
        NODES.key(ObjectKey("default", "n1"))


def test_the_api_version_and_the_printed_name_leave_out_the_core_group() -> None:
    assert (PODS.api_version, str(PODS)) == ("v1", "pods")
    deployments = Resource.builtin("Deployment")
    assert (deployments.api_version, str(deployments)) == ("apps/v1", "deployments.apps")


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ((None, "v1", "xs", "X", True), "resource group None must be of type str"),
        (("a", 1, "xs", "X", True), "resource version 1 must be of type str"),
        (("a", "v1", "xs", "X", "Cluster"), "resource namespaced 'Cluster' must be of type bool"),
    ],
    ids=["group", "version", "scope"],
)
def test_a_part_of_another_type_is_named(parts: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        Resource(*parts)


def test_no_name_at_all_finds_nothing() -> None:
    with pytest.raises(LookupError, match="no built-in resource is called None"):
        Resource.builtin(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="object key 3 must be text"):
        PODS.key(3)  # type: ignore[arg-type]
