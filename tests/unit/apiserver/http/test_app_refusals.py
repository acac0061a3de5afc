"""What the application refuses, and how it says so."""

import logging
from random import Random
from typing import Any

import anyio
import httpx
import pytest
from starlette.types import Message

from kinformer.apiserver import ApiServer
from kinformer.apiserver.auth import Guard
from kinformer.apiserver.http import Application
from kinformer.apiserver.http._bodies import BODY_LIMIT
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Target, Verbs
from kinformer.apiserver.storage import MemoryKV, UnavailableError
from kinformer.clock import Clock
from kinformer.testing import FakeClock
from tests.unit.apiserver.http.stage import (
    CONFIG_MAPS,
    CRD,
    DEFINITIONS,
    SITE,
    SITES,
    client_of,
    config_map,
    server_client,
)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/apis/nothing.dev", 404),
        ("GET", "/apis/nothing.dev/v1", 404),
        ("GET", "/apis/nothing.dev/v1/things", 404),
        ("GET", "/api/v2", 404),
        ("GET", "/apis/example.dev/v1/others", 404),
        ("GET", "/apis/example.dev/v1/namespaces/default/sites/a/scale", 404),
        ("GET", "/apis/example.dev/v1/namespaces/default/sites/a/status", 404),
        ("GET", "/apis/example.dev/v1/sites/a", 404),
        ("POST", "/version", 404),
        ("GET", "/api//v1", 404),
    ],
)
async def test_what_is_not_there_at_all_is_a_plain_404_h_7(method: str, path: str, status: int) -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        reply = await client.request(method, path)
        assert reply.status_code == status
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        assert reply.text == "404 page not found\n"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/things",
        "/api/v1/namespaces/default/things/a",
        f"{CONFIG_MAPS}/a/status",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/configmaps/a",
        "/api/v1/namespaces/default/pods/a/proxy/x",
    ],
)
async def test_what_is_missing_in_a_built_in_group_is_a_status_h_7(path: str) -> None:
    async with server_client() as client:
        reply = await client.get(path)
        assert reply.status_code == 404
        assert reply.json()["message"] == "the server could not find the requested resource"
        assert reply.json()["details"] == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("POST", f"{CONFIG_MAPS}/a"),
        ("GET", "/api/v1/namespaces/default/finalize"),
        ("DELETE", "/api/v1/nodes/a/status"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ],
)
async def test_a_verb_that_is_missing_is_a_405(method: str, path: str) -> None:
    async with server_client() as client:
        reply = await client.request(method, path)
        assert reply.status_code == 405
        assert reply.json()["reason"] == "MethodNotAllowed"


async def test_a_custom_resource_names_itself_in_a_405() -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        reply = await client.put(SITES, json=SITE)
        assert reply.status_code == 405
        assert reply.json()["message"] == 'update is not supported on resources of kind "sites.example.dev"'


@pytest.mark.parametrize(
    "path", ["/api", "/apis", "/api/v1", "/apis/apps", CONFIG_MAPS, "/api/v1/namespaces/default"]
)
async def test_a_form_that_cannot_be_had_is_a_406_in_json_h_8(path: str) -> None:
    async with server_client() as client:
        reply = await client.get(path, headers={"Accept": "application/vnd.kubernetes.protobuf"})
        assert reply.status_code == 406
        assert reply.json()["reason"] == "NotAcceptable"
        assert "application/json, application/yaml" in reply.json()["message"]


async def test_a_body_that_is_too_large_is_a_413_h_2() -> None:
    async with server_client() as client:
        reply = await client.post(CONFIG_MAPS, content=b" " * (BODY_LIMIT + 1))
        assert reply.status_code == 413
        assert reply.json()["message"] == "Request entity too large: limit is 3145728"


@pytest.mark.parametrize(
    ("method", "content_type"),
    [
        ("POST", "application/cbor"),
        ("POST", "text/plain"),
        ("PATCH", "application/json"),
        ("PATCH", ""),
    ],
)
async def test_a_body_of_another_type_is_a_415_h_9(method: str, content_type: str) -> None:
    async with server_client() as client:
        url = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/a"
        reply = await client.request(method, url, content=b"{}", headers={"Content-Type": content_type})
        assert reply.status_code == 415
        assert reply.json()["reason"] == "UnsupportedMediaType"


async def test_custom_resources_do_not_take_strategic_patches_h_9() -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        reply = await client.patch(f"{SITES}/a", content=b"{}", headers=headers)
        assert reply.status_code == 415
        assert "strategic" not in reply.json()["message"]


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000])
async def test_a_body_that_cannot_be_read_is_a_400(body: bytes) -> None:
    async with server_client() as client:
        reply = await client.post(CONFIG_MAPS, content=body)
        assert reply.status_code == 400
        assert reply.json()["reason"] == "BadRequest"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=x", 400),
        ("labelSelector=a in", 400),
        ("fieldSelector=metadata.name", 400),
        ("resourceVersion=x", 400),
        ("watch=true&timeoutSeconds=x", 400),
        ("watch=true&resourceVersion=x", 422),
        ("resourceVersionMatch=Exact", 422),
        ("sendInitialEvents=true", 422),
    ],
)
async def test_bad_parameters_are_refused(query: str, status: int) -> None:
    async with server_client() as client:
        reply = await client.get(f"{CONFIG_MAPS}?{query}")
        assert reply.status_code == status


