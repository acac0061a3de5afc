"""A stage for a reflector: a scripted server, a sink that keeps its story, hooks that keep a diary, a fake clock."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import anyio

from kinformer.errors import (
    ExpiredError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.hooks import NoHooks, ObjectQuarantined, ReflectorFailed
from kinformer.meta import Object, ObjectKey, ObjectList, Record, Resource, WatchEvent
from kinformer.reflector import Reflector, Source
from kinformer.testing import (
    FakeClock,
    ListAnswer,
    ScriptedRequest,
    ScriptedSource,
    WatchAnswer,
    bookmark,
    error_event,
)

PODS = Resource.builtin("Pod")
GONE = ExpiredError(410, "Expired", "too old resource version")
REFUSED = TransportError("connection refused", refused=True)
THROTTLED = ThrottledError(429, "TooManyRequests", "slow down")
BROKEN = ServerError(500, "InternalError", "etcd is gone")


def pod(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


def page(*objects: Object, version: str, token: str = "") -> ObjectList[Object]:
    return ObjectList(objects, version, continue_token=token)


END = bookmark("30", ends_initial_events=True)
EMPTY = page(version="100")


class Half(Random):
    """Chance that always comes out in the middle."""

    def random(self) -> float:
        return 0.5


class Mirror:
    """A sink that keeps what it was given, and the story of how."""

    def __init__(self) -> None:
        self.content: dict[str, str] = {}
        self.versions: list[str] = []
        self.story: list[str] = []

    def replace(self, records: Iterator[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        self.content = {record.key.name: record.metadata.resource_version for record in records}
        self.versions.append(version)
        self.story.append(f"replace {','.join(sorted(self.content))}")

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        for event in events:
            assert event.record is not None
            name = event.record.key.name
            if event.type == "DELETED":
                self.content.pop(name, None)
            else:
                self.content[name] = event.record.metadata.resource_version
            self.story.append(f"{event.type.lower()} {name}")
        if version:
            self.versions.append(version)

    def resync(self) -> None:
        """Never asked for here."""


class Diary(NoHooks):
    """Hooks that keep the failures."""

    def __init__(self) -> None:
        self.failures: list[ReflectorFailed] = []
        self.quarantined: list[ObjectQuarantined] = []

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        self.failures.append(event)

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.quarantined.append(event)


class Stage:
    """A reflector, its scripted server, its sink, its hooks and its clock."""

    def __init__(
        self,
        *,
        lists: Iterable[ListAnswer] = (),
        watches: Iterable[WatchAnswer] = (),
        watch_list: bool = False,
        page_size: int = 0,
        definitions: Source | None = None,
        random: Random | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, watches=watches, clock=self.clock)
        self.sink = Mirror()
        self.hooks = Diary()
        self.reflector = Reflector(
            self.source,
            self.sink,
            watch_list=watch_list,
            page_size=page_size,
            definitions=definitions,
            clock=self.clock,
            random=random or Half(),
            hooks=self.hooks,
        )

    @asynccontextmanager
    async def running(self, delay: float = 0.0) -> AsyncIterator[None]:
        """Run the reflector for ``delay`` seconds and then for the block; nothing may be left behind."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.reflector.run)
            await self.clock.advance(delay)
            yield
            group.cancel_scope.cancel()
        assert self.source.pending == 0
        assert self.clock.next_timer is None

    async def play(self, delay: float) -> list[ScriptedRequest]:
        """Run the reflector for ``delay`` seconds, and return the requests that it made."""
        async with self.running(delay):
            return self.source.requests

    @property
    def asked(self) -> list[str]:
        """The requests in short: verb and version, a page by its token."""
        verbs = {"list": "LIST", "watch": "WATCH"}
        return [
            ("STREAM" if request.initial_events else verbs[request.verb])
            + f" {request.continue_token or request.version}".rstrip()
            for request in self.source.requests
        ]

    def true(self) -> set[str]:
        """The conditions that are true."""
        return {str(name) for name, condition in self.reflector.conditions.items() if condition.status}


def gaps(requests: Sequence[ScriptedRequest]) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(requests)]


def error_event_stream(error: RequestError) -> list[WatchEvent | float]:
    return [2.0, error_event(error)]


def busiest_minute(requests: Sequence[ScriptedRequest]) -> int:
    """How many requests there were at most in any sixty seconds."""
    moments = [request.at for request in requests]
    return max(sum(start <= at <= start + 60.0 - 1e-6 for at in moments) for start in moments)
