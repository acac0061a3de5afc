"""Work queues, controllers and what runs them, cancelled wherever they wait: keys are put down, signals are as before."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import anyio
import httpx
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer
from kinformer.client import Client, Kubeconfig
from kinformer.controller import (
    Applier,
    Controller,
    EventRecorder,
    LeaderElection,
    Manager,
    Request,
    Trigger,
    add_finalizer,
    remove_finalizer,
    serve,
)
from kinformer.controller._signals import SIGNALS
from kinformer.meta import Object, ObjectKey
from kinformer.tasks import has_cancellation
from kinformer.testing import Cluster, FakeClock, config_map, settle
from kinformer.workqueue import WorkQueue
from tests.scenario.cancelling.pipeline import cancel_this_task
from tests.scenario.cancelling.sweep import Sweep, processes
from tests.scenario.cancelling.world import CONFIG_MAPS, NAMESPACES, WIDGETS, begin_caches


async def queues(sweep: Sweep) -> None:
    """Two workers and somebody who drains; no key is lost, and none stays in hand."""
    clock = FakeClock()
    queue: WorkQueue[str] = WorkQueue(clock=clock)

    async def work() -> None:
        queue.add("first")
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(take_all, queue)
            await settle()
            for number in range(70):  # more than may be taken without giving the loop a turn
                queue.add(str(number))
            queue.add_after("late", 1.0)
            await queue.drain()
            await clock.advance(1.0)
            tasks.cancel_scope.cancel()

    async def empty() -> None:
        """What was in hand is there again, and can be taken."""
        await clock.advance(1.0)
        while len(queue):
            queue.done(await queue.get())
        assert not queue._sleeping
        await queue.drain()

    await sweep.of(work, whole=empty)


async def take_all(queue: WorkQueue[str]) -> None:
    async for lease in queue:
        with lease:
            await checkpoint()


class Reconciled:
    """A reconciler that does something else each time."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.begin()

    def begin(self) -> None:
        self.calls = count()
        self.has_seen_all = False

    async def __call__(self, request: Request) -> None:
        match next(self.calls):
            case 0:
                await request.client.resource(CONFIG_MAPS).get(request.key)
            case 1:
                cancel_this_task()
                await checkpoint()
            case 2:
                cancel_this_task()
                for _ in range(2):
                    with suppress(anyio.get_cancelled_exc_class()):
                        await self.cluster.clock.sleep(0.0)
            case 3:
                await self.cluster.clock.sleep(1000.0)  # longer than it may take
            case 4:
                self.has_seen_all = True
            case _:
                await self.cluster.clock.sleep(1.0)


async def managers(sweep: Sweep) -> None:
    """Reconcilers that fail in all ways, that are stopped in the middle, and a cache that never fills."""
    async with Cluster(config_map("a"), config_map("b")) as cluster:
        await begin_caches(cluster.server)
        reconciled = Reconciled(cluster)
        controller = Controller("c", reconciled, timeout=5.0).watches(CONFIG_MAPS)
        other = Controller("other", let_be).watches(CONFIG_MAPS)
        manager = Manager(controller, other, clients=cluster.client, clock=cluster.clock)

        async def stop() -> None:
            await cluster.until(lambda: reconciled.has_seen_all, timeout=1000.0)
            await settle()
            manager.stop()
            await cluster.advance(1.0)

        async def reconcile() -> None:
            """Always the same manager, which may run again whatever became of it."""
            reconciled.begin()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop)
                await manager.run()

        async def fail() -> None:
            """A part fails before the caches are full."""
            flawed = Controller("c", never_called).watches(WIDGETS)  # which the server does not know
            try:
                await Manager(flawed, clients=cluster.client, clock=cluster.clock, random=Flawed()).run()
            except LookupError:
                if has_cancellation():  # both came at once, and a failure goes before
                    raise asyncio.CancelledError from None

        for work in (reconcile, fail):
            await sweep.of(work, held=lambda: (cluster.clock.next_timer, cluster.server.app.open_watches))


async def let_be(request: Request) -> None:
    """Nothing to do."""


async def never_called(request: Request) -> None:
    raise AssertionError


class Flawed(Random):
    """Chance with a bug in it."""

    def random(self) -> float:
        raise LookupError("a bug")


