import pytest

from kinformer.apiserver.http._paths import (
    GroupPath,
    OtherPath,
    Path,
    ResourcePath,
    RootPath,
    VersionPath,
    parse_path,
)

CASES: list[tuple[str, Path | None]] = [
    ("/", OtherPath("/")),
    ("/api", RootPath(is_core=True)),
    ("/api/", RootPath(is_core=True)),
    ("/apis", RootPath(is_core=False)),
    ("/apis/", RootPath(is_core=False)),
    ("/apis/apps", GroupPath("apps")),
    ("/api/v1", VersionPath("", "v1")),
    ("/apis/apps/v1/", VersionPath("apps", "v1")),
    ("/api/v1/pods", ResourcePath("", "v1", "pods")),
    ("/api/v1/nodes/n", ResourcePath("", "v1", "nodes", "", "n")),
    ("/api/v1/nodes/n/status", ResourcePath("", "v1", "nodes", "", "n", "status")),
    ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
    ("/api/v1/namespaces/a", ResourcePath("", "v1", "namespaces", "", "a")),
    ("/api/v1/namespaces/a/status", ResourcePath("", "v1", "namespaces", "", "a", "status")),
    ("/api/v1/namespaces/a/finalize", ResourcePath("", "v1", "namespaces", "", "a", "finalize")),
    ("/api/v1/namespaces/a/pods", ResourcePath("", "v1", "pods", "a")),
    ("/api/v1/namespaces/a/pods/p", ResourcePath("", "v1", "pods", "a", "p")),
    ("/api/v1/namespaces/a/pods/p/log", ResourcePath("", "v1", "pods", "a", "p", "log")),
    (
        "/api/v1/namespaces/a/pods/p/proxy/x/y",
        ResourcePath("", "v1", "pods", "a", "p", "proxy", ("x", "y")),
    ),
    ("/apis/apps/v1/deployments", ResourcePath("apps", "v1", "deployments")),
    (
        "/apis/apps/v1/namespaces/a/deployments/d/scale",
        ResourcePath("apps", "v1", "deployments", "a", "d", "scale"),
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
        ResourcePath("rbac.authorization.k8s.io", "v1", "clusterroles", "", "system:node"),
    ),
    ("/api/v1/nodes/a%2Fb", ResourcePath("", "v1", "nodes", "", "a/b")),
    ("/version/", OtherPath("/version")),
    ("/readyz/ping", OtherPath("/readyz/ping")),
    ("/api//v1", None),
    ("/apis/apps//v1/deployments", None),
]


@pytest.mark.parametrize(("raw", "expected"), CASES, ids=[raw for raw, _ in CASES])
def test_a_path_means_what_h_3_and_h_4_say(raw: str, expected: Path | None) -> None:
    assert parse_path(raw) == expected
