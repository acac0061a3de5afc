"""A stage for faults: an apiserver and an informer with a breaking proxy between them, on sockets, in fake time.

Server, proxy and client share the event loop and a ``FakeClock``. Bytes take real time; timers, from the backoff to the
bookmarks, do not: the clock moves on to the next of them when nothing moves on the wire. A server takes a tenth of a
second to stop, so a test plays several scenes before one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer
from kinformer.apiserver.storage import MemoryKV
from kinformer.client import Client, ResourceClient
from kinformer.hooks import NoHooks, ObjectQuarantined, ReflectorFailed, RequestFinished
from kinformer.informer import Added, Deleted, Notification, SharedInformer, Updated
from kinformer.meta import Object, ObjectKey, Record, Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import AppTransport, FakeClock, pod
from tests.wire.fault_proxy import Answer, Exchange, FaultProxy, Phase

PODS = Resource.builtin("Pod")
REFUSAL = Answer(400)
"""How a server that knows no watch-lists answers one."""

Streaming: TypeAlias = Literal["kinformer", "httpx"]
"""Whose transport carries what is read."""

TRANSPORTS: Final[tuple[Streaming, ...]] = ("kinformer", "httpx")

_TURNS: Final = 10
"""Turns of the event loop before a pause, each with a look at all sockets."""

_QUIET: Final = 2
"""Pauses in which nothing moves when all is at rest."""

_PAUSE: Final = 0.001
"""Real seconds that the kernel gets to hand over what was sent."""

_BUDGET: Final = 12
"""Requests in a minute that no failure may exceed; later pages are free."""


class Diary(NoHooks):
    """Hooks that write down what is needed here."""

    def __init__(self, clock: FakeClock) -> None:
        self.openings: list[float] = []
        """When LISTs and WATCHes that are over were begun, refused connections included."""
        self.failures: list[ReflectorFailed] = []
        self.quarantined: list[ObjectQuarantined] = []
        self._clock = clock

    def request_finished(self, event: RequestFinished, /) -> None:
        self.openings.append(self._clock.monotonic() - event.duration)

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        self.failures.append(event)

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.quarantined.append(event)


@dataclass(frozen=True, slots=True)
class Served:
    """An apiserver: its port, and its pods past every proxy."""

    port: int
    pods: ResourceClient[Object]

    async def create(self, *names: str) -> None:
        """Create pods."""
        for name in names:
            await self.pods.create(pod(name))

    async def change(self) -> None:
        """Create a pod, change the first one and delete the last one."""
        old = await self.pods.list()
        await self.create(f"new-{old.version}")
        await self.pods.patch(old.items[0].key, {"metadata": {"labels": {"seen": old.version}}})
        await self.pods.delete(old.items[-1].key)


@asynccontextmanager
async def serving(clock: FakeClock, *names: str, first: int = 0) -> AsyncIterator[Served]:
    """Serve a new cluster with these pods; its versions go on from ``first``, or from where the clock stands."""
    storage = MemoryKV(first=first) if first else None
    async with (
        ApiServer(storage=storage, clock=clock) as server,
        server.serve() as endpoint,
        Client("http://past", transport=AppTransport(server.app, clock=clock), clock=clock) as client,
    ):
        served = Served(endpoint.port, client.resource(PODS))
        await served.create(*names)
        yield served


class Site:
    """An informer whose client leads to a proxy; see ``site``."""

    def __init__(self, proxy: FaultProxy, client: Client, clock: FakeClock, diary: Diary) -> None:
        self.clock = clock
        self.proxy = proxy
        self.diary = diary
        self.informer: SharedInformer[Object] = SharedInformer(
            client.resource(PODS), clock=clock, random=Random(0), hooks=diary
        )
        self.told: list[str] = []
        """What a handler was told: ``+name``, ``~name`` or ``-name``."""
        self.informer.add_handler(self._note)
        self._served: Served | None = None

    @property
    def asked(self) -> str:
        """The phases of the requests so far, in words."""
        return " ".join(exchange.phase for exchange in self.proxy.exchanges)

    @property
    def stream(self) -> Exchange:
        """The last watch or watch-list."""
        streams = (Phase.STREAM, Phase.WATCH)
        return next(exchange for exchange in reversed(self.proxy.exchanges) if exchange.phase in streams)

    @property
    def server(self) -> Served:
        """The server that the proxy leads to."""
        assert self._served is not None
        return self._served

    @asynccontextmanager
    async def reaching(self, served: Served) -> AsyncIterator[None]:
        """Let the proxy lead to a server; connections are refused before and after."""
        self._served = served
        async with self.proxy.running(served.port):
            yield

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the informer, which must keep to its budget of requests."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.informer.run)
            yield
            self.informer.close()
        openings = self.diary.openings
        busiest = max(sum(start <= at < start + 60.0 for at in openings) for start in openings)
        assert busiest <= _BUDGET + self.asked.split().count(Phase.PAGE)

    @asynccontextmanager
    async def following(self, served: Served) -> AsyncIterator[None]:
        """Run the informer while the proxy leads to a server."""
        async with self.reaching(served), self.running():
            yield

    async def rest(self) -> None:
        """Let everything run until nothing moves on the wire."""
        quiet = 0
        while quiet < _QUIET:
            before = self.proxy.moves
            for _ in range(_TURNS):
                await checkpoint()
            await SystemClock().sleep(_PAUSE)
            quiet = quiet + 1 if self.proxy.moves == before else 0

    async def pass_time(self, delay: float) -> None:
        """Let so many seconds pass, from timer to timer, with whatever that sets off on the wire."""
        end = self.clock.monotonic() + delay
        await self.rest()
        while (due := self.clock.next_timer) is not None and due <= end:
            await self.clock.advance(due - self.clock.monotonic())
            await self.rest()
        await self.clock.advance(end - self.clock.monotonic())

    async def until_equal(self, *, within: float) -> float:
        """Let time pass until the informer has exactly what the server has; gives how many seconds that took."""
        start = self.clock.monotonic()
        await self.rest()
        while not await self._is_equal():
            due = self.clock.next_timer
            assert due is not None
            assert due <= start + within, f"it has not recovered after {within} s; asked for {self.asked}"
            await self.pass_time(due - self.clock.monotonic())
        return self.clock.monotonic() - start

    def true(self) -> set[str]:
        """The informer's conditions that are true."""
        return {str(name) for name, condition in self.informer.conditions.items() if condition.status}

    async def _is_equal(self) -> bool:
        there = {_told(obj.record) for obj in (await self.server.pods.list()).items}
        return {_told(record) for record in self.informer.store} == there

    def _note(self, told: Notification[Object]) -> None:
        match told:
            case Added(obj):
                self.told.append(f"+{obj.key.name}")
            case Updated(_, obj):
                self.told.append(f"~{obj.key.name}")
            case Deleted(obj):
                self.told.append(f"-{obj.key.name}")


@asynccontextmanager
async def site(clock: FakeClock, *, streaming: Streaming = "kinformer") -> AsyncIterator[Site]:
    """An informer behind a proxy; the proxy leads nowhere yet, and nothing runs."""
    proxy, diary = FaultProxy(), Diary(clock)
    try:
        async with Client(proxy.url, clock=clock, hooks=diary, streaming=streaming) as client:
            yield Site(proxy, client, clock, diary)
    finally:
        proxy.close()


def _told(record: Record) -> tuple[ObjectKey, str, str]:
    return record.key, record.metadata.uid, record.metadata.resource_version
