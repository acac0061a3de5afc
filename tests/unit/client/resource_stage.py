"""Config maps, as a scripted server has them."""

from typing import Any

from kinformer.client import Client, ResourceClient
from kinformer.meta import Object, Resource
from kinformer.testing import FakeClock

MAPS = Resource.builtin("ConfigMap")


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "resourceVersion": "7"}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"x": "1"}} | more


def page(*items: Any, version: str = "9", token: str = "") -> dict[str, Any]:
    meta = {"resourceVersion": version} | ({"continue": token} if token else {})
    return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": list(items)}


def client(script: Any) -> Client:
    return Client("http://server", transport=script, clock=FakeClock())


def maps(open_client: Client) -> ResourceClient[Object]:
    return open_client.resource(MAPS)
