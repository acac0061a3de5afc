import json
from typing import Any

import pytest

from kinformer.errors import (
    AlreadyExistsError,
    ConflictError,
    DecodeError,
)
from kinformer.meta import Object, Resource
from tests.unit.client.resource_stage import client, config_map, maps, page

NODES = Resource.builtin("Node")
PODS = Resource.builtin("Pod")
DEPLOYMENTS = Resource.builtin("Deployment")


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
        await maps(c).create(
            body, namespace="default", field_manager="me", field_validation="Strict", dry_run=True
        )
    path = "/api/v1/namespaces/default/configmaps"
    assert script.asked == [f"POST {path} fieldManager=me fieldValidation=Strict dryRun=All"]


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


async def test_whatever_writes_may_be_told_who_how_strictly_and_not_really(script: Any) -> None:
    for _ in range(3):
        script.answer(config_map())
    async with client(script) as c:
        await maps(c).replace(config_map(), field_manager="me", field_validation="Warn", dry_run=True)
        await maps(c).patch("default/a", {}, field_manager="me", field_validation="Warn", dry_run=True)
        await maps(c).apply(config_map(), field_manager="me", field_validation="Warn", dry_run=True)
    path = "/api/v1/namespaces/default/configmaps/a fieldManager=me fieldValidation=Warn dryRun=All"
    assert script.asked == [f"{verb} {path}" for verb in ("PUT", "PATCH", "PATCH")]


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
        await c.resource(NODES).delete_collection(
            fields="spec.unschedulable=true", grace_period=0, dry_run=True
        )
        with pytest.raises(ValueError, match="needs namespace="):
            await maps(c).delete_collection()
    assert script.asked == [
        "DELETE /api/v1/namespaces/default/configmaps labelSelector=app=web",
        "DELETE /api/v1/nodes fieldSelector=spec.unschedulable=true",
    ]
    assert script.sent == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


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


SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def test_an_eviction_names_its_pod_and_is_answered_by_a_status(script: Any) -> None:
    script.answer(SUCCESS, 201)
    async with client(script) as c:
        evictions = c.resource(PODS).where(namespace="default").subresource("eviction")
        sent = await evictions.create(
            {"metadata": {"name": "web"}, "deleteOptions": {"gracePeriodSeconds": 1}}
        )
    assert (sent.kind, sent["deleteOptions"]) == ("Eviction", {"gracePeriodSeconds": 1})
    assert script.asked == ["POST /api/v1/namespaces/default/pods/web/eviction"]
    assert script.sent["apiVersion"] == "policy/v1"


async def test_a_token_request_gives_a_token(script: Any) -> None:
    meta = {"name": "robot", "namespace": "default"}
    answer = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": meta}
    script.answer(answer | {"status": {"token": "t"}}, 201)
    async with client(script) as c:
        tokens = c.resource(Resource.builtin("ServiceAccount")).subresource("token")
        request = await tokens.create({"metadata": meta, "spec": {"audiences": ["a"]}})
    assert request["status"]["token"] == "t"
    assert script.asked == ["POST /api/v1/namespaces/default/serviceaccounts/robot/token"]


async def test_a_status_where_an_object_was_made_is_no_answer(script: Any) -> None:
    script.answer(SUCCESS, 201)
    async with client(script) as c:
        with pytest.raises(DecodeError, match="found Status"):
            await maps(c).create(config_map())


async def test_any_subresource_can_be_read_and_written(script: Any) -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "default"}}
    other = {
        "kind": "Trace",
        "apiVersion": "example.dev/v1",
        "metadata": {"name": "web", "namespace": "default"},
    }
    for answer in (pod, pod, other):
        script.answer(answer)
    async with client(script) as c:
        pods = c.resource(PODS)
        containers = pods.subresource("ephemeralcontainers")
        await containers.get("default/web")
        await containers.patch("default/web", {"spec": {}}, kind="strategic")
        traces = pods.subresource("trace", Resource("example.dev", "v1", "traces", "Trace"))
        assert (await traces.get("default/web")).kind == "Trace"
    path = "/api/v1/namespaces/default/pods/web"
    assert script.asked == [
        f"GET {path}/ephemeralcontainers",
        f"PATCH {path}/ephemeralcontainers",
        f"GET {path}/trace",
    ]


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
            (maps(c).list(version="7", continue_token="t"), "must be left out"),
            (maps(c).create(config_map(), field_validation=wrong), "field_validation 'magic' must be one of"),
            (maps(c).patch("default/a", {}, kind="json"), "must be a list of operations, not dict"),
            (maps(c).delete("default/a", uid=""), "uid is ''"),
            (maps(c).delete_collection(namespace="default", propagation=wrong), "propagation 'magic'"),
            (maps(c).subresource("log").list(), "'log' has no collection"),
            (maps(c).subresource("eviction").create({}), "this Eviction has no metadata.name"),
            (maps(c).patch("default/a", {}, kind=wrong), "'magic' must be one of merge, json, strategic"),
            (maps(c).apply(config_map(), field_manager=""), "needs a field_manager"),
            (c.resource(NODES).list(namespace="default"), "cluster-scoped"),
            (anext(aiter(maps(c).pages(limit=0))), "limit 0"),
        ):
            with pytest.raises(ValueError, match=match):
                await mistake
    assert script.requests == []


async def test_a_body_of_another_kind_is_refused(script: Any) -> None:
    async with client(script) as c:
        node = Object.from_json(json.dumps({"metadata": {"name": "n"}}).encode(), NODES)
        with pytest.raises(ValueError, match="kind is 'Node', but this client writes configmaps"):
            await maps(c).create(node, namespace="default")
