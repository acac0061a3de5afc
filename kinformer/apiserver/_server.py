"""ApiServer: the embedded apiserver as one thing."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from random import Random
from types import TracebackType
from typing import Self

from kinformer.apiserver.auth import Guard, Rbac
from kinformer.apiserver.cacher import CacheOptions, Cacher
from kinformer.apiserver.http import Application, Endpoint, serve
from kinformer.apiserver.loops import Housekeeping
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Verbs
from kinformer.apiserver.storage import KV, MemoryKV
from kinformer.clock import Clock
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group

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
        cache: How the watch caches behave; one is made for each resource when it is listed or watched for the first time.
        auth: Who may do what: everybody everything by default; see ``Rbac`` for tokens and roles.
        clock: What creation times, deadlines and retries are measured on.
        random: What generated names, uids and watch durations are drawn from.
    """

    def __init__(
        self,
        *,
        storage: KV | None = None,
        cache: CacheOptions | None = None,
        auth: Rbac | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        clock, random = clock or SystemClock(), random or Random()  # noqa: S311 -- nothing secret is drawn from it
        # Milliseconds of the wall clock: after a restart the versions that clients come back with are too old, so that
        # they list again. Where they were merely in the future, watches would wait in silence.
        kv = storage if storage is not None else MemoryKV(first=int(clock.now().timestamp() * 1000))
        self._registry = registry = Registry()
        self._verbs = Verbs(kv, registry, clock=clock, random=random, cache=cache)
        self._auth = auth
        self._guard = Guard(kv, clock=clock, rbac=auth)
        self._app = Application(self._verbs, registry, self._guard, clock=clock, random=random)
        self._housekeeping = Housekeeping(
            kv, registry, self._verbs, clock=clock, has_accounts=auth is not None
        )
        self._resources = AsyncExitStack()
        self._was_entered = False
        self._is_running = False

    @property
    def app(self) -> Application:
        """The ASGI application: serve it with any server, or enter it with ``kinformer.testing.AppTransport``."""
        return self._app

    @property
    def metrics(self) -> Mapping[str, float]:
        """What the watch caches have counted: each series under kube-apiserver's name, as Prometheus writes it; a copy."""
        return self._verbs.metrics

    def cacher(self, resource: Resource) -> Cacher:
        """The watch cache of a resource, for tests that hold it back or break it; made where there is none yet.

        Raises:
            LookupError: The resource is not served.
            RuntimeError: The server is not running.
        """
        served = self._registry.find(resource.group, resource.version, resource.plural)
        if served is None:
            raise LookupError(
                f"{resource.plural} of {resource.api_version} are not served: create their definition first"
            )
        return self._verbs.cacher(served)

    def serve(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: bool = False
    ) -> AbstractAsyncContextManager[Endpoint]:
        """Listen on a socket until the block ends; several may be open at once. Needs uvicorn.

        Entering raises ``OSError`` where the address is in use, and gives an ``Endpoint`` with ``url`` and
        ``write_kubeconfig``. Leaving ends the watches that it serves, and takes less than a second.

        Args:
            host: The address; the default can be reached from this machine only.
            port: The port; 0 takes a free one.
            tls: Whether to speak HTTPS, with a new authority whose certificate the endpoint has. kubectl and other clients in Go
                send no token over plain HTTP, so ``auth`` needs this to be of use to them. Needs cryptography.

        Raises:
            RuntimeError: The server is not running.
        """
        if not self._is_running:
            raise RuntimeError("this ApiServer is not running: enter it with 'async with' first")
        token = "" if self._auth is None else self._auth.admin_token
        return serve(self._app, host=host, port=port, tls=tls, token=token)

    async def __aenter__(self) -> Self:
        if self._was_entered:
            raise RuntimeError(
                "this ApiServer was entered before: make a new one, with the same storage if need be"
            )
        self._was_entered = True
        await self._verbs.bootstrap()
        await self._guard.bootstrap(self._verbs, self._registry)
        async with AsyncExitStack() as entering:
            tasks = await entering.enter_async_context(open_task_group())
            await tasks.start(self._verbs.run)
            await tasks.start(self._housekeeping.run)
            entering.callback(tasks.cancel_scope.cancel)
            entering.callback(self._app.close)
            self._resources = entering.pop_all()
        self._is_running = True
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_running = False
        await self._resources.__aexit__(exc_type, exc_value, traceback)
