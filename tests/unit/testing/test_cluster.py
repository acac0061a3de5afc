"""Cluster: everything in one event loop, on a clock that moves only while somebody waits for it."""

import asyncio
import sys
from typing import Any

import anyio
import pytest

from kinformer.apiserver import Rbac
from kinformer.controller import Controller, Item, Manager, Request
from kinformer.errors import AlreadyExistsError, ForbiddenError, NotFoundError
from kinformer.hooks import NoHooks, ReconcileFinished
from kinformer.meta import Object, Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map, custom_object, custom_resource_definition, pod, settle

WEBSITES = Resource("example.dev", "v1", "websites", "Website")
PODS = Resource.builtin("Pod")
CONFIG_MAPS = Resource.builtin("ConfigMap")
CRD = custom_resource_definition(WEBSITES)


async def mirror(request: Request) -> None:
    """For each Website a ConfigMap of the same name."""
    site = request.lister(WEBSITES).get(request.key)
    if site is not None:
        content = {
            "metadata": {"name": request.key.name, "namespace": request.key.namespace},
            "data": site["spec"],
        }
        await request.client.resource(CONFIG_MAPS).apply(content, field_manager="mirror")


def mirroring() -> Controller:
    return Controller("mirror", mirror).watches(WEBSITES)


class Heard(NoHooks):
    """Hooks of the test's own."""

    def __init__(self) -> None:
        self.events: list[ReconcileFinished] = []

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        self.events.append(event)


async def others() -> set[str]:
    """The tasks that there are besides the test's own."""
    await settle()
    return {task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}}


async def test_objects_are_there_from_the_start_with_their_status() -> None:
    site = custom_object(WEBSITES, "hello", spec={"html": "hi"}) | {"status": {"url": "u"}}
    async with Cluster(CRD, site, pod("web", phase="Running")) as cluster:
        found = await cluster.client.resource(WEBSITES).get("default/hello")
        assert (found["spec"], found["status"]) == ({"html": "hi"}, {"url": "u"})
        assert (await cluster.client.resource(PODS).get("default/web"))["status"]["phase"] == "Running"


async def test_what_is_not_installed_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kinformer.apiserver", None)
    with pytest.raises(ImportError, match=r"needs kinformer.apiserver, .*: pip install 'kinformer\[test\]'"):
        await Cluster().__aenter__()


async def test_objects_of_a_cache_and_objects_without_a_namespace_are_taken_too() -> None:
    homeless = config_map("settings")
    del homeless["metadata"]["namespace"]
    async with Cluster(Object.from_mapping(pod("web"), PODS), homeless) as cluster:
        assert (await cluster.client.resource(PODS).get("default/web")).metadata.uid
        assert (await cluster.client.resource(CONFIG_MAPS).get("default/settings")).metadata.uid


async def test_an_object_of_a_kind_that_is_not_served_is_refused_and_nothing_is_left() -> None:
    before = await others()
    with pytest.raises(LookupError, match=r"serves no Website of example\.dev/v1: create its CustomResource"):
        async with Cluster(custom_object(WEBSITES, "hello")):
            raise AssertionError("it was entered")
    assert await others() == before


async def test_an_object_without_a_kind_is_refused() -> None:
    with pytest.raises(LookupError, match="needs apiVersion and kind"):
        async with Cluster({"metadata": {"name": "x"}}):
            raise AssertionError("it was entered")


async def test_what_the_server_refuses_comes_out_as_its_own_error() -> None:
    with pytest.raises(AlreadyExistsError):
        async with Cluster(pod("web"), pod("web")):
            raise AssertionError("it was entered")


async def test_an_error_of_the_block_comes_out_as_it_is_and_nothing_is_left() -> None:
    before = await others()
    with pytest.raises(KeyError, match="my own"):
        async with Cluster(CRD) as cluster, cluster.running(mirroring()):
            raise KeyError("my own")
    assert await others() == before


async def test_a_block_that_is_cancelled_leaves_nothing() -> None:
    before = await others()
    async with anyio.create_task_group() as tasks:

        async def block() -> None:
            async with Cluster(CRD) as cluster, cluster.running(mirroring()):
                tasks.cancel_scope.cancel()
                await anyio.sleep_forever()

        tasks.start_soon(block)
    assert await others() == before


