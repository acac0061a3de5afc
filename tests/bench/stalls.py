"""How long a large cache holds the event loop: in a first list, in a relist, and under a steady stream of updates.

A ticker wakes each millisecond, and what counts is the CPU time that passes from one tick to the next: on a machine that
others use as well, the time on the wall says how busy those are. The source makes its objects as they are read, some
at a time, and nobody but the informer keeps them.
"""

import asyncio
import gc
import json
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio

from kinformer.errors import ExpiredError, InvalidError
from kinformer.informer import Notification, SharedInformer, Updated
from kinformer.meta import EventType, Object, ObjectList, Objects, Record, WatchEvent
from kinformer.system_clock import SystemClock
from tests.bench.pods import pod
from tests.bench.source import PODS, WatchLists

CLOCK = SystemClock()
TICK = 0.001
READ = 10
"""Objects that come with one read: 64 KiB."""
PACE = 0.005
"""Seconds between two reads of a steady stream: 2,000 objects a second."""


def run(*, quick: bool) -> bool:
    """Measure, print what was found, and say whether the bounds hold; the quick run, of one round, doubles them."""
    size, rounds, slack = (20_000, 1, 2.0) if quick else (100_000, 5, 1.0)
    found = {
        kind: [asyncio.run(_list_twice(kind(size))) for _ in range(rounds)] for kind in (Fleet, ListedFleet)
    }
    count, seconds = (10_000, 4.0) if quick else (50_000, 20.0)
    ours = asyncio.run(_follow(_informer, count, seconds))
    plain = asyncio.run(_follow(_dict_cache, count, seconds))
    slow = _slowness()
    results = []
    for kind, stalls in found.items():
        first, again = (statistics.median(column) for column in zip(*stalls, strict=True))
        results += [
            _said(f"longest stall in a first {kind.means} of {size:,} objects", first, 0.020 * slack, slow),
            _said("longest stall in another, in which one in a hundred changed", again, 0.020 * slack, slow),
        ]
    results += [
        _said(f"lag at p99.9 with {count:,} cached and 2,000 updates a second", ours, 0.015 * slack, slow),
    ]
    print(f"{'the same with a dict of decoded objects':<64} {plain * 1e3:9.1f} ms")
    return all(results)


def _said(what: str, found: float, bound: float, slow: float) -> bool:
    holds = found <= bound * slow
    print(
        f"{what:<64} {found * 1e3:9.1f} ms  (at most {bound * 1e3:g}, and this machine is {slow:.1f} times slower)"
        f"{'' if holds else '  FAILED'}"
    )
    return holds


def _slowness() -> float:
    """How much longer than on the machine of the bounds, when it has nothing else to do, something takes; at least 1."""
    raw, took = Fleet(1).raw(1, 1), []
    for _ in range(200):
        began = time.process_time()
        json.loads(raw)
        took.append(time.process_time() - began)
    return max(1.0, statistics.median(took) / 31e-6)


class Fleet(WatchLists):
    """A source of many pods: each list finds one in a hundred changed, and a stream follows if it is to."""

    means = "watch-list"

    def __init__(self, size: int, *, flows: bool = False) -> None:
        self.size = size
        self.flows = flows
        self.lists = 0
        self.expired = anyio.Event()
        self._template = json.dumps(pod(0), separators=(",", ":")).encode()

    def raw(self, index: int, version: int) -> bytes:
        """The JSON of the pod of this number at this version."""
        raw = self._template.replace(b"web-000000", b"web-%06d" % index)
        raw = raw.replace(b"8000-000000000000", b"8000-%012d" % index)
        raw = raw.replace(b'"resourceVersion":"100000"', b'"resourceVersion":"%d"' % version)
        raw = raw.replace(b'"namespace":"team-0"', b'"namespace":"team-%d"' % (index % 20))
        return raw.replace(b'"uid":"0"', b'"uid":"%d"' % (index % 300))

    def event(self, kind: EventType, index: int, version: int) -> WatchEvent:
        return WatchEvent(kind, Record.decode(self.raw(index, version), PODS), str(version))

    async def reads(self) -> AsyncIterator[list[WatchEvent]]:
        """All that there is, read by read."""
        self.lists += 1
        self.expired = anyio.Event()
        for start in range(0, self.size, READ):
            await CLOCK.sleep(0)
            numbers = range(start, min(start + READ, self.size))
            yield [self.event(EventType.ADDED, index, 1 if index % 100 else self.lists) for index in numbers]

    async def stream(self) -> AsyncIterator[Sequence[WatchEvent]]:
        async for events in self.reads():
            yield events
        yield [WatchEvent(EventType.BOOKMARK, version=str(self.lists), ends_initial_events=True)]
        if self.flows:
            async for batch in paced(self.size):
                yield [self.event(EventType.MODIFIED, index, version) for version, index in batch]
        await self.expired.wait()
        raise ExpiredError(410, "Expired", "too old")


