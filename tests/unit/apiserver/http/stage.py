"""The application over an empty storage, and clients of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import httpx

from kinformer.apiserver import ApiServer
from kinformer.clock import Clock
from kinformer.testing import AppTransport, FakeClock

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sites.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "sites", "singular": "site", "kind": "Site", "listKind": "SiteList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [{"name": "URL", "type": "string", "jsonPath": ".spec.url"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"url": {"type": "string"}}}},
                    }
                },
            }
        ],
    },
}
SITE = {"apiVersion": "example.dev/v1", "kind": "Site", "metadata": {"name": "a"}, "spec": {"url": "u"}}
SITES = "/apis/example.dev/v1/namespaces/default/sites"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def config_map(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more}, "data": {"x": "y"}}


@asynccontextmanager
async def server_client(clock: Clock | None = None) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        ApiServer(clock=clock or FakeClock(), random=Random(1)) as server,
        client_of(server.app) as client,
    ):
        yield client


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=AppTransport(app), base_url="http://test")
