"""The commands, in this process, cancelled wherever they wait: no socket, file, thread or handler of signals is left."""

import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from kinformer.cli._apiserver import _serve
from kinformer.cli._arguments import ApiserverCommand, RunCommand
from kinformer.cli._complaint import Complaint
from kinformer.cli._demo import _ROLLOUT, _interruptible_play, _play, _Scene
from kinformer.cli._run import _run
from kinformer.cli._website import CRD, WEBSITES, controller
from kinformer.controller import Controller, Manager
from kinformer.controller._signals import SIGNALS
from kinformer.errors import AlreadyExistsError, NotFoundError
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map
from tests.etcd import needs_grpc
from tests.scenario.cancelling.controllers import Reads, kubeconfig
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, deployment

if TYPE_CHECKING:
    from kinformer.cli._stage import Row

TERMINATE = partial(signal.raise_signal, signal.SIGTERM)


def held() -> object:
    """The handlers of signals, and what is in the folder for temporary files, which is our own."""
    return [signal.getsignal(number) for number in SIGNALS], list(Path(tempfile.gettempdir()).iterdir())


@contextmanager
def own_temporary_files() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield
        finally:
            tempfile.tempdir = before


async def the_apiserver(sweep: Sweep) -> None:
    with tempfile.TemporaryDirectory() as folder, own_temporary_files():
        path = Path(folder) / "kubeconfig"  # which is left on purpose

        async def serve() -> None:
            path.unlink(missing_ok=True)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(until, path.exists, TERMINATE)
                await _serve(ApiserverCommand(write_kubeconfig=path))

        await sweep.of(serve, held=held)


async def the_apiserver_without_its_etcd(sweep: Sweep) -> None:
    needs_grpc()

    async def serve() -> None:
        with pytest.raises(Complaint):
            await _serve(ApiserverCommand(etcd="127.0.0.1:1"))

    await sweep.of(serve, held=held)


async def until(is_so: Callable[[], bool], act: Callable[[], object]) -> None:
    while not is_so():
        await SystemClock().sleep(0.01)
    act()


async def runs(sweep: Sweep) -> None:
    """Embedded, against a kubeconfig, and with clients of the manager's own."""
    async with kubeconfig() as path, Cluster() as cluster:
        await begin_caches(cluster)

        async def run(command: RunCommand) -> None:
            reads = Reads()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reads.then, TERMINATE)
                await _run(Manager(Controller("c", reads).watches(NAMESPACES)), command)

        async def run_with_clients() -> None:
            reads = Reads()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reads.then, TERMINATE)
                manager = Manager(Controller("c", reads).watches(NAMESPACES), clients=cluster.client)
                await _run(manager, RunCommand(Path("controller.py")))

        with own_temporary_files():
            for command in (
                RunCommand(Path("controller.py"), embedded=True, preflight=True),
                RunCommand(Path("controller.py"), kubeconfig=str(path)),
            ):
                await sweep.of(partial(run, command), held=held)
            await sweep.of(run_with_clients, held=held)


class Silent:
    """A stage that shows nothing."""

    def open(self) -> AbstractContextManager[object]:
        return nullcontext()

    def say(self, text: str) -> None: ...

    def show(self, rows: "Sequence[Row]") -> None: ...


async def begin_caches(cluster: Cluster) -> None:
    """Those of the server outlive whoever made them begin."""
    for resource in (NAMESPACES, CONFIG_MAPS, DEPLOYMENTS, WEBSITES):
        with suppress(NotFoundError):
            await cluster.client.resource(resource).list()


async def the_website_controller(sweep: Sweep) -> None:
    site = {"metadata": {"name": "blog", "namespace": "default"}, "spec": {"html": "x", "replicas": 1}}
    async with Cluster(CRD) as cluster:
        await begin_caches(cluster)
        websites = cluster.client.resource(WEBSITES)

        async def keep_in_order() -> None:
            async with cluster.running(controller, _ROLLOUT):
                with suppress(AlreadyExistsError):
                    await websites.create(site)
                await cluster.until(is_ready)
                await websites.delete("default/blog")
                await cluster.until(is_gone)

        async def is_ready() -> bool:
            conditions = (await websites.get("default/blog"))["status"]["conditions"]
            return bool(conditions[0]["status"] == "True")

        async def is_gone() -> bool:
            return not (await websites.list()).items

        await sweep.of(keep_in_order)


async def the_scenes_of_the_demo(sweep: Sweep) -> None:
    """In a world where nobody puts things in order, so that the first scene is the last one."""
    async with Cluster(CRD) as cluster:
        await begin_caches(cluster)
        scene = _Scene(cluster.client, Silent(), Impatient())

        async def clear() -> None:
            for resource in (WEBSITES, DEPLOYMENTS, CONFIG_MAPS):
                await cluster.client.resource(resource).where(namespace="default").delete_collection()
            scene.wanted.clear()

        async def furnish() -> None:
            await clear()
            await scene._create()
            for name in ("blog", "shop"):
                await cluster.create(deployment(name), config_map(name))

        async def play() -> None:
            assert await scene.play()

        await sweep.of(play, prepare=clear)
        for step in (scene._change, scene._break, scene._tamper, scene._delete):
            await sweep.of(step, prepare=furnish)


class Impatient(SystemClock):
    """Whatever is slept, it counts for some seconds, and is soon over."""

    def __init__(self) -> None:
        self._slept = 0.0

    def monotonic(self) -> float:
        return SystemClock.monotonic() + self._slept

    async def sleep(self, delay: float) -> None:
        self._slept += 6.0
        await super().sleep(0.001)


async def the_demo(sweep: Sweep) -> None:
    """Without patience for the controller, so that it stops early; and with a signal that ends it."""

    async def stop_early() -> None:
        assert await _play(Silent(), Impatient())

    async def interrupt() -> None:
        assert await _interruptible_play(Interrupting()) is None

    with own_temporary_files():
        await sweep.of(stop_early, held=held, ways=["task"])
        await sweep.of(interrupt, held=held)


class Interrupting(Silent):
    """The first thing that is said is the last."""

    def say(self, text: str) -> None:
        TERMINATE()
