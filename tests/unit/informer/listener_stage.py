"""A listener with everything around it."""

from types import MappingProxyType
from typing import Any

import anyio
import msgspec

from kinformer.informer import Added, Handler, Notification, Updated
from kinformer.informer._backlog import Coalesced, InOrder, Waiting
from kinformer.informer._handlers import calls_of, filter_of
from kinformer.informer._listener import Listener
from kinformer.informer._registration import Registration
from kinformer.informer._views import Views
from kinformer.meta import Object, Record, Resource
from kinformer.testing import FakeClock
from tests.unit.informer.stage import Heard

PODS = Resource.builtin("Pod")


class Spec(msgspec.Struct):
    replicas: int


class Model(msgspec.Struct):
    spec: Spec


def record(name: str, *, version: str = "1", replicas: object = 1) -> Record:
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": version}
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": {"replicas": replicas}}), PODS)


class Bench:
    """A listener with a clock and hooks."""

    def __init__(self, handler: Handler[Any], *, model: type = Object, coalesce: bool = False) -> None:
        self.clock = FakeClock()
        self.hooks = Heard()
        self.listener: Listener[Any] = Listener(
            "h",
            calls_of(handler),
            Coalesced() if coalesce else InOrder(),
            Views(model),
            passes=filter_of(handler),
            informer="pods",
            clock=self.clock,
            hooks=self.hooks,
        )
        self.registration = Registration(self.listener)

    def begin(self, *records: Record) -> None:
        """The content that the handler finds."""
        self.listener.begin(MappingProxyType({each.key: each for each in records}), self.clock.monotonic())

    def offer(self, *names: str) -> None:
        for name in names:
            self.tell(Added(record(name)))

    def tell(self, told: Notification[Record]) -> None:
        self.listener.offer([Waiting(self.clock.monotonic(), told)])


class Told:
    """A handler that remembers, and waits for a gate when it is closed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self, told: Notification[Object]) -> None:
        self.names.append(told.new.key.name if isinstance(told, Updated) else told.obj.key.name)
        await self.gate.wait()

    def stop(self) -> None:
        self.gate = anyio.Event()
