"""Values of wrong types, written in every way there is: refused, never an internal error, and harmless afterwards."""

from typing import Any

import msgspec
import pytest

from tests.unit.apiserver.http.stage import (
    CONFIG_MAPS,
    CRD,
    DEFINITIONS,
    SITE,
    SITES,
    TABLE,
    config_map,
    server_client,
)

VALUES: list[Any] = [None, 5, 1.5, True, "x", [], {}, [1], [None], [{}], {"a": 1}, {"a": [1]}]
PLACES = [
    pytest.param(CONFIG_MAPS, config_map("a"), ("data",), id="data"),
    pytest.param(CONFIG_MAPS, config_map("a"), ("metadata", "labels"), id="labels"),
    pytest.param(CONFIG_MAPS, config_map("a"), ("metadata", "ownerReferences"), id="owners"),
    pytest.param(CONFIG_MAPS, config_map("a"), ("metadata", "managedFields"), id="managed fields"),
    pytest.param("/api/v1/namespaces", {"metadata": {"name": "a"}}, ("spec",), id="namespace"),
    pytest.param("/api/v1/namespaces/default/services", {"metadata": {"name": "a"}}, ("spec",), id="service"),
    pytest.param(
        "/api/v1/namespaces/default/pods", {"metadata": {"name": "a"}}, ("status", "podIPs"), id="pod"
    ),
    pytest.param(DEFINITIONS, CRD, ("spec", "names"), id="names"),
    pytest.param(SITES, SITE, ("metadata", "finalizers"), id="finalizers"),
    pytest.param(SITES, SITE, ("spec",), id="custom"),
]


@pytest.mark.parametrize(("collection", "body", "place"), PLACES)
async def test_wrong_types_are_refused(collection: str, body: dict[str, Any], place: tuple[str, ...]) -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        await client.post(collection, json=body)
        item = f"{collection}/{body['metadata']['name']}"
        for value in VALUES:
            change = value
            for name in reversed(place):
                change = {name: change}
            pointer = "/" + "/".join(place)
            for kind, patch in (
                ("merge-patch+json", change),
                ("strategic-merge-patch+json", change),
                ("json-patch+json", [{"op": "add", "path": pointer, "value": value}]),
                ("apply-patch+yaml", {**body, **change}),
            ):
                for subresource in ("", "/status", "/scale"):
                    answer = await client.patch(
                        f"{item}{subresource}?fieldManager=me",
                        content=msgspec.json.encode(patch),
                        headers={"Content-Type": f"application/{kind}"},
                    )
                    assert answer.status_code < 500, answer.text
            for answer in (
                await client.put(item, json={**body, **change}),
                await client.post(collection, json={**body, **change}),
                await client.get(item, headers={"Accept": TABLE}),
                await client.get(collection, headers={"Accept": TABLE}),
            ):
                assert answer.status_code < 500, answer.text
