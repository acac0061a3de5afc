import pytest

from kinformer.apiserver.auth import Access, PathAccess, ResourceAccess, User, refused


@pytest.mark.parametrize(
    ("access", "message", "details"),
    [
        pytest.param(
            ResourceAccess("list", "", "pods", namespace="default"),
            'pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"',
            {"kind": "pods"},
            id="a collection",
        ),
        pytest.param(
            ResourceAccess("get", "apps", "deployments", "scale", "shop", "web"),
            'deployments.apps "web" is forbidden: User "x" cannot get resource "deployments/scale" in API group "apps" '
            'in the namespace "shop"',
            {"name": "web", "group": "apps", "kind": "deployments"},
            id="a subresource",
        ),
        pytest.param(
            ResourceAccess("list", "", "nodes"),
            'nodes is forbidden: User "x" cannot list resource "nodes" in API group "" at the cluster scope',
            {"kind": "nodes"},
            id="the cluster",
        ),
        pytest.param(
            PathAccess("get", "/metrics"), 'forbidden: User "x" cannot get path "/metrics"', {}, id="a path"
        ),
    ],
)
def test_a_refusal_has_the_words_of_the_real_server(
    access: Access, message: str, details: dict[str, str]
) -> None:
    status = refused(User("x"), access).to_status()
    assert (status["code"], status["reason"], status["message"]) == (403, "Forbidden", message)
    assert status["details"] == details
