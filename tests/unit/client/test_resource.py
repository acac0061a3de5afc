import json
from typing import Any

import httpx
import msgspec
import pytest

from kinformer.client import Client, ResourceClient
from kinformer.errors import (
    AlreadyExistsError,
    ConflictError,
    DecodeError,
    NotFoundError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.testing import FakeClock

MAPS = Resource.builtin("ConfigMap")
NODES = Resource.builtin("Node")
DEPLOYMENTS = Resource.builtin("Deployment")


class Meta(msgspec.Struct):
    name: str


class Map(msgspec.Struct):
    metadata: Meta
    data: dict[str, str] = {}


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


async def test_get_gives_a_handle(script: Any) -> None:
    script.answer(config_map())
    script.answer(config_map())
    async with client(script) as c:
        obj = await maps(c).get("default/a")
        await maps(c).get(ObjectKey("default", "a"), version="0")
    assert (obj.key, obj["data"], obj.metadata.resource_version) == (
        ObjectKey("default", "a"),
        {"x": "1"},
        "7",
    )
    path = "GET /api/v1/namespaces/default/configmaps/a"
    assert script.asked == [path, f"{path} resourceVersion=0"]


async def test_get_gives_the_model_that_was_asked_for(script: Any) -> None:
    script.answer(config_map())
    script.answer(config_map(data=7))
    async with client(script) as c:
        typed = c.resource(MAPS, Map)
        assert await typed.get("default/a") == Map(Meta("a"), {"x": "1"})
        with pytest.raises(DecodeError, match="is no Map") as caught:
            await typed.get("default/a")
        assert caught.value.key == "default/a"
        assert typed.model is Map
        assert typed.untyped.model is Object


async def test_what_is_missing_is_not_found(script: Any) -> None:
    script.status(404, "NotFound", message='configmaps "a" not found')
    async with client(script) as c:
        with pytest.raises(NotFoundError, match="not found"):
            await maps(c).get("default/a")


async def test_an_answer_of_another_kind_is_refused(script: Any) -> None:
    script.answer(config_map(kind="Secret"))
    script.answer(b"<html>welcome to the wifi</html>")
    async with client(script) as c:
        with pytest.raises(DecodeError, match="found Secret"):
            await maps(c).get("default/a")
        with pytest.raises(DecodeError, match=r"cannot be read|not a Kubernetes object"):
            await maps(c).get("default/a")


async def test_a_list_without_a_limit_is_one_request_for_all(script: Any) -> None:
    script.answer(page(config_map("a"), config_map("b")))
    async with client(script) as c:
        found = await maps(c).list(labels={"app": "web"}, fields="metadata.name!=z", version="0")
    assert [obj.key.name for obj in found.items] == ["a", "b"]
    assert found.version == "9"
    assert script.asked == [
        "GET /api/v1/configmaps labelSelector=app=web fieldSelector=metadata.name!=z resourceVersion=0"
    ]


async def test_a_list_with_a_limit_is_one_page(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.answer(page(config_map("b")))
    async with client(script) as c:
        first = await maps(c).list(namespace="default", limit=1, version="5", version_match="Exact")
        second = await maps(c).list(namespace="default", limit=1, continue_token=first.continue_token)
    assert [obj.key.name for obj in (*first.items, *second.items)] == ["a", "b"]
    path = "GET /api/v1/namespaces/default/configmaps"
    assert script.asked == [
        f"{path} resourceVersion=5 resourceVersionMatch=Exact limit=1",
        f"{path} limit=1 continue=t",
    ]


async def test_a_list_that_is_paged_unasked_is_still_whole(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.answer(page(config_map("b")))
    async with client(script) as c:
        found = await maps(c).list()
    assert [obj.key.name for obj in found.items] == ["a", "b"]
    assert found.continue_token == ""


async def test_a_typed_list_rejects_what_does_not_fit(script: Any) -> None:
    script.answer(page(config_map("a"), config_map("b", data=7)))
    async with client(script) as c:
        found = await c.resource(MAPS, Map).list()
    assert found.items == (Map(Meta("a"), {"x": "1"}),)
    assert [error.key for error in found.rejected] == ["default/b"]


async def test_pages_come_one_by_one(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.answer(page(config_map("b")))
    async with client(script) as c:
        seen = [obj.key.name async for found in maps(c).pages(limit=1, version="0") for obj in found.items]
    assert seen == ["a", "b"]
    assert script.asked == [
        "GET /api/v1/configmaps resourceVersion=0 limit=1",
        "GET /api/v1/configmaps limit=1 continue=t",
    ]


async def test_pages_begin_again_when_their_moment_is_forgotten(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.status(410, "Expired")
    script.answer(page(config_map("b"), config_map("c"), version="12"))
    async with client(script) as c:
        found = [page async for page in maps(c).pages()]
    assert [(page.version, len(page.items)) for page in found] == [("9", 1), ("12", 2)]
    assert script.asked[0] == "GET /api/v1/configmaps limit=500"
    assert script.asked[2] == "GET /api/v1/configmaps"


async def test_where_sets_what_is_meant_when_nothing_is_said(script: Any) -> None:
    for _ in range(3):
        script.answer(page())
    script.answer(config_map())
    async with client(script) as c:
        here = maps(c).where(namespace="default", labels="app=web")
        await here.list()
        await here.list(namespace="", labels="app=db")
        await here.where(labels="").list()
        await here.get("a")
    assert script.asked == [
        "GET /api/v1/namespaces/default/configmaps labelSelector=app=web",
        "GET /api/v1/configmaps labelSelector=app=db",
        "GET /api/v1/namespaces/default/configmaps",
        "GET /api/v1/namespaces/default/configmaps/a",
    ]


async def test_create_posts_where_the_object_says(script: Any) -> None:
    script.answer(config_map(), 201)
    async with client(script) as c:
        made = await maps(c).create({"metadata": {"name": "a", "namespace": "default"}})
    assert made.metadata.resource_version == "7"
    assert script.asked == ["POST /api/v1/namespaces/default/configmaps"]
    assert script.requests[0].headers["content-type"] == "application/json"
    assert script.sent == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default"},
    }


async def test_create_may_be_told_where_who_and_not_really(script: Any) -> None:
    script.answer(config_map(), 201)
    async with client(script) as c:
        body = {"metadata": {"generateName": "a-"}}
        await maps(c).create(body, namespace="default", field_manager="me", dry_run=True)
    assert script.asked == ["POST /api/v1/namespaces/default/configmaps fieldManager=me dryRun=All"]


async def test_create_of_what_exists_is_an_error(script: Any) -> None:
    script.status(409, "AlreadyExists")
    async with client(script) as c:
        with pytest.raises(AlreadyExistsError):
            await maps(c).create(config_map())


async def test_replace_puts_a_thawed_copy_back(script: Any) -> None:
    script.answer(config_map())
    script.answer(config_map())
    script.status(409, "Conflict")
    async with client(script) as c:
        draft = (await maps(c).get("default/a")).thaw()
        draft["data"]["x"] = "2"
        await maps(c).replace(draft)
        with pytest.raises(ConflictError):
            await maps(c).replace(draft)
    assert script.asked[1] == "PUT /api/v1/namespaces/default/configmaps/a"
    assert script.sent == config_map() | {"data": {"x": "2"}}


@pytest.mark.parametrize(
    ("kind", "patch", "content_type"),
    [
        ("merge", {"data": {"x": None}}, "application/merge-patch+json"),
        ("strategic", {"data": {"x": None}}, "application/strategic-merge-patch+json"),
        ("json", [{"op": "remove", "path": "/data/x"}], "application/json-patch+json"),
    ],
)
async def test_each_kind_of_patch_has_its_content_type(
    script: Any, kind: Any, patch: Any, content_type: str
) -> None:
    script.answer(config_map())
    async with client(script) as c:
        await maps(c).patch("default/a", patch, kind=kind)
    assert script.asked == ["PATCH /api/v1/namespaces/default/configmaps/a"]
    assert script.requests[0].headers["content-type"] == content_type
    assert script.sent == patch


async def test_apply_says_who_and_whether_by_force(script: Any) -> None:
    script.answer(config_map())
    script.answer(config_map())
    async with client(script) as c:
        await maps(c).apply(config_map(), field_manager="me")
        await maps(c).apply(config_map(), field_manager="me", force=True)
    path = "PATCH /api/v1/namespaces/default/configmaps/a fieldManager=me"
    assert script.asked == [path, f"{path} force=true"]
    assert script.requests[0].headers["content-type"] == "application/apply-patch+yaml"


async def test_delete_says_what_must_hold_and_what_comes_after(script: Any) -> None:
    script.answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
    script.answer(config_map())
    async with client(script) as c:
        await maps(c).delete("default/a")
        await maps(c).delete("default/a", uid="u", version="7", propagation="Foreground")
    assert script.asked == ["DELETE /api/v1/namespaces/default/configmaps/a"] * 2
    assert script.requests[0].content == b""
    assert script.sent["preconditions"] == {"uid": "u", "resourceVersion": "7"}
    assert script.sent["propagationPolicy"] == "Foreground"


async def test_delete_collection_stays_in_one_namespace(script: Any) -> None:
    script.answer(page())
    script.answer(page())
    async with client(script) as c:
        await maps(c).delete_collection(namespace="default", labels="app=web", propagation="Background")
        await c.resource(NODES).delete_collection(fields="spec.unschedulable=true")
        with pytest.raises(ValueError, match="needs namespace="):
            await maps(c).delete_collection()
    assert script.asked == [
        "DELETE /api/v1/namespaces/default/configmaps labelSelector=app=web",
        "DELETE /api/v1/nodes fieldSelector=spec.unschedulable=true",
    ]


async def test_status_and_scale_are_subresources(script: Any) -> None:
    deployment = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d", "namespace": "a"}}
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d", "namespace": "a"}}
    script.answer(deployment)
    script.answer(scale | {"spec": {"replicas": 3}})
    script.answer(scale | {"spec": {"replicas": 4}})
    async with client(script) as c:
        deployments = c.resource(DEPLOYMENTS)
        await deployments.status.replace(deployment | {"status": {"replicas": 3}})
        found = await deployments.scale.get("a/d")
        assert (found.kind, found["spec"]["replicas"]) == ("Scale", 3)
        await deployments.scale.patch("a/d", {"spec": {"replicas": 4}})
        with pytest.raises(ValueError, match="no collection"):
            await deployments.status.list()
        with pytest.raises(ValueError, match="no collection"):
            deployments.status.watch()
        with pytest.raises(ValueError, match="no subresources"):
            _ = deployments.status.scale
    path = "/apis/apps/v1/namespaces/a/deployments/d"
    assert script.asked == [f"PUT {path}/status", f"GET {path}/scale", f"PATCH {path}/scale"]


async def test_mistakes_are_told_before_anything_is_sent(script: Any) -> None:
    async with client(script) as c:
        wrong: Any = "magic"
        for mistake, match in (
            (maps(c).get("a"), "'namespace/name'"),
            (maps(c).list(labels="a in"), "unable to parse"),
            (maps(c).list(limit=-1), "limit -1"),
            (maps(c).create({"metadata": {"name": "a"}}), "metadata.namespace"),
            (maps(c).create(config_map(), namespace="other"), "'default', and namespace='other'"),
            (maps(c).replace({"metadata": {"namespace": "a"}}), "no metadata.name"),
            (maps(c).patch("default/a", {}, kind=wrong), "'magic' must be one of merge, json, strategic"),
            (maps(c).apply(config_map(), field_manager=""), "needs a field_manager"),
            (c.resource(NODES).list(namespace="default"), "cluster-scoped"),
            (anext(aiter(maps(c).pages(limit=0))), "limit 0"),
        ):
            with pytest.raises(ValueError, match=match):
                await mistake
    assert script.requests == []


async def test_only_without_retries_is_a_failure_told_at_once(script: Any) -> None:
    clock = FakeClock()
    async with Client("http://server", transport=script, clock=clock) as c:
        source = maps(c).where(namespace="default").without_retries()
        script.fail(httpx.ConnectError("refused"))
        with pytest.raises(TransportError):
            await source.list()
        script.answer(b"", 429, {"Retry-After": "1"})
        with pytest.raises(ThrottledError):
            await source.status.without_retries().get("a")
        assert len(script.requests) == 2
        script.answer(b"", 429, {"Retry-After": "0"})
        script.answer(page())
        await maps(c).list()
    assert len(script.requests) == 4


async def test_a_resource_client_shows_what_it_is_about(script: Any) -> None:
    shown = repr(maps(client(script)).where(namespace="a", labels="b=c"))
    assert shown == "<client of configmaps namespace=a labels=b=c>"


async def test_a_body_of_another_kind_is_refused(script: Any) -> None:
    async with client(script) as c:
        node = Object.from_json(json.dumps({"metadata": {"name": "n"}}).encode(), NODES)
        with pytest.raises(ValueError, match="kind is 'Node', but this client writes configmaps"):
            await maps(c).create(node, namespace="default")
