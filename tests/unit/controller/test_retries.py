"""What a controller's own retry policy does with keys that fail: backoff, events in the middle of it, parking."""

import logging
from random import Random

import anyio
import pytest

from kinformer.controller import Controller, Manager, Request
from kinformer.controller._history import History
from kinformer.controller._worker import Item, Workers
from kinformer.hooks import NoHooks
from kinformer.meta import ObjectKey, Resource
from kinformer.testing import Cluster, FakeClock, config_map, settle
from kinformer.workqueue import LOW_PRIORITY, PriorityReady, WorkQueue, controller_default
from tests.unit.controller.worker_stage import NO_CLIENT

CONFIG_MAPS = Resource.builtin("ConfigMap")
A, B = (Item("", ObjectKey("default", name)) for name in "ab")


class Scene:
    """Workers with a controller's queue, and a reconciler that fails until it is told not to."""

    def __init__(self, attempts: int) -> None:
        self.clock = FakeClock()
        self.moments: list[float] = []
        self.attempts: list[int] = []
        self.is_broken = True
        limiter = controller_default(Random(1), clock=self.clock, attempts=attempts)
        self.queue = WorkQueue[Item]("site", ready=PriorityReady(), limiter=limiter, clock=self.clock)
        self.history = History[Item]()
        self.workers = Workers(
            "site",
            self.reconcile,
            self.queue,
            lambda item, attempt: Request(
                item.cluster,
                item.key,
                NO_CLIENT,
                attempt,
                self.history.last_error(item),
                self.history.take(item),
            ),
            self.history,
            count=1,
            timeout=60,
            clock=self.clock,
            hooks=NoHooks(),
        )

    async def reconcile(self, request: Request) -> None:
        self.moments.append(self.clock.monotonic())
        self.attempts.append(request.attempt)
        if self.is_broken:
            raise ValueError("no luck")


async def test_a_key_that_fails_too_often_is_parked_and_an_event_gives_it_all_its_attempts_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene(attempts=3)
    scene.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.workers.run)
        await scene.clock.advance(10_000)
        assert scene.attempts == [1, 2, 3]
        (parked,) = scene.queue.snapshot().parked
        assert (parked.key, parked.attempts, parked.error) == (A, 3, "ValueError: no luck")
        assert parked.since == scene.moments[-1]
        assert (
            "site: reconcile of default/a failed, attempt 3; it is parked: ValueError('no luck')"
            in caplog.messages
        )
        scene.queue.add(A)
        await scene.clock.advance(10_000)
        assert scene.attempts == [1, 2, 3, 1, 2, 3]
        scene.is_broken = False
        scene.queue.add(A, priority=LOW_PRIORITY)
        await settle()
        assert scene.attempts[6:] == [1]
        assert scene.queue.snapshot().parked == ()
        scene.workers.stop(0)


async def test_an_event_in_the_middle_of_a_wait_runs_the_key_at_once_and_does_not_lengthen_the_wait() -> None:
    noisy, quiet = Scene(attempts=9), Scene(attempts=9)
    for scene in (noisy, quiet):
        scene.queue.add(A)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.workers.run)
            for _ in range(40):
                await scene.clock.advance(0.05)
                if scene is noisy:
                    scene.queue.add(A)
                    await settle()
                    assert scene.moments[-1] == scene.clock.monotonic()
            scene.workers.stop(0)
    assert len(noisy.moments) > 40
    assert noisy.queue.requeues(A) == quiet.queue.requeues(A) == len(quiet.moments)
    for planned in quiet.moments:
        assert planned in [pytest.approx(moment) for moment in noisy.moments]


async def test_an_event_in_the_middle_of_the_last_attempt_keeps_the_key_from_being_parked() -> None:
    scene = Scene(attempts=1)
    go_on = anyio.Event()

    async def reconcile(request: Request) -> None:
        await go_on.wait()
        await scene.reconcile(request)

    scene.workers._reconcile = reconcile
    scene.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.workers.run)
        await settle()
        scene.queue.add(A)
        go_on.set()
        await settle()
        assert len(scene.moments) == 2
        assert scene.queue.parked == 1, (
            "the second run was the last attempt again, and nothing happened meanwhile"
        )
        scene.workers.stop(0)


async def test_a_retried_key_keeps_its_priority() -> None:
    scene = Scene(attempts=9)
    scene.queue.add(A, priority=LOW_PRIORITY)
    scene.queue.add(B)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.workers.run)
        await settle()
        delayed = scene.queue.snapshot().delayed
        assert {entry.key: entry.priority for entry in delayed} == {A: LOW_PRIORITY, B: 0}
        scene.workers.stop(0)


async def test_an_object_that_changes_is_reconciled_before_those_that_were_merely_listed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kinformer.controller")
    seen: list[str] = []
    gate = anyio.Event()

    async def reconcile(request: Request) -> None:
        seen.append(request.key.name)
        await gate.wait()

    controller = Controller("site", reconcile, workers=1).watches(CONFIG_MAPS)
    async with Cluster(*(config_map(f"c{number}") for number in range(6))) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await settle()
            await cluster.client.resource(CONFIG_MAPS).create(config_map("new"))
            await settle()
            gate.set()
            await cluster.until(lambda: len(seen) == 7)
            manager.stop()
    assert seen == ["c0", "new", "c1", "c2", "c3", "c4", "c5"]


async def test_the_queue_of_a_controller_remembers_no_failure_of_an_object_that_is_gone() -> None:
    scene = Scene(attempts=9)
    items = [Item("", ObjectKey("default", f"c{number}")) for number in range(100)]
    for item in items:
        scene.queue.add(item)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.workers.run)
        await settle()
        assert all(scene.queue.requeues(item) == 1 for item in items)
        scene.is_broken = False
        await scene.clock.advance(1.0)
        assert not any(scene.queue.requeues(item) for item in items)
        assert len(scene.queue._failing) == 0
        scene.workers.stop(0)
