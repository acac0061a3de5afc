"""What clients other than kubectl find: a served cluster with a custom kind, and httpx to look into it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from kinformer.apiserver import ApiServer, Endpoint

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": _FREE,
    },
}
_WIDGET = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


@asynccontextmanager
async def cluster_with_widgets() -> AsyncIterator[tuple[Endpoint, httpx.AsyncClient]]:
    async with (
        ApiServer() as server,
        server.serve() as endpoint,
        httpx.AsyncClient(base_url=endpoint.url) as client,
    ):
        await post(client, _DEFINITIONS, _WIDGET)
        yield endpoint, client


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text


async def patch(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    answer = await client.patch(path, json=body, headers={"Content-Type": "application/merge-patch+json"})
    assert answer.status_code == 200, answer.text
