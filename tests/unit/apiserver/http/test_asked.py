import pytest

from kinformer.apiserver.auth import Access, PathAccess, ResourceAccess
from kinformer.apiserver.http._asked import asked
from kinformer.apiserver.http._paths import parse_path
from kinformer.apiserver.http._query import Query

PODS = "/api/v1/namespaces/shop/pods"


@pytest.mark.parametrize(
    ("request_line", "access"),
    [
        (f"GET {PODS}", ResourceAccess("list", "", "pods", "", "shop")),
        (f"HEAD {PODS}?watch=1", ResourceAccess("list", "", "pods", "", "shop")),
        (f"GET {PODS}?watch=1", ResourceAccess("watch", "", "pods", "", "shop")),
        (f"GET {PODS}?watch=false", ResourceAccess("list", "", "pods", "", "shop")),
        (
            f"GET {PODS}?fieldSelector=metadata.name%3Dweb",
            ResourceAccess("list", "", "pods", "", "shop", "web"),
        ),
        (f"GET {PODS}?fieldSelector=metadata.name!%3Dweb", ResourceAccess("list", "", "pods", "", "shop")),
        (f"GET {PODS}?fieldSelector=nonsense", ResourceAccess("list", "", "pods", "", "shop")),
        (f"DELETE {PODS}", ResourceAccess("deletecollection", "", "pods", "", "shop")),
        (f"POST {PODS}?fieldSelector=metadata.name%3Dweb", ResourceAccess("create", "", "pods", "", "shop")),
        (f"GET {PODS}/web", ResourceAccess("get", "", "pods", "", "shop", "web")),
        (f"PUT {PODS}/web/status", ResourceAccess("update", "", "pods", "status", "shop", "web")),
        (f"POST {PODS}/web/eviction", ResourceAccess("create", "", "pods", "eviction", "shop", "web")),
        ("PATCH /apis/apps/v1/deployments", ResourceAccess("patch", "apps", "deployments")),
        ("DELETE /api/v1/nodes/n", ResourceAccess("delete", "", "nodes", "", "", "n")),
        ("GET /api/v1/namespaces/shop", ResourceAccess("get", "", "namespaces", "", "shop", "shop")),
        ("GET /api/v1/namespaces", ResourceAccess("list", "", "namespaces")),
        (
            "PUT /api/v1/namespaces/shop/finalize",
            ResourceAccess("update", "", "namespaces", "finalize", "shop", "shop"),
        ),
        ("OPTIONS /api/v1/nodes", ResourceAccess("", "", "nodes")),
        ("GET /api/v1", PathAccess("get", "/api/v1")),
        ("GET /apis/apps", PathAccess("get", "/apis/apps")),
        ("POST /version", PathAccess("post", "/version")),
        ("GET /a//b", PathAccess("get", "/a//b")),
    ],
)
def test_a_request_asks_for_h_5(request_line: str, access: Access) -> None:
    method, url = request_line.split(" ")
    path, _, query = url.partition("?")
    assert asked(parse_path(path), path, method, Query(query)) == access
