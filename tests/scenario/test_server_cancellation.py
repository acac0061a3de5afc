"""Requests that are cancelled inside the server, at every turn: nothing is left, and what they wrote is whole.

A client that goes away lets its request come to an end, so here the application itself is called and cancelled.
"""

import json
from typing import Any

import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.meta import Resource
from kinformer.testing import AppTransport, FakeClock, config_map, custom_resource_definition
from tests.scenario.cancellation_stage import GADGETS, YieldingKV, sweep

MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCALE = "/apis/apps/v1/namespaces/default/deployments/{name}/scale"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
WIDGET = custom_resource_definition(Resource("example.dev", "v1", "widgets", "Widget"))
DATA = {"data": {"x": "1"}}
ADD = [{"op": "add", "path": "/data", "value": {"x": "1"}}]
MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
THREE = {"spec": {"replicas": 3}}

REQUESTS: dict[str, tuple[str, str, str, Any]] = {
    "get": ("GET", MAPS + "/{name}", "", None),
    "get at a version": ("GET", MAPS + "/{name}?resourceVersion=2", "", None),
    "list": ("GET", MAPS + "?limit=1", "", None),
    "list what is missing": ("GET", MAPS + "/missing", "", None),
    "watch": ("GET", MAPS + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "", None),
    "create": ("POST", MAPS, "application/json", {"metadata": {"name": "{name}-new"}}),
    "replace": ("PUT", MAPS + "/{name}", "application/json", {"metadata": {"name": "{name}"}, **DATA}),
    "merge": ("PATCH", MAPS + "/{name}", MERGE, DATA),
    "JSON patch": ("PATCH", MAPS + "/{name}", JSON_PATCH, ADD),
    "strategic merge": ("PATCH", MAPS + "/{name}", STRATEGIC, DATA),
    "apply": ("PATCH", MAPS + "/{name}?fieldManager=me&force=true", APPLY, {**MAP, "metadata": {"name": "{name}"}, **DATA}),
    "apply anew": ("PATCH", MAPS + "/{name}-new?fieldManager=me", APPLY, {**MAP, "metadata": {"name": "{name}-new"}}),
    "delete": ("DELETE", MAPS + "/{name}", "application/json", {"propagationPolicy": "Foreground"}),
    "delete all": ("DELETE", MAPS, "", None),
    "read the scale": ("GET", SCALE, "", None),
    "patch the scale": ("PATCH", SCALE, MERGE, THREE),
    "JSON patch of the scale": (
        "PATCH", SCALE, JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 3}]
    ),
    "write the scale": ("PUT", SCALE, "application/json", {"metadata": {"name": "{name}"}, **THREE}),
    "define": ("POST", WIDGETS, "application/json", WIDGET),
    "withdraw": ("DELETE", WIDGETS + "/gadgets.example.dev", "", None),
}  # fmt: skip
SHIELDED = {"define"}
"""Writes from which more must follow, and that do not wait for anything before."""


def deployment(name: str) -> dict[str, Any]:
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize("request_name", REQUESTS)
async def test_a_request_cancelled_in_the_server_leaves_nothing_and_the_server_is_well(
    request_name: str,
) -> None:
    method, target, kind, body = REQUESTS[request_name]
    clock = FakeClock()
    async with (
        ApiServer(storage=YieldingKV(), clock=clock) as server,
        Client("http://test", transport=AppTransport(server.app, clock=clock), clock=clock) as client,
    ):
        maps = client.resource(Resource.builtin("ConfigMap"))
        deployments = client.resource(Resource.builtin("Deployment"))
        definitions = client.resource(Resource.builtin("CustomResourceDefinition"))

        async def prepare(number: int) -> None:
            await maps.create(config_map(f"a{number}", namespace="default"))
            await deployments.create(deployment(f"a{number}"))
            known = {obj.metadata.name for obj in (await definitions.list()).items}
            if "gadgets.example.dev" not in known:
                await definitions.create(custom_resource_definition(GADGETS))
            if "widgets.example.dev" in known:
                await definitions.delete("widgets.example.dev")

        async def request(number: int) -> None:
            path, _, query = target.replace("{name}", f"a{number}").partition("?")
            text = json.dumps(body).replace("{name}", f"a{number}").encode() if body is not None else b""
            parts = [{"type": "http.request", "body": text, "more_body": False}]

            async def receive() -> Any:
                return parts.pop() if parts else {"type": "http.disconnect"}

            async def send(message: Any) -> None:
                """Nobody reads it."""

            headers = [(b"content-type", kind.encode())] if kind else []
            scope = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
            await server.app({**scope, "headers": headers}, receive, send)

        await sweep(request, prepare=prepare, is_shielded=request_name in SHIELDED)
        for obj in [*(await maps.list()).items, *(await deployments.list()).items]:
            assert obj.metadata.uid
            assert obj.metadata.resource_version
        made = await maps.create(config_map("last", namespace="default"))
        await maps.delete(made.key)
