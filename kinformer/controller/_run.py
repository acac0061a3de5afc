"""``run`` and ``serve``: controllers until a signal. The one place that decides what signals mean."""

import logging
import signal
from contextlib import AsyncExitStack
from functools import partial

import anyio
from anyio.abc import TaskStatus

from kinformer.client import Client, Config, Kubeconfig
from kinformer.controller._controller import Controller
from kinformer.controller._manager import Manager
from kinformer.controller._signals import Signals

__all__ = ["run", "serve"]

logger = logging.getLogger("kinformer.controller")


def run(*what: Controller | Manager, config: Config | Kubeconfig | str | None = None) -> None:
    """Run controllers until SIGINT, SIGTERM or SIGHUP; to be called from the main thread of a program.

    The first signal asks for a graceful stop: running reconciles get the manager's grace. A second one cancels them.
    Either way the call returns normally; a third ends the process at once.

    Args:
        what: Controllers, which get one manager together, or one manager.
        config: Which cluster, as ``Client`` takes it; None finds the one that the program runs in, or the current one of the kubeconfig.

    Raises:
        ConfigError: No cluster is configured.
        RuntimeError: Not in the main thread, which alone hears of signals, or in a running event loop.
        TypeError: Something is neither, or a manager is not alone.
        ValueError: See ``Manager``; also a config for a manager that has clients of its own.
        Exception: What a part failed with.
    """
    anyio.run(partial(serve, _managed(what), config=config))


async def serve(
    *what: Controller | Manager,
    config: Config | Kubeconfig | str | None = None,
    client: Client | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Do what ``run`` does, inside an event loop; ``started()`` is called as by ``Manager.run``.

    Args:
        what: See ``run``.
        config: See ``run``.
        client: The client to use instead of a new one; the caller closes it.
        task_status: See above.

    Raises:
        Exception: See ``run``.
    """
    manager = _managed(what)
    if config is not None and (client is not None or manager.has_clients):
        raise ValueError(
            "a config is there to make a client of, but a client is given already: give one of them"
        )
    with anyio.CancelScope() as scope:
        with _Interruptions(manager, scope).signals:
            async with AsyncExitStack() as resources:
                if config is not None:
                    client = await resources.enter_async_context(Client(config, hooks=manager.hooks))
                await manager.run(client=client, task_status=task_status)


class _Interruptions:
    """What signals mean: first a graceful stop, then the end."""

    def __init__(self, manager: Manager, scope: anyio.CancelScope) -> None:
        self.signals = Signals(self._hear)
        self._manager = manager
        self._scope = scope
        self._has_asked = False

    def _hear(self, number: signal.Signals) -> None:
        if self._has_asked:
            logger.warning("%s again: cancelling what still runs", number.name)
            self._scope.cancel()
            self.signals.resign()  # who does not heed the cancellation is left to the next signal
        else:
            logger.info("%s: stopping", number.name)
            self._has_asked = True
            self._manager.stop()


def _managed(what: tuple[Controller | Manager, ...]) -> Manager:
    match what:
        case (Manager() as manager,):
            return manager
        case _ if any(isinstance(part, Manager) for part in what):
            raise TypeError("run one manager, or controllers: put all controllers into one Manager")
        case _:
            return Manager(*what)  # type: ignore[arg-type]  # the managers are ruled out above
