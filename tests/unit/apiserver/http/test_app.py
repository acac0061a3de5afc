import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import httpx
import msgspec
import pytest
import yaml
from starlette.types import Message

from kinformer.apiserver import ApiServer
from kinformer.apiserver.http import Application
from kinformer.apiserver.http._bodies import BODY_LIMIT
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Target, Verbs
from kinformer.apiserver.storage import MemoryKV
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


async def test_an_object_is_created_read_changed_and_deleted() -> None:
    async with server_client() as client:
        created = await client.post(CONFIG_MAPS, json=config_map("a"))
        assert created.status_code == 201
        assert created.headers["content-type"] == "application/json"
        assert created.headers["cache-control"] == "no-cache, private"
        assert created.content.endswith(b"\n")
        assert (created.json()["kind"], created.json()["apiVersion"]) == ("ConfigMap", "v1")
        read = await client.get(f"{CONFIG_MAPS}/a")
        assert read.json() == created.json()
        changed = await client.put(f"{CONFIG_MAPS}/a", json={**read.json(), "data": {"x": "z"}})
        assert changed.json()["data"] == {"x": "z"}
        patched = await client.patch(
            f"{CONFIG_MAPS}/a",
            content=b'{"data":{"n":"1"}}',
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert patched.json()["data"] == {"x": "z", "n": "1"}
        deleted = await client.delete(f"{CONFIG_MAPS}/a")
        assert deleted.json()["status"] == "Success"
        gone = await client.get(f"{CONFIG_MAPS}/a")
        assert gone.status_code == 404
        assert gone.json()["details"] == {"name": "a", "kind": "configmaps"}


async def test_items_of_built_in_lists_lack_kind_and_version_those_of_custom_ones_have_them_h_17() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        listed = (await client.get(CONFIG_MAPS)).json()
        assert list(listed) == ["kind", "apiVersion", "metadata", "items"]
        assert (listed["kind"], listed["metadata"]["resourceVersion"].isdigit()) == ("ConfigMapList", True)
        assert "kind" not in listed["items"][0]
        await client.post(DEFINITIONS, json=CRD)
        await client.post(SITES, json=SITE)
        listed = (await client.get(SITES)).json()
        assert listed["kind"] == "SiteList"
        assert listed["items"][0]["kind"] == "Site"


async def test_an_empty_list_has_items_and_a_version_s_2() -> None:
    async with server_client() as client:
        listed = (await client.get("/api/v1/namespaces/nowhere/pods")).json()
        assert listed["items"] == []
        assert listed["metadata"]["resourceVersion"] != "0"


async def test_lists_are_paged() -> None:
    async with server_client() as client:
        for name in "abc":
            await client.post(CONFIG_MAPS, json=config_map(name))
        first = (await client.get(CONFIG_MAPS, params={"limit": 2})).json()
        assert first["metadata"]["remainingItemCount"] == 1
        rest = (
            await client.get(CONFIG_MAPS, params={"limit": 2, "continue": first["metadata"]["continue"]})
        ).json()
        assert [item["metadata"]["name"] for item in [*first["items"], *rest["items"]]] == ["a", "b", "c"]
        assert "continue" not in rest["metadata"]


async def test_selectors_select() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a", labels={"app": "x"}))
        await client.post(CONFIG_MAPS, json=config_map("b"))
        by_label = (await client.get(CONFIG_MAPS, params={"labelSelector": "app in (x,y)"})).json()
        by_name = (await client.get(CONFIG_MAPS, params={"fieldSelector": "metadata.name=b"})).json()
        assert [item["metadata"]["name"] for item in [*by_label["items"], *by_name["items"]]] == ["a", "b"]


async def test_a_collection_is_deleted_and_tells_what_matched_w_24() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a", labels={"app": "x"}))
        await client.post(CONFIG_MAPS, json=config_map("b"))
        deleted = (await client.delete(CONFIG_MAPS, params={"labelSelector": "app=x"})).json()
        assert deleted["kind"] == "ConfigMapList"
        assert [item["metadata"]["name"] for item in (await client.get(CONFIG_MAPS)).json()["items"]] == ["b"]


async def test_an_apply_creates_with_201_and_then_changes_with_200() -> None:
    async with server_client() as client:
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {since: 2026-01-01}\n"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        for status in (201, 200):
            reply = await client.patch(f"{CONFIG_MAPS}/a?fieldManager=me", content=body, headers=headers)
            assert reply.status_code == status
            assert reply.json()["data"]["since"] == "2026-01-01"


async def test_a_table_has_rows_and_the_lists_version_t_1() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        for url in (CONFIG_MAPS, f"{CONFIG_MAPS}/a"):
            reply = await client.get(url, headers={"Accept": TABLE})
            assert reply.headers["content-type"] == "application/json"
            shown = reply.json()
            assert (shown["kind"], shown["apiVersion"]) == ("Table", "meta.k8s.io/v1")
            assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Data", "Age"]
            assert shown["rows"][0]["cells"] == ["a", 1, "0s"]
            assert shown["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
            assert shown["metadata"]["resourceVersion"].isdigit()


async def test_a_table_of_a_custom_resource_has_its_columns_c_14() -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        await client.post(SITES, json=SITE)
        shown = (await client.get(SITES, headers={"Accept": TABLE})).json()
        assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "URL"]
        assert shown["rows"][0]["cells"] == ["a", "u"]


async def test_rows_hold_whole_objects_where_asked_and_an_unknown_word_is_a_400_t_2() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        headers = {"Accept": TABLE}
        shown = (await client.get(f"{CONFIG_MAPS}?includeObject=Object", headers=headers)).json()
        assert shown["rows"][0]["object"]["data"] == {"x": "y"}
        refused = await client.get(f"{CONFIG_MAPS}?includeObject=Everything", headers=headers)
        assert refused.status_code == 400
        assert "Everything" in refused.json()["message"]


async def test_metadata_only_forms_fit_objects_or_lists_t_6() -> None:
    async with server_client() as client:
        await client.post(CONFIG_MAPS, json=config_map("a"))
        one = (await client.get(f"{CONFIG_MAPS}/a", headers={"Accept": METADATA})).json()
        assert (one["kind"], "data" in one) == ("PartialObjectMetadata", False)
        many = (await client.get(CONFIG_MAPS, headers={"Accept": METADATA_LIST})).json()
        assert (many["kind"], len(many["items"])) == ("PartialObjectMetadataList", 1)
        assert (await client.get(CONFIG_MAPS, headers={"Accept": METADATA})).status_code == 406
        assert (await client.get(f"{CONFIG_MAPS}/a", headers={"Accept": METADATA_LIST})).status_code == 406


async def test_yaml_comes_and_goes() -> None:
    async with server_client() as client:
        reply = await client.post(
            CONFIG_MAPS,
            content=b"metadata:\n  name: a\ndata:\n  x: y\n",
            headers={"Content-Type": "application/yaml", "Accept": "application/yaml"},
        )
        assert reply.status_code == 201
        assert reply.headers["content-type"] == "application/yaml"
        assert yaml.safe_load(reply.text)["data"] == {"x": "y"}


async def test_people_get_it_pretty_h_12() -> None:
    async with server_client() as client:
        plain = await client.get("/api/v1/namespaces/default")
        assert plain.text.count("\n") == 1
        for reply in (
            await client.get("/api/v1/namespaces/default?pretty=true"),
            await client.get("/api/v1/namespaces/default", headers={"User-Agent": "curl/8"}),
        ):
            assert reply.text.startswith('{\n  "kind"')


async def test_head_is_get_without_a_body_h_3() -> None:
    async with server_client() as client:
        for path in (CONFIG_MAPS, "/version", f"{CONFIG_MAPS}?watch=true"):
            reply = await client.head(path)
            assert (reply.status_code, reply.content) == (200, b"")


async def test_warnings_reach_the_client_w_8() -> None:
    async with server_client() as client:
        await client.post(DEFINITIONS, json=CRD)
        reply = await client.post(SITES, json={**SITE, "spec": {"url": "u", "colour": "red"}})
        assert reply.headers["warning"] == '299 - "unknown field \\"spec.colour\\""'


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
        ("POST", "application/vnd.kubernetes.protobuf"),
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
        ("sendInitialEvents=true", 200),
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

    def __init__(self, clock: Clock, *, hangs: bool = False) -> None:
        self.registry = Registry()
        super().__init__(MemoryKV(), self.registry, clock=clock, random=Random(1))
        self.clock = clock
        self.hangs = hangs

    async def get(self, target: Target, *, version: str = "") -> Any:
        if self.hangs:
            await self.clock.sleep(1e6)
        raise LookupError("secret\nplan")


async def test_a_bug_is_a_500_without_a_traceback_and_a_log_record(caplog: pytest.LogCaptureFixture) -> None:
    verbs = Broken(FakeClock())
    app = Application(verbs, verbs.registry, clock=verbs.clock, random=Random(1))
    async with client_of(app) as client:
        with caplog.at_level(logging.ERROR, "kinformer.apiserver"):
            reply = await client.get(f"{CONFIG_MAPS}/a")
    assert reply.status_code == 500
    assert reply.json()["reason"] == "InternalError"
    assert "Traceback" not in reply.text
    assert [record.message for record in caplog.records] == ["request failed"]


async def test_a_request_that_takes_too_long_is_a_504_h_15() -> None:
    clock = FakeClock()
    verbs = Broken(clock, hangs=True)
    app = Application(verbs, verbs.registry, clock=clock, random=Random(1))
    statuses: list[int] = []

    async def ask(client: httpx.AsyncClient) -> None:
        statuses.append((await client.get(f"{CONFIG_MAPS}/a")).status_code)

    async with client_of(app) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, client)
        await clock.advance(59.9)
        assert statuses == []
        await clock.advance(0.2)
    assert statuses == [504]


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


async def test_discovery_is_plain_or_aggregated_and_changes_with_definitions_d_4_d_6() -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    async with server_client() as client:
        plain = (await client.get("/apis")).json()
        assert plain["kind"] == "APIGroupList"
        first = await client.get("/apis", headers={"Accept": accept})
        assert first.headers["content-type"] == (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        )
        assert (first.headers["vary"], first.headers["cache-control"]) == ("Accept", "public")
        headers = {"Accept": accept, "If-None-Match": first.headers["etag"]}
        same = await client.get("/apis", headers=headers)
        assert (same.status_code, same.content) == (304, b"")
        await client.post(DEFINITIONS, json=CRD)
        changed = await client.get("/apis", headers=headers)
        assert changed.status_code == 200
        assert "example.dev" in {item["metadata"]["name"] for item in changed.json()["items"]}


async def test_a_list_is_what_msgspec_and_everybody_else_can_read() -> None:
    async with server_client() as client:
        for name in ("a", "b"):
            await client.post(CONFIG_MAPS, json=config_map(name))
        assert len(msgspec.json.decode((await client.get(CONFIG_MAPS)).content)["items"]) == 2
