from typing import Any

import anyio
import pytest

from kinformer.controller import Controller, Manager, Request, Trigger
from kinformer.controller._triggers import checked_events, cluster_of
from kinformer.meta import ObjectKey, Resource
from kinformer.testing import Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
KEY = ObjectKey("default", "a")


async def quiet(trigger: Trigger) -> None: ...


def plain(trigger: Trigger) -> None: ...


class Diary:
    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def reconcile(self, request: Request) -> None:
        self.requests.append(request)

    def told(self) -> list[tuple[str, list[str]]]:
        return [(request.key.name, [str(reason) for reason in request.reasons]) for request in self.requests]


async def test_what_it_triggers_is_reconciled_at_once_or_later() -> None:
    diary = Diary()

    async def messages(trigger: Trigger) -> None:
        trigger(ObjectKey("default", "now"))
        trigger(ObjectKey("default", "later"), delay=60)

    controller = Controller("maps", diary.reconcile).watches(CONFIG_MAPS).listens_to(messages)
    async with Cluster() as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await settle()
            assert diary.told() == [("now", ["triggered"])]
            await cluster.clock.advance(60)
            assert diary.told()[1:] == [("later", ["triggered"])]
            manager.stop()


async def test_it_is_cancelled_when_the_workers_have_stopped() -> None:
    gate, ended = anyio.Event(), list[bool]()

    async def reconcile(request: Request) -> None:
        await gate.wait()

    async def messages(trigger: Trigger) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(gate.is_set())

    controller = Controller("maps", reconcile).watches(CONFIG_MAPS).listens_to(messages)
    async with Cluster(config_map("a")) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await settle()
            manager.stop()
            await settle()
            assert not ended
            gate.set()
    assert ended == [True]


async def test_its_error_ends_the_manager() -> None:
    async def messages(trigger: Trigger) -> None:
        raise ConnectionError("the broker is gone")

    controller = Controller("maps", Diary().reconcile).watches(CONFIG_MAPS).listens_to(messages)
    async with Cluster() as cluster:
        with pytest.raises(ConnectionError, match="the broker is gone"):
            await Manager(controller, clients=cluster.client, clock=cluster.clock).run()


async def test_it_does_not_run_before_the_caches_are_filled() -> None:
    begun: list[bool] = []

    async def messages(trigger: Trigger) -> None:
        begun.append(True)

    controller = Controller("sites", Diary().reconcile).watches(WEBSITES).listens_to(messages)
    async with Cluster() as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await cluster.clock.advance(20)
            manager.stop()
    assert not begun


@pytest.mark.parametrize("wrong", [plain, None, "events"])
def test_what_is_not_async_is_refused(wrong: Any) -> None:
    assert checked_events(quiet) is quiet
    with pytest.raises(TypeError, match="listens_to takes an 'async def' of one trigger, not"):
        Controller("maps").listens_to(wrong)


def test_the_cluster_need_not_be_said_where_there_is_one() -> None:
    assert cluster_of(KEY, "", {""}) == ""
    assert cluster_of(KEY, "", {"east"}) == "east"
    assert cluster_of(KEY, "west", {"east", "west"}) == "west"


@pytest.mark.parametrize("cluster", ["", "north"])
def test_a_cluster_that_is_not_there_is_told(cluster: str) -> None:
    with pytest.raises(ValueError, match=f"cluster='{cluster}' must be one of 'east', 'west'"):
        cluster_of(KEY, cluster, {"east", "west"})


def test_text_is_no_key() -> None:
    with pytest.raises(TypeError, match="must be given an ObjectKey"):
        cluster_of("default/a", "", {""})  # type: ignore[arg-type]
