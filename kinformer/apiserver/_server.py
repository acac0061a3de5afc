"""ApiServer: the embedded apiserver as one thing."""

from contextlib import AbstractAsyncContextManager
from random import Random
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from kinformer.apiserver.http import Application, Endpoint, serve
from kinformer.apiserver.loops import Housekeeping
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Verbs
from kinformer.apiserver.storage import KV, MemoryKV
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock

__all__ = ["ApiServer"]


class ApiServer:
    """A Kubernetes apiserver in this process, with namespaces, garbage collection and custom resources.

    It lives as long as its ``async with`` block, which owns its tasks, and can be entered once. At the end all watches
    end, and ``app`` answers 503.

    ```python
    async with ApiServer() as server, server.serve() as endpoint:
        endpoint.write_kubeconfig("kubeconfig")
    ```

    Args:
        storage: Where objects are kept: in memory by default, and then they are gone with the server.
        clock: What creation times, deadlines and retries are measured on.
        random: What generated names, uids and watch durations are drawn from.
    """

    def __init__(
        self, *, storage: KV | None = None, clock: Clock | None = None, random: Random | None = None
    ) -> None:
        clock, random = clock or SystemClock(), random or Random()  # noqa: S311 -- nothing secret is drawn from it
        # Milliseconds of the wall clock: after a restart the versions that clients come back with are too old, so that
        # they list again. Where they were merely in the future, watches would wait in silence.
        kv = storage if storage is not None else MemoryKV(first=int(clock.now().timestamp() * 1000))
        registry = Registry()
        self._verbs = Verbs(kv, registry, clock=clock, random=random)
        self._app = Application(self._verbs, registry, clock=clock, random=random)
        self._housekeeping = Housekeeping(kv, registry, self._verbs, clock=clock)
        self._tasks: TaskGroup | None = None
        self._was_entered = False

    @property
    def app(self) -> Application:
        """The ASGI application: serve it with any server, or enter it with ``kinformer.testing.AppTransport``."""
        return self._app

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> AbstractAsyncContextManager[Endpoint]:
        """Listen on a socket until the block ends; several may be open at once. Needs uvicorn.

        Entering raises ``OSError`` where the address is in use, and gives an ``Endpoint`` with ``url`` and
        ``write_kubeconfig``. Leaving ends the watches that it serves, and takes less than a second.

        Args:
            host: The address; the default can be reached from this machine only.
            port: The port; 0 takes a free one.

        Raises:
            RuntimeError: The server is not running.
        """
        if self._tasks is None:
            raise RuntimeError("this ApiServer is not running: enter it with 'async with' first")
        return serve(self._app, host=host, port=port)

    async def __aenter__(self) -> Self:
        if self._was_entered:
            raise RuntimeError(
                "this ApiServer was entered before: make a new one, with the same storage if need be"
            )
        self._was_entered = True
        await self._verbs.bootstrap()
        tasks = await anyio.create_task_group().__aenter__()
        try:
            await tasks.start(self._housekeeping.run)
        except BaseException as error:
            await _leave(tasks, error)
            raise
        self._tasks = tasks
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        tasks, self._tasks = self._tasks, None
        self._app.close()
        if tasks is not None:
            await _leave(tasks, exc_value)


async def _leave(tasks: TaskGroup, error: BaseException | None) -> None:
    """End a task group; the error of a block goes on by itself, since the group would wrap it."""
    tasks.cancel_scope.cancel()
    cancelled = None if error is None or isinstance(error, Exception) else error
    try:
        await tasks.__aexit__(type(cancelled) if cancelled else None, cancelled, None)
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from None  # one loop failed: its error is the whole story
    except BaseException as raised:
        if raised is not cancelled:
            raise
        # To raise again what one was given makes an exit stack tie it to itself, a knot in which anyio goes round for ever.
