import pytest

from kinformer.client._body import encode_body
from kinformer.client._target import Target
from kinformer.meta import ObjectKey, Resource

PODS = Target(Resource.builtin("Pod"))
NODES = Target(Resource.builtin("Node"))


def test_the_collection_is_everywhere_or_in_a_namespace() -> None:
    assert PODS.collection() == "/api/v1/pods"
    assert PODS.where("default", None, None).collection() == "/api/v1/namespaces/default/pods"
    assert NODES.collection() == "/api/v1/nodes"


@pytest.mark.parametrize("key", ["default/web", ObjectKey("default", "web")])
def test_an_item_is_told_by_its_key(key: str | ObjectKey) -> None:
    assert PODS.item(key) == "/api/v1/namespaces/default/pods/web"
    assert PODS.below("status").item(key) == "/api/v1/namespaces/default/pods/web/status"


def test_a_bare_name_is_looked_for_where_the_filters_say() -> None:
    assert PODS.where("default", None, None).item("web") == PODS.item("default/web")
    assert NODES.item("n1") == "/api/v1/nodes/n1"
    assert PODS.where("default", None, None).key("web") == ObjectKey("default", "web")


def test_a_key_of_the_wrong_scope_is_refused() -> None:
    with pytest.raises(ValueError, match="'web' does not fit pods: it must be of the form 'namespace/name'"):
        PODS.item("web")
    with pytest.raises(ValueError, match="'a/n1' does not fit nodes"):
        NODES.item("a/n1")
    with pytest.raises(ValueError, match="cluster-scoped"):
        NODES.where("default", None, None)


def test_a_subresource_has_neither_collection_nor_subresources() -> None:
    with pytest.raises(ValueError, match="'status' has no collection"):
        PODS.below("status").collection()
    with pytest.raises(ValueError, match="'status' has no subresources"):
        PODS.below("status").below("scale")


def test_the_objects_of_scale_are_of_another_kind() -> None:
    deployments = Target(Resource.builtin("Deployment"))
    assert deployments.below("scale").objects.kind == "Scale"
    assert deployments.below("scale").item("a/b") == "/apis/apps/v1/namespaces/a/deployments/b/scale"
    assert deployments.below("status").objects == deployments.resource


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("eviction", "Eviction of policy/v1"),
        ("binding", "Binding of v1"),
        ("token", "TokenRequest of authentication.k8s.io/v1"),
        ("ephemeralcontainers", "Pod of v1"),
    ],
)
def test_a_subresource_exchanges_what_the_api_says(name: str, kind: str) -> None:
    objects = PODS.below(name).objects
    assert f"{objects.kind} of {objects.api_version}" == kind
    assert PODS.below(name, NODES.resource).objects == NODES.resource


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_subresource_has_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="must be a name such as 'status'"):
        PODS.below(name)


def test_the_namespace_comes_from_the_object_or_the_caller_or_the_filters() -> None:
    said = encode_body({"metadata": {"name": "web", "namespace": "a"}}, PODS.resource)
    silent = encode_body({"metadata": {"name": "web"}}, PODS.resource)
    assert PODS.home_of(said, None) == PODS.home_of(said, "a") == "a"
    assert PODS.home_of(silent, "b") == "b"
    assert PODS.where("c", None, None).home_of(silent, None) == "c"
    assert PODS.where("c", None, None).home_of(said, None) == "a"
    assert PODS.where("c", None, None).item_of(silent, None) == "/api/v1/namespaces/c/pods/web"


def test_a_contradiction_names_both_sides() -> None:
    said = encode_body({"metadata": {"name": "web", "namespace": "a"}}, PODS.resource)
    with pytest.raises(ValueError, match=r"metadata.namespace 'a', and namespace='b' says otherwise"):
        PODS.home_of(said, "b")


def test_an_object_that_nobody_can_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pods is namespaced: set metadata.namespace"):
        PODS.item_of(encode_body({"metadata": {"name": "web"}}, PODS.resource), None)
    with pytest.raises(ValueError, match=r"this Pod has no metadata.name"):
        PODS.item_of(encode_body({"metadata": {"namespace": "a"}}, PODS.resource), None)


def test_a_target_shows_itself() -> None:
    shown = str(PODS.where("a", "b=c", "d=e").below("status"))
    assert shown == "pods/status namespace=a labels=b=c fields=d=e"