class ListedFleet(Fleet):
    """A fleet without watch-lists, all of which comes as one page, as a watch cache gives it."""

    means = "list"

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        pieces = [tuple([event.obj.record for event in events]) async for events in self.reads()]
        return ObjectList(Objects.of_pieces(pieces), str(self.lists))

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        if initial_events:
            raise InvalidError(422, "Invalid", "there are no watch-lists")
        yield self.silence()

    async def silence(self) -> AsyncIterator[Sequence[WatchEvent]]:
        yield ()
        await self.expired.wait()
        raise ExpiredError(410, "Expired", "too old")


async def paced(size: int) -> AsyncIterator[Sequence[tuple[int, int]]]:
    """Versions and the numbers of pods at random, some of them each few milliseconds."""
    random, version, due = Random(3), 1000, CLOCK.monotonic()
    while True:
        due += PACE
        await CLOCK.sleep(max(0.0, due - CLOCK.monotonic()))
        batch = [(version + at, random.randrange(size)) for at in range(READ)]
        version += READ
        yield batch


class Ticker:
    """Wakes every millisecond, and keeps how much CPU time has passed from one tick to the next."""

    def __init__(self) -> None:
        self.gaps: list[float] = []

    async def run(self) -> None:
        while True:
            began = time.process_time()
            await CLOCK.sleep(TICK)
            self.gaps.append(time.process_time() - began)

    def take(self) -> list[float]:
        gaps, self.gaps = self.gaps, []
        return gaps


async def _list_twice(fleet: Fleet) -> tuple[float, float]:
    """The longest stall of a first list and of a relist, until all of it is told and cleared away."""
    ticker, heard = Ticker(), 0
    informer = SharedInformer(fleet, random=Random(1))

    def handler(told: Notification[Object]) -> None:
        nonlocal heard
        heard += 1

    async def stall_until(count: int) -> float:
        while heard < count:
            await CLOCK.sleep(0.01)
        await CLOCK.sleep(0.3)
        return max(ticker.take())

    informer.add_handler(handler)
    gc.collect()
    gc.freeze()  # what the interpreter and the imports hold is no concern of a cache
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ticker.run)
        tasks.start_soon(informer.run)
        first = await stall_until(fleet.size)
        fleet.expired.set()
        again = await stall_until(fleet.size + fleet.size // 100)
        tasks.cancel_scope.cancel()
    gc.unfreeze()
    return first, again


class Keeper:
    """User code that keeps some state for each object, as controllers do."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.count = 0

    def note(self, name: str, version: str) -> None:
        self.count += 1
        self.seen[name] = version


async def _collect() -> None:
    """What user code brings about that keeps more and more: now and then the collector goes over everything."""
    while True:
        await CLOCK.sleep(2.0)
        gc.collect()


async def _follow(
    cache: Callable[[Fleet, Keeper], Coroutine[Any, Any, None]], count: int, seconds: float
) -> float:
    """The lag at p99.9 of a ticker, while a cache that holds so many follows a stream."""
    fleet, ticker, keeper = Fleet(count, flows=True), Ticker(), Keeper()
    gc.collect()
    gc.freeze()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cache, fleet, keeper)
        while keeper.count <= count:
            await CLOCK.sleep(0.01)
        tasks.start_soon(ticker.run)
        tasks.start_soon(_collect)
        await CLOCK.sleep(seconds)
        tasks.cancel_scope.cancel()
    gc.unfreeze()
    # Of the ticks that should have been, not only of those that came: a long stall makes many late.
    lags = sorted(gap - late * TICK for gap in ticker.take() for late in range(max(1, int(gap / TICK))))
    return lags[int(len(lags) * 0.999)]


async def _informer(fleet: Fleet, keeper: Keeper) -> None:
    informer = SharedInformer(fleet, random=Random(1))

    def handler(told: Notification[Object]) -> None:
        obj = told.new if isinstance(told, Updated) else told.obj
        keeper.note(obj.key.name, obj.metadata.resource_version)

    informer.add_handler(handler)
    await informer.run()


async def _dict_cache(fleet: Fleet, keeper: Keeper) -> None:
    cache: dict[str, dict[str, Any]] = {}

    def put(raw: bytes) -> None:
        obj = json.loads(raw)
        cache[obj["metadata"]["name"]] = obj
        keeper.note(obj["metadata"]["name"], obj["metadata"]["resourceVersion"])

    for index in range(fleet.size):
        put(fleet.raw(index, 1))
        if not index % READ:
            await CLOCK.sleep(0)
    async for batch in paced(fleet.size):
        for version, index in batch:
            put(fleet.raw(index, version))