class Service:
    """What a manager runs besides controllers; it takes a moment to end."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._closed = anyio.Event()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        self._closed = anyio.Event()
        await checkpoint()
        task_status.started()
        await self._closed.wait()
        await self._cluster.clock.sleep(0.1)

    def close(self) -> None:
        self._closed.set()


async def preflights(sweep: Sweep) -> None:
    """By themselves, and of a manager that begins."""
    async with Cluster(config_map("a")) as cluster:
        await begin_caches(cluster.server)

        async def look() -> None:
            declared = Controller("c", Reads()).watches(CONFIG_MAPS).reads(NAMESPACES)
            await Manager(declared, clock=cluster.clock).preflight(cluster.client)

        async def begin() -> None:
            declared = Controller("c", Reads()).watches(CONFIG_MAPS).reads(NAMESPACES)
            manager = Manager(declared, clients=cluster.client, clock=cluster.clock, preflight=True)
            async with anyio.create_task_group() as tasks:
                await tasks.start(manager.run)
                await settle()
                manager.stop()

        await sweep.of(look)
        await sweep.of(begin)


async def operators(sweep: Sweep) -> None:
    """A manager with an election and all that it can run, whose reconcilers write, tell, and wait to read it."""
    async with Cluster(config_map("a")) as cluster:
        await begin_caches(cluster.server)
        applier, numbers = Applier("o"), count()
        seen: list[str] = []

        async def write(request: Request) -> None:
            found = request.lister(CONFIG_MAPS).get(request.key)
            if found is not None and request.key.name == "a":
                for _ in range(2):
                    request.event(found, "Seen")
                    await settle_events(cluster)
                wanted = {"metadata": {"name": f"b{next(numbers)}", "namespace": "default"}}
                await applier.create_or_apply(request, CONFIG_MAPS, wanted)
                seen.append("written")

        def look(request: Request) -> None:
            seen.append("looked")

        async def listen(trigger: Trigger) -> None:
            trigger(ObjectKey("default", "a"))
            await anyio.sleep_forever()

        async def operate() -> None:
            seen.clear()
            controllers = [
                Controller("o", write, consistency="barrier").watches(CONFIG_MAPS).listens_to(listen),
                Controller("plain", look).watches(CONFIG_MAPS),
            ]
            manager = Manager(
                *controllers,
                clients=cluster.client,
                clock=cluster.clock,
                election=LeaderElection("o", identity=f"i{next(numbers)}"),
                servers=[Service(cluster)],
                others=[Service(cluster)],
                leading=[Service(cluster)],
            )

            async def stop() -> None:
                await cluster.until(lambda: {"written", "looked"} <= set(seen), timeout=1000.0)
                manager.stop()
                await cluster.advance(20.0)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop)
                await manager.run()

        await sweep.of(operate, held=lambda: cluster.server.app.open_watches)


async def settle_events(cluster: Cluster) -> None:
    """Give the recorder a moment to write what was told."""
    await cluster.clock.sleep(0.1)


async def recorders(sweep: Sweep) -> None:
    """Events to a server that is overloaded at first."""
    async with Cluster() as cluster:
        page = Object.from_mapping(config_map("page"), CONFIG_MAPS)

        async def record() -> None:
            recorder = EventRecorder(cluster.client, "r", clock=cluster.clock)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(recorder.run)
                for _ in range(2):
                    recorder.event(page, "Seen")
                    await cluster.advance(1.0)
                recorder.close()

        async def hesitate() -> None:
            """A client that is not entered cannot reach anything: each try fails, and there is a pause before the next."""
            async with Client("http://nowhere.invalid", transport=Refusing(), clock=cluster.clock) as client:
                recorder = EventRecorder(client, "r")
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(recorder.run)
                    recorder.event(page, "Seen")
                    await cluster.advance(200.0)
                    recorder.close()

        for work in (record, hesitate):
            await sweep.of(work, held=lambda: cluster.clock.next_timer)


class Refusing(httpx.AsyncBaseTransport):
    """No server is there."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there")


async def finalizers(sweep: Sweep) -> None:
    async with Cluster() as cluster:
        maps, numbers = cluster.client.resource(CONFIG_MAPS), count()

        async def finalize() -> None:
            """Of what somebody else changes meanwhile, so that it has to be looked at again."""
            stale = await maps.create(config_map(f"a{next(numbers)}", namespace="default"))
            await maps.patch(stale.key, {"data": {"x": "2"}})
            held = await add_finalizer(maps, stale, "example.dev/f")
            other = [
                {"op": "replace", "path": "/metadata/finalizers", "value": ["example.dev/g", "example.dev/f"]}
            ]
            await maps.patch(stale.key, other, kind="json")
            await remove_finalizer(maps, held, "example.dev/f")

        await sweep.of(finalize)


async def programs(sweep: Sweep) -> None:
    """``serve`` until a signal comes, with a client of its own that has to run a plugin first; in real time."""
    async with kubeconfig() as path:

        async def run() -> None:
            reads = Reads()
            manager = Manager(Controller("c", reads).watches(NAMESPACES))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reads.then, partial(signal.raise_signal, signal.SIGTERM))
                await serve(manager, config=Kubeconfig(path))

        async def manage() -> None:
            reads = Reads()
            manager = Manager(Controller("c", reads).watches(NAMESPACES))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reads.then, manager.stop)
                await manager.run()

        for work in (run, manage):
            await sweep.of(work, held=lambda: (processes(), [signal.getsignal(number) for number in SIGNALS]))


class Reads:
    """A reconciler that asks the server, so that there is a connection to close in the end."""

    def __init__(self) -> None:
        self._has_read = anyio.Event()

    async def __call__(self, request: Request) -> None:
        await request.client.resource(NAMESPACES).get(request.key)
        self._has_read.set()

    async def then(self, act: Callable[[], object]) -> None:
        await self._has_read.wait()
        act()


@asynccontextmanager
async def kubeconfig() -> AsyncIterator[Path]:
    """Of a server on a socket; its user has a plugin, and ``$KUBECONFIG`` names it."""
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "t"},
    }
    plugin = {
        "apiVersion": answer["apiVersion"],
        "command": "echo",
        "args": [json.dumps(answer)],
        "interactiveMode": "Never",
    }
    async with ApiServer() as server, server.serve() as endpoint:
        await begin_caches(server)
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": endpoint.url}}],
            "users": [{"name": "u", "user": {"exec": plugin}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        }
        with TemporaryDirectory() as folder:
            path = Path(folder) / "kubeconfig"
            path.write_text(json.dumps(content))
            before = os.environ.get("KUBECONFIG")
            os.environ["KUBECONFIG"] = str(path)
            try:
                yield path
            finally:
                if before is None:
                    del os.environ["KUBECONFIG"]
                else:
                    os.environ["KUBECONFIG"] = before
