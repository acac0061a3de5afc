import logging
import signal
import threading
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus

from kinformer.client import Client
from kinformer.controller import Controller, Manager, Request, run, serve
from kinformer.meta import Resource
from kinformer.testing import Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")


async def succeed(request: Request) -> None: ...


async def hang(request: Request) -> None:
    await anyio.sleep_forever()


def controller(name: str = "site") -> Controller:
    return Controller(name, succeed).watches(CONFIG_MAPS)


async def told(number: signal.Signals) -> None:
    """Send ourselves a signal, and let the event loop hear of it."""
    signal.raise_signal(number)
    await anyio.to_thread.run_sync(int)  # the loop reads its wake-up pipe meanwhile
    await settle()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_the_run_normally(
    number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kinformer.controller")
    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        manager = Manager(controller(), clients=cluster.client, clock=cluster.clock)
        await tasks.start(lambda *, task_status: serve(manager, task_status=task_status))
        await told(number)
    assert f"{number.name}: stopping" in caplog.messages


async def test_a_second_signal_cancels_what_still_runs(caplog: pytest.LogCaptureFixture) -> None:
    busy = Controller("busy", hang).watches(CONFIG_MAPS)
    before = signal.getsignal(signal.SIGTERM)
    ended: list[bool] = []

    async def served(*, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        await serve(Manager(busy, clients=cluster.client, clock=cluster.clock), task_status=task_status)
        ended.append(True)

    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        await tasks.start(served)
        await settle()
        await told(signal.SIGTERM)
        assert not ended
        await told(signal.SIGTERM)
        assert ended
    assert "SIGTERM again: cancelling what still runs" in caplog.messages
    assert signal.getsignal(signal.SIGTERM) is before


async def test_after_a_second_signal_the_next_one_finds_the_handlers_of_before() -> None:
    gate = anyio.Event()

    async def stubborn(request: Request) -> None:
        with anyio.CancelScope(shield=True):
            await gate.wait()

    before = signal.getsignal(signal.SIGTERM)
    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        manager = Manager(
            Controller("stubborn", stubborn).watches(CONFIG_MAPS), clients=cluster.client, clock=cluster.clock
        )
        await tasks.start(lambda *, task_status: serve(manager, task_status=task_status))
        await settle()
        await told(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is not before
        await told(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is before
        gate.set()


async def test_controllers_get_one_manager_and_the_given_client() -> None:
    seen: dict[str, Client] = {}

    def noting(name: str) -> Controller:
        async def note(request: Request) -> None:
            seen[name] = request.client

        return Controller(name, note).watches(CONFIG_MAPS)

    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        await tasks.start(
            lambda *, task_status: serve(
                noting("one"), noting("two"), client=cluster.client, task_status=task_status
            )
        )
        await cluster.until(lambda: len(seen) == 2)
        await told(signal.SIGTERM)
        assert {name: client.mapper for name, client in seen.items()} == {
            "one": cluster.client.mapper,
            "two": cluster.client.mapper,
        }


async def test_cancelling_puts_the_handlers_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        await tasks.start(
            lambda *, task_status: serve(controller(), client=cluster.client, task_status=task_status)
        )
        assert signal.getsignal(signal.SIGINT) is not before
        tasks.cancel_scope.cancel()
    assert signal.getsignal(signal.SIGINT) is before


class Interrupted(Manager):
    """Gets a signal as soon as it runs."""

    async def run(self, **options: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        await anyio.to_thread.run_sync(int)
        await super().run(**options)


def test_run_blocks_until_a_signal() -> None:
    run(Interrupted(controller()), config="http://127.0.0.1:1")


def test_run_is_for_the_main_thread() -> None:
    found: list[BaseException] = []

    def attempt() -> None:
        try:
            run(controller(), config="http://127.0.0.1:1")
        except RuntimeError as error:
            found.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert "only the main thread hears of signals" in str(found[0])


def test_misuse_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match="at least one controller"):
        run()
    with pytest.raises(TypeError, match="put all controllers into one Manager"):
        run(Manager(controller()), controller("two"))
    with pytest.raises(TypeError, match="runs Controllers, not 3"):
        run(3)  # type: ignore[arg-type]


async def test_a_config_beside_a_client_is_refused() -> None:
    async with Cluster() as cluster:
        with pytest.raises(ValueError, match="give one of them"):
            await serve(controller(), client=cluster.client, config="http://127.0.0.1:1")
        with pytest.raises(ValueError, match="give one of them"):
            await serve(Manager(controller(), clients=cluster.client), config="http://127.0.0.1:1")
