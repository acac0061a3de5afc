"""Cluster: an apiserver, a client and a clock in one, for tests in memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast

import msgspec

from kinformer.client import Anonymous, BearerToken, Client, Config
from kinformer.clock import Clock
from kinformer.controller import Controller, Manager
from kinformer.errors import NotFoundError
from kinformer.hooks import Hooks
from kinformer.meta import Object, Resource
from kinformer.tasks import open_task_group
from kinformer.testing._clock import FakeClock
from kinformer.testing._failures import Failures
from kinformer.testing._running import running
from kinformer.testing._transport import AppTransport
from kinformer.testing._waiting import wait_until

if TYPE_CHECKING:
    from kinformer.apiserver import ApiServer, Rbac

__all__ = ["Cluster"]

_URL: Final = "http://cluster.invalid"
"""Never looked up: requests go straight into the application."""

_SHOWN: Final = 20
"""How many objects of a kind a failed wait lists."""


class Cluster:
    """A cluster inside a test: ``async with Cluster(pod("web")) as cluster, cluster.running(controller): ...``.

    The server, the client and the controllers run in one event loop, without sockets and threads, on a ``FakeClock``
    that moves in ``until``, ``advance`` and ``running`` only. Entered once; a failure of the server ends the block
    with that failure.

    Args:
        objects: What is there from the start, created in this order: mappings with ``apiVersion`` and ``kind``, custom
            resource definitions before what they define. The status is kept as given.
        auth: ``Rbac()`` lets roles decide who may do what; ``client`` is then an administrator, and ``account`` gives others.
        clock: ``SystemClock()`` for real time; a new ``FakeClock`` by default.
        random: What uids and jitter are drawn from; the same numbers each time by default.
        hooks: Hear of what the client and the controllers do.

    Raises:
        ImportError: The extra ``test`` is not installed; when it is entered.
    """

    def __init__(
        self,
        *objects: Object | Mapping[str, Any],
        auth: "Rbac | None" = None,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._objects = objects
        self._auth = auth
        self._clock = clock or FakeClock()
        self._random = random or Random(0)  # noqa: S311 -- a test wants the same numbers each time
        self._failures = Failures(hooks)
        self._hooks: Hooks = cast("Hooks", self._failures)  # it passes on whatever it does not hear itself
        self._known: dict[Resource, None] = {}
        self._resources = AsyncExitStack()
        self._server: ApiServer | None = None
        self._client: Client | None = None

    @property
    def server(self) -> "ApiServer":
        """The apiserver.

        Raises:
            RuntimeError: The cluster has not been entered.
        """
        if self._server is None:
            raise _not_entered()
        return self._server

    @property
    def client(self) -> Client:
        """A client of the apiserver, without sockets.

        Raises:
            RuntimeError: The cluster has not been entered.
        """
        if self._client is None:
            raise _not_entered()
        return self._client

    @property
    def clock(self) -> FakeClock:
        """The clock by which everything in the cluster goes.

        Raises:
            RuntimeError: The cluster goes by a clock that was given to it, and that is no ``FakeClock``.
        """
        if not isinstance(self._clock, FakeClock):
            name = type(self._clock).__name__
            raise RuntimeError(f"this cluster goes by the {name} that it was made with")  # noqa: TRY004 -- a state
        return self._clock

    async def __aenter__(self) -> Self:
        # Starlette and all comes with it: not for everybody who imports kinformer.testing, pytest among them.
        try:
            from kinformer.apiserver import ApiServer
        except ModuleNotFoundError as error:
            raise ImportError(
                f"a Cluster needs {error.name}, which is not installed: pip install 'kinformer[test]'"
            ) from error

        if self._server is not None:
            raise RuntimeError("this cluster was entered before: make a new one")
        async with AsyncExitStack() as entering:
            await entering.enter_async_context(
                open_task_group()
            )  # out of which a single failure comes as itself
            self._server = await entering.enter_async_context(
                ApiServer(auth=self._auth, clock=self._clock, random=self._random)
            )
            token = "" if self._auth is None else self._auth.admin_token
            self._client = await entering.enter_async_context(self._new_client(token))
            await self.create(*self._objects)
            self._resources = entering.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._resources.__aexit__(exc_type, exc_value, traceback)

    async def create(self, *objects: Object | Mapping[str, Any]) -> None:
        """Create objects in this order, with their status; a namespaced one that names no namespace goes to ``default``.

        Raises:
            LookupError: The server does not serve such objects.
            ApiError: The server refuses one.
        """
        for obj in objects:
            content = obj.thaw() if isinstance(obj, Object) else obj
            resource = await self._resource_of(content)
            client = self.client.resource(resource)
            created = await client.create(content, namespace=_home(content, resource))
            if (status := content.get("status")) and created.at("status", default=None) != status:
                await client.status.patch(created.key, {"status": status}, kind="merge")

    @asynccontextmanager
    async def account(self, key: str) -> AsyncIterator[Client]:
        """A client that is a ServiceAccount, as a pod's is, and may do what roles let it: for ``running``, or by itself.

        Args:
            key: Its namespace and name, such as ``"default/website"``.

        Raises:
            NotFoundError: There is no such account.
        """
        namespace, _, name = key.partition("/")
        tokens = self.client.resource(Resource.builtin("ServiceAccount")).subresource("token")
        answer = await tokens.create({"metadata": {"namespace": namespace, "name": name}})
        async with self._new_client(answer["status"]["token"]) as client:
            yield client

    @asynccontextmanager
    async def running(
        self,
        *controllers: Controller,
        client: Client | None = None,
        timeout: float = 30.0,
        grace: float = 5.0,
    ) -> AsyncIterator[None]:
        """Run controllers around a block: entered when their caches are synced, left when they have stopped.

        A controller that fails ends the block at once, with its error.

        Args:
            controllers: What to run, by one manager.
            client: What they run on, such as that of an ``account``; the cluster's own by default.
            timeout: Seconds of the cluster's clock for the caches to sync.
            grace: Seconds of the cluster's clock that reconciles get at the end, before they are cancelled.

        Raises:
            TimeoutError: The caches do not sync.
            TypeError: Something is no Controller. A Manager of yours is run by ``await tasks.start(manager.run)``, with
                ``clients=cluster.client`` and ``clock=cluster.clock``.
        """
        manager = Manager(
            *controllers,
            clients=client or self.client,
            grace=grace,
            clock=self._clock,
            random=self._random,
            hooks=self._hooks,
        )
        for controller in controllers:
            self._known.update(dict.fromkeys(controller.scopes))
        async with running(manager, clock=self._clock, timeout=timeout, grace=grace):
            yield

    async def until(self, claim: Callable[[], bool | Awaitable[bool]], *, timeout: float = 5.0) -> None:
        """Return once ``claim()`` is true, moving the time from timer to timer while it is not.

        A claim that raises ``AssertionError``, ``NotFoundError`` or ``NotSyncedError`` is not true yet.

        Args:
            claim: A function without arguments, plain or async.
            timeout: Seconds of the cluster's clock.

        Raises:
            TimeoutError: It is still not true. The message has the claim, where it stands, the keys whose last
                reconcile failed, and what the cluster holds of the resources in play; the cause is what the claim
                raised last, or else the latest of those failures.
        """
        try:
            await wait_until(claim, timeout=timeout, clock=self._clock)
        except TimeoutError as error:
            told = [str(error), str(self._failures), await self._content()]
            raise TimeoutError("\n".join(filter(None, told))) from error.__cause__ or self._failures.last

    async def advance(self, delay: float) -> None:
        """Let ``delay`` seconds of the cluster's clock pass; on a real clock this waits."""
        if isinstance(self._clock, FakeClock):
            await self._clock.advance(delay)
        else:
            await self._clock.sleep(delay)

    def _new_client(self, token: str) -> Client:
        transport = AppTransport(self.server.app, clock=self._clock)
        config = Config(_URL, BearerToken(token) if token else Anonymous())
        return Client(config, transport=transport, clock=self._clock, random=self._random, hooks=self._hooks)

    async def _resource_of(self, content: Mapping[str, Any]) -> Resource:
        """Ask the server what serves objects of this kind."""
        api_version, kind = str(content.get("apiVersion", "")), str(content.get("kind", ""))
        if not api_version or not kind:
            raise LookupError(f"an object needs apiVersion and kind, to be told from others: {dict(content)}")
        group, _, version = api_version.rpartition("/")
        try:
            listing = await self.client.request("GET", f"/apis/{api_version}" if group else f"/api/{version}")
            entries = msgspec.json.decode(listing)["resources"]
        except NotFoundError:
            entries = []
        for entry in entries:
            if entry["kind"] == kind and "/" not in entry["name"]:
                resource = Resource(group, version, entry["name"], kind, entry["namespaced"])
                self._known[resource] = None
                return resource
        raise LookupError(
            f"the cluster serves no {kind} of {api_version}: create its CustomResourceDefinition first"
        )

    async def _content(self) -> str:
        """What there is of the resources in play, for a message."""
        lines = ["the cluster holds:"]

        async def look() -> bool:
            for resource in self._known:
                items = (await self.client.resource(resource).list()).items
                names = [str(item.key) for item in items[:_SHOWN]]
                more = [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
                lines.append(f"  {resource}: {', '.join([*names, *more]) or 'none'}")
            return True

        try:
            await wait_until(look, timeout=5, clock=self._clock)
        except Exception as error:  # noqa: BLE001 -- the message must not be lost because its ornament cannot be had
            lines.append(f"  and the rest cannot be read: {error}")
        return "\n".join(lines)


def _home(content: Mapping[str, Any], resource: Resource) -> str | None:
    if not resource.namespaced or (content.get("metadata") or {}).get("namespace"):
        return None
    return "default"


def _not_entered() -> RuntimeError:
    return RuntimeError("this cluster is not there yet: enter it with 'async with'")
