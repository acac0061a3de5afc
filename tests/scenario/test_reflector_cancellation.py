"""A reflector that is cancelled at each of its waits, one run for each, amid every kind of trouble; then it goes on.

After each cut the sink holds what the server held at the reflector's version, no request is open and no timer is set. After
the next run the sink holds what the server holds.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import repeat
from random import Random

import anyio
import pytest

from kinformer.errors import (
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import Object, ObjectList, WatchEvent
from kinformer.reflector import Reflector
from kinformer.testing import (
    HOLD,
    FakeClock,
    ScriptedSource,
    StreamStep,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
)
from tests.scenario.cancellation_stage import Waits
from tests.scenario.reflector_stage import Mirror
from tests.unit.reflector.definitions import DEFINITIONS, WEBSITES, definition

CUT = "cut"
"""A stream that breaks after its first event, and a list that breaks at its second page."""
SILENT = "silent"
"""A stream that shows a bookmark and then nothing."""
SHORT = "short"
"""A stream that ends at once."""
GONE_INSIDE = "gone inside"
"""A stream that ends with a 410."""
Fault = Exception | str
LIFE = 40.0
"""Seconds after which the server ends a stream in good order."""

TROUBLE: list[Fault] = [
    NotFoundError(404),
    NotFoundError(404),
    ForbiddenError(403),
    CUT,
    InvalidError(422),
    CUT,
    ExpiredError(410),
    ServerError(500),
    "",
    CUT,
    TransportError("refused", refused=True),
    ExpiredError(410),
    SILENT,
    ThrottledError(429, retry_after=3.0),
    "",
    GONE_INSIDE,
    SHORT,
    CUT,
]


class Server:
    """Remembers all versions, lists by pages of two, and answers each opening with the next of its faults, then well."""

    resource = WEBSITES

    def __init__(self, clock: FakeClock, faults: Iterable[Fault]) -> None:
        self.contents: list[dict[str, str]] = [{}]
        self.events: list[WatchEvent] = []
        self.open = 0
        self._clock = clock
        self._faults = deque(faults)
        self._written = anyio.Event()
        for name in ("a", "b", "c"):
            self.write(name)

    @property
    def version(self) -> int:
        return len(self.contents) - 1

    def write(self, name: str) -> None:
        """Create, change or, each third time, delete an object."""
        before, at = self.contents[-1], self.version + 1
        obj = website(name, str(at))
        if name in before and at % 3 == 0:
            after = {key: version for key, version in before.items() if key != name}
            self.events.append(deleted(obj))
        else:
            after = {**before, name: str(at)}
            self.events.append(modified(obj) if name in before else added(obj))
        self.contents.append(after)
        self._written.set()
        self._written = anyio.Event()

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        self.open += 1
        try:
            await self._clock.sleep(0.1)
            if continue_token:
                at, _, start = continue_token.partition(":")
                if start == CUT:
                    raise ExpiredError(410)
                return self._page(int(at), int(start), limit)
            if version_match == "Exact":
                return self._page(int(version), 0, 0)
            fault = self._faults.popleft() if self._faults else ""
            if isinstance(fault, Exception):
                raise fault.with_traceback(None)
            page = self._page(self.version, 0, limit)
            return ObjectList(page.items, page.version, f"{page.version}:{CUT}") if fault == CUT else page
        finally:
            self.open -= 1

    def _page(self, at: int, start: int, limit: int) -> ObjectList[Object]:
        items = [website(name, version) for name, version in sorted(self.contents[at].items())]
        if limit and start + 2 < len(items):
            return ObjectList(tuple(items[start : start + 2]), str(at), f"{at}:{start + 2}")
        return ObjectList(tuple(items[start:]), str(at))

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        self.open += 1
        try:
            await self._clock.sleep(0.1)
            fault = self._faults.popleft() if self._faults else ""
            if isinstance(fault, Exception):
                raise fault.with_traceback(None)
            stream = self._stream(version, fault, initial_events=initial_events)
            try:
                yield stream
            finally:
                await stream.aclose()  # type: ignore[attr-defined] # it is a generator
                await self._clock.sleep(0)
        finally:
            self.open -= 1

    async def _stream(
        self, version: str, fault: str, *, initial_events: bool
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        at = self.version if initial_events else int(version)
        if fault == SHORT:
            return
        if initial_events:
            for name, made in self.contents[at].items():
                yield [added(website(name, made))]
                if fault == CUT:
                    raise TransportError("reset")
                await self._clock.sleep(0.1)
            yield [bookmark(str(at), ends_initial_events=True)]
        if fault == GONE_INSIDE:
            yield [error_event(ExpiredError(410))]
            return
        end = self._clock.monotonic() + LIFE
        while self._clock.monotonic() < end:
            while at < self.version:
                yield [self.events[at]]
                at += 1
                if fault == CUT:
                    raise TransportError("reset")
            if fault == SILENT:
                yield [bookmark(str(at))]
                await anyio.Event().wait()
            with self._clock.move_on_after(15.0):
                await self._written.wait()
                continue
            yield [bookmark(str(at))]


def website(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, WEBSITES)


class Stage:
    """A reflector amid trouble, of which it may hear of the definition of its kind."""

    def __init__(self, *, watch_list: bool, check_snapshots: bool) -> None:
        self.clock = FakeClock()
        self.server = Server(self.clock, TROUBLE)
        defined: list[StreamStep] = [3.0, added(definition()), HOLD]
        self.definitions = ScriptedSource(DEFINITIONS, watches=repeat(defined), clock=self.clock)
        self.sink = Mirror()
        self.reflector = Reflector(
            self.server,
            self.sink,
            watch_list=watch_list,
            check_snapshots=check_snapshots,
            definitions=self.definitions,
            resync=45.0,
            clock=self.clock,
            random=Random(1),
        )

    async def live(self, duration: float) -> None:
        """Let time pass, while somebody writes."""
        for number in range(int(duration / 5.0)):
            await self.clock.advance(5.0)
            if number % 4 == 0:
                self.server.write("abcd"[number // 4 % 4])

    def check(self) -> None:
        assert self.server.open == self.definitions.pending == 0
        assert self.clock.next_timer is None
        at = self.reflector.version
        assert self.sink.content == (self.server.contents[int(at)] if at else {})


async def play(stage: Stage, number: int) -> bool:
    """Run for ten minutes, or until the reflector waits for the ``number``-th time; give whether it did."""
    has_ended = False

    async def live() -> None:
        nonlocal has_ended
        await stage.live(600.0)
        has_ended = True
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            tasks.start_soon(live)
            await Waits(stage.reflector.run(), number, scope)
        tasks.cancel_scope.cancel()
    return not has_ended


@pytest.mark.timeout(120)
@pytest.mark.parametrize("check_snapshots", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_a_reflector_may_be_cancelled_at_any_of_its_waits_and_run_again(
    watch_list: bool, check_snapshots: bool
) -> None:
    number = 0
    is_cut = True
    states = set()
    while is_cut:
        number += 1
        stage = Stage(watch_list=watch_list, check_snapshots=check_snapshots)
        is_cut = await play(stage, number)
        stage.check()
        states.add(type(stage.reflector.state).__name__)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.reflector.run)
            await stage.live(600.0)
            await stage.clock.advance(1.0)
            assert stage.sink.content == stage.server.contents[-1], f"after the cut at wait {number}"
            assert stage.reflector.version == str(stage.server.version)
            tasks.cancel_scope.cancel()
        stage.check()
    assert number > 60
    assert states == {"Listing", "Watching", "Waiting"} | ({"Streaming"} if watch_list else set())
