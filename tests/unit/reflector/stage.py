"""A reflector over a script, with a sink and hooks that keep what they are told."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from random import Random

import anyio

from kinformer.errors import ServerError
from kinformer.hooks import NoHooks, ReflectorFailed, ReflectorListed, ReflectorWatched, WatchListDelayed
from kinformer.meta import Object, ObjectKey, ObjectList, Record, Resource, WatchEvent
from kinformer.reflector import Reflector, Sink
from kinformer.testing import (
    FakeClock,
    ListAnswer,
    ScriptedSource,
    WatchAnswer,
    added,
    bookmark,
)

PODS = Resource.builtin("Pod")
BROKEN = ServerError(500, "InternalError", "etcd is gone")
EMPTY: ObjectList[Object] = ObjectList((), "100")
END = bookmark("30", ends_initial_events=True)


def pod(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


class Half(Random):
    """Chance that always comes out in the middle."""

    def random(self) -> float:
        return 0.5


class Story:
    """A sink that writes down its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def replace(self, records: Iterator[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        self.calls.append(f"replace {len(list(records))} @{version}")

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        self.calls.append(f"apply {len(events)} @{version}")

    def resync(self) -> None:
        self.calls.append("resync")


class Diary(NoHooks):
    """Hooks that keep what they hear of."""

    def __init__(self) -> None:
        self.events: list[ReflectorListed | ReflectorWatched | ReflectorFailed] = []
        self.delays: list[WatchListDelayed] = []

    def watch_list_delayed(self, event: WatchListDelayed, /) -> None:
        self.delays.append(event)

    def reflector_listed(self, event: ReflectorListed, /) -> None:
        self.events.append(event)

    def reflector_watched(self, event: ReflectorWatched, /) -> None:
        self.events.append(event)

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        self.events.append(event)


class Stage:
    """A reflector and everything around it."""

    def __init__(
        self,
        *,
        lists: Iterable[ListAnswer] = (),
        watches: Iterable[WatchAnswer] = (),
        watch_list: bool = False,
        resync: float = 0.0,
        sink: Sink | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, watches=watches, clock=self.clock)
        self.story = Story()
        self.hooks = Diary()
        self.reflector = Reflector(
            self.source,
            sink or self.story,
            watch_list=watch_list,
            resync=resync,
            clock=self.clock,
            random=Half(),
            hooks=self.hooks,
        )

    @asynccontextmanager
    async def running(self, delay: float = 0.0) -> AsyncIterator[None]:
        """Run for ``delay`` seconds and then for the block, cancel, and see that nothing is left behind."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.reflector.run)
            await self.clock.advance(delay)
            yield
            group.cancel_scope.cancel()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert self.source.pending == 0
        assert self.clock.next_timer is None

    @property
    def asked(self) -> list[str]:
        """The requests in short."""
        return [
            ("stream" if request.initial_events else request.verb)
            + f" {request.continue_token or request.version}".rstrip()
            for request in self.source.requests
        ]


A = added(pod("a", "101"))
PAGE: ObjectList[Object] = ObjectList((pod("a", "1"),), "100", continue_token="t")
