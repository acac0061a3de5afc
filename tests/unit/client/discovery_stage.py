"""A server that serves discovery documents, plain or aggregated."""

import json
from typing import Any

import anyio
import httpx

from kinformer.client._documents import AGGREGATED

CORE = {"kind": "APIVersions", "versions": ["v1"]}
GROUPS = {
    "kind": "APIGroupList",
    "apiVersion": "v1",
    "groups": [
        {
            "name": "apps",
            "versions": [
                {"groupVersion": "apps/v1beta1", "version": "v1beta1"},
                {"groupVersion": "apps/v1", "version": "v1"},
            ],
            "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
        },
        {"name": "metrics.k8s.io", "versions": [{"groupVersion": "metrics.k8s.io/v1", "version": "v1"}]},
    ],
}


def line(name: str, kind: str, **more: Any) -> dict[str, Any]:
    """One of an ``APIResourceList``."""
    return {
        "name": name,
        "singularName": kind.lower(),
        "namespaced": True,
        "kind": kind,
        "verbs": ["get"],
    } | more


def lines(group_version: str, *resources: dict[str, Any]) -> dict[str, Any]:
    """An ``APIResourceList``."""
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version}
    return head | {"resources": list(resources)}


PLAIN: dict[str, Any] = {
    "/api": CORE,
    "/apis": GROUPS,
    "/api/v1": lines(
        "v1",
        line("pods", "Pod", shortNames=["po"], categories=["all"], verbs=["get", "list"]),
        line("pods/log", "Pod", singularName=""),
        line("pods/eviction", "Eviction", singularName="", group="policy", version="v1"),
        line("nodes", "Node", namespaced=False),
    ),
    "/apis/apps/v1": lines("apps/v1", line("deployments", "Deployment", shortNames=["deploy"])),
    "/apis/apps/v1beta1": lines("apps/v1beta1", line("deployments", "Deployment", shortNames=["deploy"])),
    "/apis/metrics.k8s.io/v1": lines("metrics.k8s.io/v1", line("pods", "PodMetrics", singularName="")),
}


def entry(name: str, kind: str, group: str, version: str, **more: Any) -> dict[str, Any]:
    """One of an ``APIGroupDiscoveryList``."""
    return {
        "resource": name,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "scope": "Namespaced",
        "singularResource": kind.lower(),
        "verbs": ["get"],
    } | more


def aggregated(*groups: dict[str, Any], version: str = "v2") -> dict[str, Any]:
    """An ``APIGroupDiscoveryList``."""
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
    return head | {"items": list(groups)}


def group(name: str, **versions: list[dict[str, Any]]) -> dict[str, Any]:
    """One group of it."""
    found = [
        {"version": version, "freshness": "Current", "resources": entries}
        for version, entries in versions.items()
    ]
    return {"metadata": {"name": name}, "versions": found}


ALL_AT_ONCE: dict[str, Any] = {
    "/api": aggregated(
        group(
            "",
            v1=[
                entry(
                    "pods",
                    "Pod",
                    "",
                    "v1",
                    shortNames=["po"],
                    categories=["all"],
                    verbs=["get", "list"],
                    subresources=[{"subresource": "log"}, {"subresource": "eviction"}],
                ),
                entry("nodes", "Node", "", "v1", scope="Cluster"),
            ],
        )
    ),
    "/apis": aggregated(
        group(
            "apps",
            v1=[entry("deployments", "Deployment", "apps", "v1", shortNames=["deploy"])],
            v1beta1=[entry("deployments", "Deployment", "apps", "v1beta1", shortNames=["deploy"])],
        ),
        group(
            "metrics.k8s.io", v1=[entry("pods", "PodMetrics", "metrics.k8s.io", "v1", singularResource="")]
        ),
    ),
}


class Served(httpx.AsyncBaseTransport):
    """Answers each path with its document; an ``int`` is a refusal of that code, an exception a lost connection.

    While it is gated, all wait.
    """

    def __init__(self, documents: dict[str, Any]) -> None:
        self.documents = dict(documents)
        self.asked: list[str] = []
        self.most_at_once = 0
        self._gate: anyio.Event | None = None
        self._under_way = 0

    def open(self, *, gated: bool = False) -> None:
        """Let all go on who wait; those who come later wait again if it is gated."""
        before, self._gate = self._gate, anyio.Event() if gated else None
        if before is not None:
            before.set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append(path)
        expected = AGGREGATED if path in {"/api", "/apis"} else "application/json"
        assert request.headers["accept"] == expected
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            if self._gate is not None:
                await self._gate.wait()
        finally:
            self._under_way -= 1
        match self.documents.get(path, 404):
            case Exception() as error:
                raise error
            case int(code):
                return httpx.Response(code, json={"kind": "Status", "apiVersion": "v1", "code": code})
            case document:
                return httpx.Response(200, content=json.dumps(document).encode())
