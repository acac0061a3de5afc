"""Lists over the watch cache, as clients see them. A number is that of the behaviour in the reference's list."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from kinformer.apiserver import ApiServer, CacheOptions
from kinformer.apiserver.storage import CompactedError, MemoryKV, UnavailableError
from kinformer.meta import Resource
from kinformer.testing import AppTransport, FakeClock, settle
from tests.unit.apiserver.http.stage import CRD, DEFINITIONS, SITE, SITES

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
POD = Resource.builtin("Pod")
SITE_RESOURCE = Resource("example.dev", "v1", "sites", "Site")


class Setting:
    """A server with a client, its storage and the clock of both."""

    def __init__(self, server: ApiServer, client: httpx.AsyncClient, kv: MemoryKV, clock: FakeClock) -> None:
        self.server = server
        self.client = client
        self.kv = kv
        self.clock = clock
        self.cacher = server.cacher(POD)

    async def create(self, *names: str, labels: dict[str, str] | None = None) -> int:
        """Create pods; gives the version of the last."""
        version = 0
        for name in names:
            spec = {"containers": [{"name": "c", "image": "i"}]}
            body = {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}
            reply = await self.client.post(PODS, json=body)
            version = int(reply.json()["metadata"]["resourceVersion"])
        await settle()
        return version

    async def list(self, path: str = PODS, **query: Any) -> httpx.Response:
        return await self.client.get(path, params={key: str(value) for key, value in query.items()})

    async def later(self, seconds: float, **query: Any) -> httpx.Response:
        """A list that is answered after so many seconds and not before."""
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await self.list(**query))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self.clock.advance(seconds - 0.01)
            assert answers == []
            await self.clock.advance(0.02)
        return answers[0]

    def counted(self, name: str, **labels: str) -> float:
        return self.cacher.metrics.get(name, **labels)


@asynccontextmanager
async def setting(**options: Any) -> AsyncIterator[Setting]:
    clock, kv = FakeClock(), MemoryKV()
    async with (
        ApiServer(storage=kv, clock=clock, cache=CacheOptions(**options)) as server,
        httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client,
    ):
        made = Setting(server, client, kv, clock)
        await settle()
        yield made


def names(reply: httpx.Response) -> list[str]:
    assert reply.status_code == 200, reply.text
    return [item["metadata"]["name"] for item in reply.json()["items"]]


def metadata(reply: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = reply.json()["metadata"]
    return found


def token(**content: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


async def test_behaviour_12_a_quiet_resource_is_as_new_as_the_whole_server() -> None:
    async with setting() as at:
        written = await at.client.post(CONFIG_MAPS, json={"metadata": {"name": "a"}})
        reply = await at.list()
        assert names(reply) == []
        assert int(metadata(reply)["resourceVersion"]) >= int(metadata(written)["resourceVersion"])
        assert (
            at.counted("apiserver_watch_cache_consistent_read_total", success="true", fallback="false") == 1
        )
        assert at.counted("etcd_requests_total", operation="list") == 0


async def test_behaviour_13_any_version_has_no_pages_and_pages_have_one_version() -> None:
    async with setting() as at:
        await at.create(*"abcde")
        everything = await at.list(limit=2, resourceVersion=0)
        assert (names(everything), metadata(everything).get("continue")) == (list("abcde"), None)
        page = await at.list(limit=2)
        assert (names(page), metadata(page)["remainingItemCount"]) == (["a", "b"], 3)
        version = metadata(page)["resourceVersion"]
        await at.create("bb")
        seen = names(page)
        while goes_on := metadata(page).get("continue"):
            page = await at.list(limit=2, **{"continue": goes_on})
            assert metadata(page)["resourceVersion"] == version
            seen += names(page)
        assert seen == list("abcde")
        assert at.counted("etcd_requests_total", operation="list") == 0


async def test_behaviour_14_a_version_that_is_too_large_is_a_timeout_that_says_so() -> None:
    async with setting() as at:
        now = await at.create("a")
        reply = await at.later(3.0, resourceVersion=now + 1000)
        assert (reply.status_code, reply.headers["Retry-After"]) == (504, "1")
        status = reply.json()
        assert (status["reason"], status["details"]["retryAfterSeconds"]) == ("Timeout", 1)
        assert status["message"] == f"Timeout: Too large resource version: {now + 1000}, current: {now}"
        assert [cause["reason"] for cause in status["details"]["causes"]] == ["ResourceVersionTooLarge"]


async def test_behaviour_14_a_paused_cache_is_gone_past_after_three_seconds() -> None:
    async with setting() as at:
        at.cacher.pause()
        await at.create("a")
        assert names(await at.later(3.0)) == ["a"]
        fallen_back = 'apiserver_watch_cache_consistent_read_total{group="",resource="pods",success="true",fallback="true"}'
        assert at.server.metrics[fallen_back] == 1
        at.cacher.resume()
        assert names(await at.list()) == ["a"]


async def test_behaviour_14_or_the_client_is_to_come_again() -> None:
    async with setting(falls_back=False) as at:
        at.cacher.pause()
        await at.create("a")
        reply = await at.later(3.0)
        assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
        assert reply.json()["reason"] == "TooManyRequests"


async def test_behaviour_15_exact_shows_the_past_and_a_minimum_the_present() -> None:
    async with setting() as at:
        then = await at.create("a")
        now = await at.create("b")
        queries: list[dict[str, Any]] = [{"limit": 1}, {"limit": 1, "resourceVersionMatch": "Exact"}]
        for query in queries:
            reply = await at.list(resourceVersion=then, **query)
            assert (names(reply), metadata(reply)["resourceVersion"]) == (["a"], str(then))
        reply = await at.list(resourceVersion=then)
        assert (names(reply), metadata(reply)["resourceVersion"]) == (["a", "b"], str(now))
        assert (await at.list(resourceVersion=0, resourceVersionMatch="Exact")).status_code == 422
        assert (await at.list(resourceVersionMatch="Exact")).status_code == 422


async def test_behaviour_16_an_exact_list_of_what_was_compacted_is_expired() -> None:
    async with setting() as at:
        then = await at.create("a")
        await at.kv.compact(await at.create("b"))
        reply = await at.list(resourceVersion=then, resourceVersionMatch="Exact")
        assert (reply.status_code, reply.json()["reason"]) == (410, "Expired")
        assert reply.json()["message"] == "The resourceVersion for the provided list is too old."


async def test_behaviour_17_an_expired_token_comes_with_one_for_the_present() -> None:
    async with setting() as at:
        await at.create(*"abcd")
        page = await at.list(limit=1)
        now = await at.create("e")
        await at.kv.compact(now)
        reply = await at.list(limit=1, **{"continue": metadata(page)["continue"]})
        assert reply.status_code == 410
        reply = await at.list(limit=1, **{"continue": metadata(reply)["continue"]})
        assert (names(reply), metadata(reply)["resourceVersion"]) == (["b"], str(now))
        await at.create("bb")
        reply = await at.list(**{"continue": metadata(reply)["continue"]})
        assert (names(reply), metadata(reply)["resourceVersion"]) == (["c", "d", "e"], str(now))


V1 = "meta.k8s.io/v1"


@pytest.mark.parametrize(
    "hostile",
    [
        *(token(v=V1, rv=2, start=start) for start in ("../secrets/x", "./a", "a/../..", "")),
        token(v=V1, rv=0, start="a"),
        token(v="v2", rv=2, start="a"),
        "???",
    ],
)
async def test_behaviour_18_hostile_tokens_are_refused(hostile: str) -> None:
    async with setting() as at:
        reply = await at.list(**{"continue": hostile})
        assert reply.status_code == 400
        assert reply.json()["message"].startswith("invalid continue token")


async def test_behaviour_18_a_token_goes_with_no_version_but_any() -> None:
    async with setting() as at:
        now = await at.create("a")
        good = token(v=V1, rv=now, start="/")
        assert names(await at.list(**{"continue": good})) == ["a"]
        assert names(await at.list(resourceVersion=0, **{"continue": good})) == ["a"]
        reply = await at.list(resourceVersion=5, **{"continue": good})
        assert (reply.status_code, "is not allowed when using continue" in reply.text) == (400, True)


@pytest.mark.parametrize(("progress_supported", "reads"), [(True, 0), (False, 6)])
async def test_behaviour_19_a_rare_match_is_found_without_a_token(
    progress_supported: bool, reads: int
) -> None:
    async with setting(progress_supported=progress_supported) as at:
        await at.create(*(f"a{number:02}" for number in range(39)))
        await at.create("z", labels={"app": "x"})
        reply = await at.list(limit=1, labelSelector="app=x")
        assert names(reply) == ["z"]
        assert metadata(reply).keys() == {"resourceVersion"}
        assert at.counted("etcd_requests_total", operation="list") == reads  # 1 + 2 + 4 + ... + 32 >= 40


async def test_behaviour_25_while_it_begins_anew_only_cheap_lists_are_answered() -> None:
    async with setting() as at:
        await at.create("a")
        at.cacher.break_watch(CompactedError(1, 2))
        await settle()
        reply = await at.list()
        assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
        assert reply.json()["reason"] == "TooManyRequests"
        assert reply.json()["message"].startswith(
            "storage is (re)initializing: revision 1 has been compacted"
        )
        assert names(await at.list(limit=5)) == ["a"]
        assert (await at.list(limit=5, labelSelector="a=b")).status_code == 429
        assert (await at.client.get(f"{PODS}/a", params={"resourceVersion": "0"})).status_code == 200
        await at.clock.advance(1.0)
        assert names(await at.list()) == ["a"]


async def test_a_write_is_seen_by_the_next_list_at_once_and_nothing_is_left_on_the_clock() -> None:
    async with setting() as at:
        for name in "abc":
            assert name not in names(await at.list())
            await at.client.post(
                PODS, json={"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            )
            assert name in names(await at.list())
        assert at.clock.next_timer is None


async def test_a_single_object_is_listed_by_its_name() -> None:
    async with setting() as at:
        await at.create("a", "ab")
        assert names(await at.list(fieldSelector="metadata.name=a")) == ["a"]
        assert names(await at.list(fieldSelector="metadata.name=a,status.phase=Running")) == []
        assert names(await at.list("/api/v1/pods", fieldSelector="metadata.name=ab")) == ["ab"]


async def test_selectors_go_by_the_labels_and_fields_of_each_state() -> None:
    async with setting() as at:
        then = await at.create("a", labels={"app": "x"})
        await at.client.patch(
            f"{PODS}/a",
            json={"metadata": {"labels": {"app": "y"}}},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        await settle()
        assert names(await at.list(labelSelector="app=y", fieldSelector="spec.nodeName=")) == ["a"]
        assert names(await at.list(labelSelector="app=x")) == []
        exact: dict[str, Any] = {"resourceVersion": then, "resourceVersionMatch": "Exact"}
        assert names(await at.list(labelSelector="app=x", **exact)) == ["a"]


async def test_a_custom_resource_has_a_cache_as_long_as_it_is_served_as_it_is() -> None:
    async with setting() as at:
        await at.client.post(DEFINITIONS, json=CRD)
        await at.client.post(SITES, json=SITE)
        assert names(await at.list(SITES)) == ["a"]
        cacher = at.server.cacher(SITE_RESOURCE)
        assert len(cacher.content) == 1
        patch = [{"op": "replace", "path": "/spec/versions/0/additionalPrinterColumns", "value": []}]
        definition = f"{DEFINITIONS}/sites.example.dev"
        await at.client.patch(definition, json=patch, headers={"Content-Type": "application/json-patch+json"})
        await settle()
        assert cacher.readiness.is_stopped
        assert at.server.cacher(SITE_RESOURCE) is not cacher
        assert names(await at.list(SITES)) == ["a"]
        watches = at.kv.watches
        await at.client.delete(definition)
        await settle()
        assert at.kv.watches == watches - 1
        with pytest.raises(
            LookupError, match=r"sites of example.dev/v1 are not served: create their definition"
        ):
            at.server.cacher(SITE_RESOURCE)


async def test_there_are_no_caches_of_a_server_that_does_not_run() -> None:
    server = ApiServer(storage=MemoryKV(), clock=FakeClock())
    with pytest.raises(RuntimeError, match="no watch caches while the server does not run"):
        server.cacher(POD)
    async with server:
        server.cacher(POD).break_watch(UnavailableError("cut"))
    with pytest.raises(RuntimeError):
        server.cacher(POD)
