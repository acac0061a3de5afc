import anyio
import pytest

from kinformer.controller import Controller, Manager, Request
from kinformer.hooks import KeyTriggered, NoHooks, ReconcileFinished, ReconcileResult, ReconcileStarted
from kinformer.meta import ObjectKey, Resource
from kinformer.observe import Reconciling, reconciling
from kinformer.testing import Cluster, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Memory(NoHooks):
    def __init__(self) -> None:
        self.triggered: list[KeyTriggered] = []
        self.heard: list[ReconcileStarted | ReconcileFinished] = []

    def key_triggered(self, event: KeyTriggered, /) -> None:
        self.triggered.append(event)

    def reconcile_started(self, event: ReconcileStarted, /) -> None:
        self.heard.append(event)

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        self.heard.append(event)


async def test_each_call_that_starts_is_told_to_finish_under_its_own_id() -> None:
    hooks, seen = Memory(), list[tuple[Reconciling | None, Request]]()

    async def reconcile(request: Request) -> None:
        seen.append((reconciling.get(), request))
        if request.attempt == 1:
            raise ValueError("once")
        if request.attempt == 2:
            await anyio.sleep_forever()

    async with Cluster(config_map("a")) as cluster:
        maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
        manager = Manager(maps, clients={"east": cluster.client}, clock=cluster.clock, hooks=hooks, grace=1.0)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: len(seen) == 2)
            manager.stop()
            await cluster.advance(1.0)
    first, failed, second, cut = hooks.heard
    key = ObjectKey("default", "a")
    assert isinstance(first, ReconcileStarted)
    assert first == ReconcileStarted(
        "maps", "east", key, 1, first.reconcile_id, ("ConfigMap default/a listed",)
    )
    assert isinstance(failed, ReconcileFinished)
    assert (failed.result, failed.cluster) == (ReconcileResult.ERROR, "east")
    assert isinstance(cut, ReconcileFinished)
    assert (cut.result, cut.error, cut.key) == (ReconcileResult.CANCELLED, None, key)
    assert cut.duration == pytest.approx(1.0)
    ids = [each.reconcile_id for each in hooks.heard]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert seen[0][0] == Reconciling("maps", "east", "default/a", ids[0], 1)
    assert [request.reconcile_id for _, request in seen] == [ids[0], second.reconcile_id]
    assert reconciling.get() is None


async def test_what_makes_a_controller_look_at_a_key_is_told_with_the_object_to_which_it_happened() -> None:
    hooks = Memory()

    async def reconcile(request: Request) -> None:
        assert reconciling.get() is not None

    async with Cluster(config_map("a"), hooks=hooks) as cluster:
        maps = Controller("maps", reconcile).watches(CONFIG_MAPS, map=lambda _: ObjectKey("x", "y"))
        async with cluster.running(maps.watches(Resource.builtin("Pod"))):
            await cluster.client.resource(CONFIG_MAPS).delete("default/a")
            await cluster.until(lambda: len(hooks.triggered) == 2)
    owner = ("maps", "", ObjectKey("x", "y"))
    assert hooks.triggered == [
        KeyTriggered(*owner, "listed", "configmaps", "default/a"),
        KeyTriggered(*owner, "deleted", "configmaps", "default/a"),
    ]
