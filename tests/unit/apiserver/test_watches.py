"""Watches over the watch cache, as clients see them. A number is that of the behaviour in the reference's list."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import httpx
import msgspec

from kinformer.apiserver import ApiServer, CacheOptions
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import ListOptions, Target, Verbs
from kinformer.apiserver.storage import CompactedError, MemoryKV, UnavailableError
from kinformer.meta import Resource
from kinformer.testing import AppTransport, FakeClock, settle

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
WATCH_LIST = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
MERGE = {"Content-Type": "application/merge-patch+json"}
LOST = UnavailableError("cut")


class Watch:
    """What a watch has told so far, and how it was answered."""

    def __init__(self) -> None:
        self.status = 0
        self.events: list[Any] = []
        self.reply: Any = None
        self.retry_after = ""
        self.has_ended = False

    @property
    def told(self) -> list[tuple[str, str]]:
        """Types and names; and forget them."""
        events, self.events = self.events, []
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


class Setting:
    """A server, its storage and clock, and watches that are read as fast as they come."""

    def __init__(self, server: ApiServer, client: httpx.AsyncClient, kv: MemoryKV, clock: FakeClock) -> None:
        self.server = server
        self.client = client
        self.kv = kv
        self.clock = clock
        self.cacher = server.cacher(Resource.builtin("ConfigMap"))
        self.tasks = anyio.create_task_group()

    async def create(self, *names: str, path: str = CONFIG_MAPS, **labels: str) -> int:
        """Gives the version of the last."""
        version = 0
        for name in names:
            reply = await self.client.post(path, json={"metadata": {"name": name, "labels": labels}})
            version = int(reply.json()["metadata"]["resourceVersion"])
        await settle()
        return version

    async def change(self, name: str, **labels: str | None) -> int:
        reply = await self.client.patch(
            f"{CONFIG_MAPS}/{name}",
            content=msgspec.json.encode({"metadata": {"labels": labels}}),
            headers=MERGE,
        )
        await settle()
        return int(reply.json()["metadata"]["resourceVersion"])

    async def watch(self, **query: Any) -> Watch:
        """Open one, and read it until the setting ends."""
        watch = Watch()
        self.tasks.start_soon(self._follow, watch, {key: str(value) for key, value in query.items()})
        await settle()
        return watch

    async def _follow(self, watch: Watch, query: dict[str, str]) -> None:
        async with self.client.stream("GET", CONFIG_MAPS, params={"watch": "true", **query}) as response:
            watch.status = response.status_code
            watch.retry_after = response.headers.get("retry-after", "")
            if response.status_code != 200:
                watch.reply = msgspec.json.decode(await response.aread())
                return
            async for line in response.aiter_lines():
                watch.events.append(msgspec.json.decode(line))
        watch.has_ended = True


@asynccontextmanager
async def setting(kv: MemoryKV | None = None, **options: Any) -> AsyncIterator[Setting]:
    clock, kv = FakeClock(), kv or MemoryKV()
    async with (
        ApiServer(storage=kv, clock=clock, random=Random(1), cache=CacheOptions(**options)) as server,
        httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client,
    ):
        at = Setting(server, client, kv, clock)
        async with at.tasks:
            await settle()
            yield at
            at.tasks.cancel_scope.cancel()


async def test_behaviour_20_an_object_enters_and_leaves_a_selection() -> None:
    async with setting() as at:
        watch = await at.watch(labelSelector="a=1", resourceVersion=await at.kv.revision())
        await at.create("x", a="2")
        assert watch.told == []
        await at.change("x", a="1")
        await at.change("x", b="3")
        assert watch.told == [("ADDED", "x"), ("MODIFIED", "x")]
        left = await at.change("x", a="2")
        (gone,) = watch.events
        assert (gone["type"], gone["object"]["metadata"]["labels"]) == ("DELETED", {"a": "1", "b": "3"})
        assert gone["object"]["metadata"]["resourceVersion"] == str(left)
        watch.events.clear()
        await at.client.delete(f"{CONFIG_MAPS}/x")
        assert watch.told == []
        await at.create("y", a="1")
        await at.client.delete(f"{CONFIG_MAPS}/y")
        await settle()
        assert watch.events[1]["type"] == "DELETED"
        assert watch.events[1]["object"]["metadata"]["resourceVersion"] == str(await at.kv.revision())


async def test_behaviour_21_what_the_ring_has_lost_is_an_error_inside_the_stream() -> None:
    async with setting(lowest=5, highest=5) as at:
        versions = [await at.create(name) for name in "abcdefgh"]
        oldest = versions[-5]
        old = await at.watch(resourceVersion=oldest - 2)
        assert (old.status, old.has_ended) == (200, True)
        (error,) = old.events
        assert (error["type"], error["object"]["code"], error["object"]["message"]) == (
            "ERROR",
            410,
            f"too old resource version: {oldest - 2} ({oldest - 1})",
        )
        fine = await at.watch(resourceVersion=oldest - 1)
        assert fine.told == [("ADDED", name) for name in "defgh"]


async def test_behaviour_21_a_version_that_is_to_come_is_met_with_silence() -> None:
    async with setting() as at:
        future = await at.kv.revision() + 3
        watch = await at.watch(resourceVersion=future, allowWatchBookmarks="true")
        await at.clock.advance(10)
        await at.create("a", "b", "c")
        assert (watch.status, watch.told, watch.has_ended) == (200, [], False)
        await at.create("d")
        assert watch.told == [("ADDED", "d")]


async def test_behaviour_22_a_watch_list_shows_the_latest_in_order_then_one_bookmark_then_what_happens() -> (
    None
):
    async with setting() as at:
        await at.create("b", "c", "a")
        written = await at.create("s", path=SECRETS)
        watch = await at.watch(**WATCH_LIST)
        *added, end = watch.events
        assert [event["object"]["metadata"]["name"] for event in added] == ["a", "b", "c"]
        assert int(end["object"]["metadata"]["resourceVersion"]) >= written
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        watch.events.clear()
        await at.create("d")
        (live,) = watch.events
        assert int(live["object"]["metadata"]["resourceVersion"]) > written
        watch.events.clear()
        await at.clock.advance(62)
        (second,) = watch.events
        assert (second["type"], list(second["object"]["metadata"])) == ("BOOKMARK", ["resourceVersion"])


async def test_behaviour_22_a_watch_list_must_say_how_versions_match_and_is_what_no_version_means() -> None:
    async with setting() as at:
        await at.create("a")
        refused = await at.watch(sendInitialEvents="true", allowWatchBookmarks="true")
        assert (refused.status, refused.reply["reason"]) == (422, "Invalid")
        plain = await at.watch(allowWatchBookmarks="true")
        assert plain.events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        unmarked = await at.watch()
        assert unmarked.told == [("ADDED", "a")]


async def test_behaviour_22_without_progress_there_is_no_watch_list_but_old_ways_go_on() -> None:
    async with setting(progress_supported=False) as at:
        await at.create("a")
        refused = await at.watch(**WATCH_LIST)
        (error,) = refused.events
        assert (refused.status, error["type"], refused.has_ended) == (200, "ERROR", True)
        assert error["object"]["message"] == (
            "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
        )
        plain = await at.watch(allowWatchBookmarks="true")
        assert plain.told == [("ADDED", "a")]


async def test_behaviour_22_a_watch_list_waits_for_the_cache_but_not_for_ever() -> None:
    async with setting() as at:
        await at.create("a")
        at.cacher.pause()
        await at.create("b")
        late = await at.watch(**WATCH_LIST)
        vain = await at.watch(**WATCH_LIST)
        await at.clock.advance(2)
        assert (late.status, late.events) == (0, [])
        await at.clock.advance(1.1)
        assert [event["object"]["code"] for event in vain.events] == [504]
        again = await at.watch(**WATCH_LIST)
        at.cacher.resume()
        await settle()
        assert again.told == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]


async def test_behaviour_23_bookmarks_are_kept_back_while_nothing_happens_if_the_server_is_to_do_so() -> None:
    async with setting(repeats_bookmarks=False) as at:
        begun = await at.kv.revision()
        query = {"resourceVersion": begun, "allowWatchBookmarks": "true"}
        watch = await at.watch(timeoutSeconds=100, **query)
        unasked = await at.watch(timeoutSeconds=100, resourceVersion=begun)
        short = await at.watch(timeoutSeconds=1, **query)
        await at.clock.advance(50)
        written = await at.create("s", path=SECRETS)
        await at.clock.advance(11.3)
        (first,) = watch.events
        assert first["object"] == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(written)},
        }
        assert written > begun
        await at.clock.advance(99.3 - 61.3)
        assert (len(watch.events), watch.has_ended) == (2, False)
        await at.clock.advance(1)
        assert (watch.has_ended, unasked.events, short.events) == (True, [], [])
        quiet = await at.watch(timeoutSeconds=100, resourceVersion=written, allowWatchBookmarks="true")
        await at.clock.advance(101)
        assert (quiet.events, quiet.has_ended) == ([], True)


async def test_behaviour_24_a_watch_that_is_not_read_is_ended_and_no_other() -> None:
    kv, registry, clock = MemoryKV(), Registry(), FakeClock()
    verbs = Verbs(
        kv, registry, clock=clock, random=Random(1), cache=CacheOptions(queue_size=10, dispatch_budget=0.0)
    )
    await verbs.bootstrap()
    served = registry.find("", "v1", "configmaps")
    assert served is not None
    options = ListOptions(version=str(await kv.revision()))
    read: list[str] = []

    async def follow(stream: Any) -> None:
        async for events in stream:
            read.extend(event.type for event in events)

    async with anyio.create_task_group() as tasks:
        await tasks.start(verbs.run)
        async with (
            verbs.watch(Target(served), options) as stuck,
            verbs.watch(Target(served), options) as fast,
        ):
            tasks.start_soon(follow, fast)
            for number in range(1000):
                await kv.put(served.key("default", f"{number:04}"), b'{"kind":"ConfigMap","metadata":{}}')
                if number == 20:  # as many as its queues hold
                    await settle()
                    assert verbs.metrics.get(TERMINATED, 0) == 0
            await settle()
            assert (len(read), verbs.metrics[TERMINATED]) == (1000, 1)
            assert sum([len(events) async for events in stuck]) == 11
        tasks.cancel_scope.cancel()


TERMINATED = 'apiserver_watch_cache_terminated_watchers_total{group="",resource="configmaps"}'


async def test_behaviour_25_what_the_cache_has_lost_ends_all_its_watches_and_the_past() -> None:
    async with setting() as at:
        before = await at.create("a")
        plain, state = await at.watch(resourceVersion=before), await at.watch()
        at.cacher.break_watch(CompactedError(1, 2))
        await settle()
        assert (plain.has_ended, state.has_ended, plain.told) == (True, True, [])
        await at.clock.advance(0.5)
        busy = await at.watch(resourceVersion=before)
        assert (busy.status, busy.reply["reason"], busy.retry_after) == (429, "TooManyRequests", "1")
        assert busy.reply["message"].startswith("storage is (re)initializing")
        relisted = await at.create("s", path=SECRETS)
        await at.clock.advance(0.6)
        fine = await at.watch(resourceVersion=relisted)
        old = await at.watch(resourceVersion=relisted - 1)
        assert [event["object"]["code"] for event in old.events] == [410]
        await at.create("b")
        assert fine.told == [("ADDED", "b")]


async def test_behaviour_25_the_longer_a_cache_is_gone_the_later_watches_are_to_come_again() -> None:
    async with setting() as at:
        await at.create("a")

        async def fail(*_: Any, **__: Any) -> Any:
            raise LOST

        at.cacher._kv.range = fail  # type: ignore[method-assign]
        at.cacher.break_watch(LOST)
        await at.clock.advance(14)
        assert (await at.watch()).retry_after == "2"


async def test_a_cache_that_is_made_late_knows_the_past() -> None:
    async with setting() as at:
        service_accounts = "/api/v1/namespaces/default/serviceaccounts"
        created = await at.create("late", path=service_accounts)
        await at.create("s", path=SECRETS)
        await at.create("later", path=service_accounts)
        events: list[Any] = []

        async def follow() -> None:
            query = {"watch": "true", "resourceVersion": str(created)}
            async with at.client.stream("GET", service_accounts, params=query) as response:
                events.extend([msgspec.json.decode(await anext(response.aiter_lines()))])

        at.tasks.start_soon(follow)
        await settle()
        assert [event["object"]["metadata"]["name"] for event in events] == ["later"]


async def test_a_watch_of_one_object_hears_of_no_other() -> None:
    async with setting() as at:
        await at.create("a", "b")
        watch = await at.watch(fieldSelector="metadata.name=b")
        await at.change("a", x="1")
        await at.change("b", x="1")
        assert watch.told == [("ADDED", "b"), ("MODIFIED", "b")]


async def test_a_watch_from_a_version_hears_of_its_own_namespace_only() -> None:
    async with setting() as at:
        begun = await at.kv.revision()
        await at.create("elsewhere", path="/api/v1/namespaces/kube-system/configmaps")
        await at.create("here")
        watch = await at.watch(resourceVersion=begun)
        assert watch.told == [("ADDED", "here")]


async def test_an_idle_server_has_no_timers_and_a_quiet_watch_costs_one_a_minute() -> None:
    async with setting() as at:
        await at.create("a")
        watch = await at.watch(allowWatchBookmarks="true", timeoutSeconds=7200)
        wakes = 0
        moment = at.clock.monotonic()
        while (due := at.clock.next_timer) is not None and due < moment + 3600:
            await at.clock.advance(due - at.clock.monotonic())
            wakes += 1
        assert wakes <= 62
        assert [kind for kind, _ in watch.told].count("BOOKMARK") >= 58


class SlowToSay(MemoryKV):
    """Storage that takes its time to say how far it is, for as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = anyio.Event()
        self.answers.set()

    async def revision(self) -> int:
        await self.answers.wait()
        return await super().revision()


async def test_a_cache_that_is_lost_while_a_watch_is_opened_sends_its_client_away() -> None:
    kv = SlowToSay()
    async with setting(kv) as at:
        await at.create("a")
        kv.answers = anyio.Event()
        watch = await at.watch(sendInitialEvents="false", resourceVersionMatch="NotOlderThan")
        assert watch.status == 0
        at.cacher.break_watch(LOST)
        await settle()
        kv.answers.set()
        await settle()
        assert (watch.status, watch.events) == (429, [])