@pytest.mark.parametrize("turns", [1, 3, 10, 30, 100, 200])
async def test_an_entry_that_is_cancelled_leaves_nothing(turns: int) -> None:
    before = await others()
    async with anyio.create_task_group() as tasks:

        async def block() -> None:
            async with Cluster(CRD, pod("web")) as cluster, cluster.running(mirroring()):
                await anyio.sleep_forever()

        tasks.start_soon(block)
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert await others() == before


async def test_controllers_run_with_their_caches_synced() -> None:
    async with Cluster(CRD, custom_object(WEBSITES, "hello", spec={"html": "hi"})) as cluster:
        maps = cluster.client.resource(CONFIG_MAPS)

        async def is_mirrored() -> bool:
            return bool((await maps.get("default/hello"))["data"] == {"html": "hi"})

        async with cluster.running(mirroring()):
            await cluster.until(is_mirrored)
        await maps.delete("default/hello")
        with pytest.raises(TimeoutError):  # nobody is there any more to put it back
            await cluster.until(is_mirrored)


async def test_caches_that_do_not_sync_are_not_waited_for_for_ever() -> None:
    async with Cluster() as cluster:
        expected = r"not started within 30 s: mirror waits for its cache of websites\.example\.dev: .*CustomResourceDef"
        with pytest.raises(TimeoutError, match=expected):
            async with cluster.running(mirroring()):
                raise AssertionError("it was entered")


async def test_a_reconcile_that_hangs_is_cancelled_when_the_grace_is_over() -> None:
    ended: list[float] = []

    async def hang(_: Request) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(cluster.clock.monotonic())

    async with Cluster(pod("web")) as cluster:
        async with cluster.running(Controller("hang", hang).watches(PODS), grace=3):
            await settle()
            left = cluster.clock.monotonic()
        assert ended == [left + 3]


async def test_leaving_takes_no_time_when_nothing_runs_and_lets_a_reconcile_finish() -> None:
    finished: list[float] = []

    async def work(_: Request) -> None:
        await cluster.clock.sleep(2)
        finished.append(cluster.clock.monotonic())

    async with Cluster() as cluster:
        controller = Controller("work", work).watches(PODS)
        async with cluster.running(controller, grace=3):
            start = cluster.clock.monotonic()
        assert cluster.clock.monotonic() == start
        await cluster.create(pod("web"))
        async with cluster.running(controller, grace=3):
            await settle()
            start = cluster.clock.monotonic()
        assert finished == [start + 2]
        assert cluster.clock.monotonic() == start + 2


async def test_a_clean_up_that_takes_time_gets_it_when_the_block_fails() -> None:
    cleaned: list[bool] = []

    async def work(_: Request) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await cluster.clock.sleep(1)
                cleaned.append(True)

    async with Cluster(pod("web")) as cluster:

        async def block() -> None:
            async with cluster.running(Controller("work", work).watches(PODS)):
                await settle()
                raise KeyError("my own")

        with pytest.raises(KeyError, match="my own"):
            await block()
    assert cleaned == [True]


class Broken:
    """A limiter with a bug: the fault of nobody but whoever wrote it, so it must not be retried."""

    def delay(self, key: Item) -> float:
        raise ZeroDivisionError(f"no delay for {key}")

    def forget(self, key: Item) -> None: ...

    def requeues(self, key: Item) -> int:
        return 0


async def test_a_crash_of_a_controller_ends_the_block_at_once_with_its_error() -> None:
    async def fail(_: Request) -> None:
        raise ValueError("a failing reconcile is tried again, by the limiter")

    controller = Controller("broken", fail, limiter=Broken()).watches(PODS)
    async with Cluster() as cluster:

        async def block() -> None:
            async with cluster.running(controller):
                await cluster.create(pod("web"))
                await anyio.sleep_forever()

        with pytest.raises(ZeroDivisionError, match="no delay for default/web"):
            await block()


async def test_a_wait_that_fails_names_the_claim_and_what_there_is() -> None:
    async with Cluster(CRD, pod("web"), pod("db")) as cluster:

        async def has_website() -> bool:
            return bool(await cluster.client.resource(WEBSITES).get("default/hello"))

        with pytest.raises(TimeoutError) as raised:
            await cluster.until(has_website, timeout=2)
    text = str(raised.value)
    assert "not true within 2 fake seconds: " in text
    assert "has_website" in text
    assert "test_cluster.py:" in text
    assert "pods: default/db, default/web" in text
    assert isinstance(raised.value.__cause__, NotFoundError)