async def test_the_body_of_a_delete_makes_the_query_be_ignored_w_16() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        query = {"dryRun": "All"}
        dry = await client.request("DELETE", f"{CONFIG_MAPS}/a", params=query)
        assert dry.status_code == 200
        assert (await client.get(f"{CONFIG_MAPS}/a")).status_code == 200
        await client.request("DELETE", f"{CONFIG_MAPS}/a", params=query, json={})
        assert (await client.get(f"{CONFIG_MAPS}/a")).status_code == 404


async def test_reviews_say_yes_and_are_not_stored_r_6() -> None:
    async with server_client() as client:
        spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
        reply = await client.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json={"spec": spec}
        )
        assert reply.status_code == 201
        assert reply.json()["kind"] == "SelfSubjectAccessReview"
        assert reply.json()["spec"] == spec
        assert reply.json()["status"]["allowed"] is True


class Broken(Verbs):
    """Verbs that fail in a way that nobody foresaw, or never answer."""

    def __init__(self, clock: Clock, *, hangs: bool = False, error: Exception | None = None) -> None:
        self.registry = Registry()
        super().__init__(MemoryKV(), self.registry, clock=clock, random=Random(1))
        self.clock = clock
        self.hangs = hangs
        self.error = error or LookupError("secret\nplan")

    async def get(self, target: Target, *, version: str = "") -> Any:
        if self.hangs:
            await self.clock.sleep(1e6)
        raise self.error


async def test_a_bug_is_a_500_without_a_traceback_and_a_log_record(caplog: pytest.LogCaptureFixture) -> None:
    verbs = Broken(FakeClock())
    app = Application(
        verbs, verbs.registry, Guard(MemoryKV(), clock=FakeClock()), clock=verbs.clock, random=Random(1)
    )
    async with client_of(app) as client:
        with caplog.at_level(logging.DEBUG, "kinformer.apiserver"):
            reply = await client.get(f"{CONFIG_MAPS}/a")
    assert reply.status_code == 500
    assert reply.json()["reason"] == "InternalError"
    assert "Traceback" not in reply.text
    said = [record.message for record in caplog.records if record.name == "kinformer.apiserver"]
    assert said == ["request failed", f"GET {CONFIG_MAPS}/a: 500"]


async def test_a_storage_that_cannot_be_reached_is_a_503_that_says_so() -> None:
    verbs = Broken(FakeClock(), error=UnavailableError("etcd at here:1: no leader"))
    app = Application(
        verbs, verbs.registry, Guard(MemoryKV(), clock=FakeClock()), clock=verbs.clock, random=Random(1)
    )
    async with client_of(app) as client:
        reply = await client.get(f"{CONFIG_MAPS}/a")
    assert (reply.status_code, reply.headers["Retry-After"]) == (503, "1")
    assert reply.json()["message"] == "etcd at here:1: no leader"


async def test_a_request_that_takes_too_long_is_a_504_h_15() -> None:
    clock = FakeClock()
    verbs = Broken(clock, hangs=True)
    app = Application(
        verbs, verbs.registry, Guard(MemoryKV(), clock=FakeClock()), clock=clock, random=Random(1)
    )
    statuses: list[int] = []

    async def ask(client: httpx.AsyncClient) -> None:
        statuses.append((await client.get(f"{CONFIG_MAPS}/a")).status_code)

    async with client_of(app) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, client)
        await clock.advance(59.9)
        assert statuses == []
        await clock.advance(0.2)
    assert statuses == [504]


async def test_initial_events_are_for_watches_l_2() -> None:
    async with server_client() as client:
        reply = await client.get(f"{CONFIG_MAPS}?sendInitialEvents=true")
        assert reply.status_code == 422
        assert "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list" in reply.text


async def test_what_is_nested_too_deeply_for_a_form_of_answer_is_a_400() -> None:
    depth = 900
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        **CRD,
        "spec": {**CRD["spec"], "versions": [{"name": "v1", "served": True, "storage": True}]},
    }
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": free}
    async with server_client() as client:
        await client.post(DEFINITIONS, json=definition)
        body = b'{"apiVersion":"example.dev/v1","kind":"Site","metadata":{"name":"a"},"spec":' + deep + b"}"
        assert (await client.post(SITES, content=body)).status_code == 201
        assert (await client.get(f"{SITES}/a")).status_code == 200
        reply = await client.get(f"{SITES}/a", headers={"Accept": "application/yaml"})
        assert reply.status_code == 400
        assert "nested too deeply" in reply.json()["message"]


async def test_a_closed_application_answers_503() -> None:
    server = ApiServer(clock=FakeClock())
    async with server:
        pass
    async with client_of(server.app) as client:
        reply = await client.get("/version")
        assert reply.status_code == 503
        assert reply.headers["retry-after"] == "1"


async def test_other_protocols_than_http_are_refused() -> None:
    async def never(message: Message | None = None) -> Any:
        raise AssertionError(message)

    with pytest.raises(ValueError, match="lifespan"):
        await ApiServer().app({"type": "lifespan"}, never, never)


async def test_a_client_that_goes_away_while_it_sends_ends_the_request_quietly() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": CONFIG_MAPS, "query_string": b"", "headers": []}
    await ApiServer(clock=FakeClock()).app(scope, receive, send)