async def test_a_wait_that_fails_names_the_reconciles_that_failed_last() -> None:
    problem, heard = LookupError("no such thing"), Heard()

    async def fail_for_web(request: Request) -> None:
        if request.key.name == "web" or request.attempt == 1:
            raise problem

    controller = Controller("picky", fail_for_web).watches(PODS)
    async with Cluster(pod("web"), pod("db"), hooks=heard) as cluster, cluster.running(controller):
        with pytest.raises(TimeoutError) as raised:
            await cluster.until(lambda: False, timeout=2)
    assert "reconciles failed:\n  picky, default/web: LookupError('no such thing')\n" in str(raised.value)
    assert "picky, default/db" not in str(raised.value)
    assert raised.value.__cause__ is problem
    assert {str(event.key) for event in heard.events} == {"default/web", "default/db"}


async def test_time_moves_in_until_and_advance_only() -> None:
    async with Cluster(CRD) as cluster, cluster.running(mirroring()):
        start = cluster.clock.monotonic()
        await cluster.create(pod("web"))
        assert cluster.clock.monotonic() == start
        await cluster.advance(2.5)
        assert cluster.clock.monotonic() == start + 2.5
        await cluster.until(lambda: cluster.clock.monotonic() >= start + 4)


async def test_a_cluster_may_go_by_the_real_time() -> None:
    async with Cluster(CRD, clock=SystemClock()) as cluster, cluster.running(mirroring()):
        await cluster.create(custom_object(WEBSITES, "hello", spec={"html": "hi"}))

        async def is_mirrored() -> bool:
            return bool(await cluster.client.resource(CONFIG_MAPS).get("default/hello"))

        await cluster.until(is_mirrored)
        await cluster.advance(0.001)
        with pytest.raises(RuntimeError, match="goes by the SystemClock"):
            _ = cluster.clock


async def test_two_clusters_draw_the_same_uids() -> None:
    uids = []
    for _ in range(2):
        async with Cluster(pod("web")) as cluster:
            uids.append((await cluster.client.resource(PODS).get("default/web")).metadata.uid)
    assert uids[0] == uids[1]


async def test_a_cluster_is_entered_once_and_used_inside() -> None:
    cluster = Cluster()
    for use in (lambda: cluster.server, lambda: cluster.client):
        with pytest.raises(RuntimeError, match="enter it with 'async with'"):
            use()
    async with cluster:
        pass
    with pytest.raises(RuntimeError, match="make a new one"):
        async with cluster:
            raise AssertionError("it was entered")


async def test_the_fixture_gives_an_empty_cluster(cluster: Cluster) -> None:
    await cluster.create(pod("web"))

    async def is_there() -> bool:
        return bool((await cluster.client.resource(PODS).list()).items)

    await cluster.until(is_there)


async def test_the_fixture_gives_a_new_one_each_time(cluster: Cluster) -> None:
    found: Any = (await cluster.client.resource(PODS).list()).items
    assert found == ()


async def test_what_is_no_controller_is_refused_by_name() -> None:
    manager: Any = Manager(mirroring())
    async with Cluster() as cluster:
        with pytest.raises(TypeError, match="a manager runs Controllers, not <"):
            async with cluster.running(manager):
                raise AssertionError("it ran")


async def test_where_roles_decide_its_client_is_an_administrator_and_an_account_is_not() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "cart"}}
    async with Cluster(pod("web"), account, auth=Rbac()) as cluster:
        assert (await cluster.client.resource(PODS).get("default/web")).metadata.name == "web"
        async with cluster.account("default/cart") as client:
            with pytest.raises(ForbiddenError, match="system:serviceaccount:default:cart"):
                await client.resource(PODS).list()


async def test_who_is_no_account_gets_no_client() -> None:
    async with Cluster(auth=Rbac()) as cluster:
        with pytest.raises(NotFoundError, match="cart"):
            async with cluster.account("default/cart"):
                raise AssertionError


async def test_controllers_run_on_the_client_that_they_are_given() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "cart"}}
    async with Cluster(CRD, account, auth=Rbac()) as cluster, cluster.account("default/cart") as client:
        with pytest.raises(TimeoutError, match="refuses to show it"):
            async with cluster.running(mirroring(), client=client, timeout=3):
                raise AssertionError
