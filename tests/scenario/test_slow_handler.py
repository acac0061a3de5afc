"""One handler sleeps for an hour while a hundred thousand events flow: the price is paid by its own buffer alone."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import pytest

from kinformer.hooks import HandlerLagging, NoHooks
from kinformer.informer import Notification, SharedInformer
from kinformer.meta import EventType, Object, ObjectList, Record, Resource, WatchEvent
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")
KEYS, BATCH = 100, 500
HOUR = 3600.0

RAW = b'{"metadata":{"name":"p%d","namespace":"default","uid":"u%d","resourceVersion":"%d"}}'


class Torrent:
    """A source with everything at once: a list, and then all the events as fast as they are read, and then no more."""

    resource = PODS

    def __init__(self, events: int) -> None:
        self.events = events
        self.sent = 0

    def event(self, kind: EventType, number: int, version: int) -> WatchEvent:
        return WatchEvent(kind, Record.decode(RAW % (number, number, version), PODS), str(version))

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        raise NotImplementedError

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        yield self.stream() if initial_events else self.silence()

    async def stream(self) -> AsyncIterator[Sequence[WatchEvent]]:
        yield [self.event(EventType.ADDED, number, number) for number in range(KEYS)]
        yield [WatchEvent(EventType.BOOKMARK, version=str(KEYS), ends_initial_events=True)]
        for start in range(KEYS, KEYS + self.events, BATCH):
            self.sent += BATCH
            yield [
                self.event(EventType.MODIFIED, version % KEYS, version)
                for version in range(start, start + BATCH)
            ]
        await anyio.sleep_forever()

    async def silence(self) -> AsyncIterator[Sequence[WatchEvent]]:
        """What is left to send when a watch is opened anew, as it is after a minute without a word."""
        await anyio.sleep_forever()
        yield ()


class Lagging(NoHooks):
    def __init__(self) -> None:
        self.events: list[HandlerLagging] = []

    def handler_lagging(self, event: HandlerLagging, /) -> None:
        self.events.append(event)


class Sleeper:
    """Takes an hour for each call."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.calls = 0

    async def __call__(self, told: Notification[Object]) -> None:
        self.calls += 1
        await self.clock.sleep(HOUR)


@pytest.mark.timeout(60)  # a hundred thousand events take some seconds, and more on a busy machine
@pytest.mark.parametrize(("queue", "events"), [("delta", 100_000), ("in-order", 10_000)])
async def test_a_handler_that_sleeps_for_an_hour_delays_neither_the_others_nor_the_reflector(
    queue: Literal["delta", "in-order"], events: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock, source, hooks = FakeClock(), Torrent(events), Lagging()
    informer = SharedInformer(source, queue=queue, clock=clock, hooks=hooks)
    sleeper, brief = Sleeper(clock), Sleeper(clock)
    told = 0

    def other(notification: Notification[Object]) -> None:
        nonlocal told
        told += 1

    slow = informer.add_handler(sleeper, name="slow")
    merging = informer.add_handler(brief, name="merging", coalesce=True)
    quick = informer.add_handler(other, name="quick")
    async with anyio.create_task_group() as tasks:
        await tasks.start(informer.run)
        while source.sent < events:
            await settle()
        await settle()

        # No time has passed, and everybody but the sleepers is done.
        assert clock.monotonic() == 0.0
        assert told == KEYS + events
        assert {int(record.metadata.resource_version) for record in informer.store} == set(
            range(events, events + KEYS)
        )
        assert (quick.backlog, quick.oldest_age) == (0, 0.0)

        # What the sleepers have not been told can be seen before they wake.
        assert (sleeper.calls, slow.backlog) == (1, KEYS + events - 1)
        assert slow.high_water >= slow.backlog
        assert merging.backlog == KEYS
        assert merging.high_water <= KEYS
        await clock.advance(HOUR / 2)
        assert slow.oldest_age == HOUR / 2

        # And when the first call has ended, it is said aloud, of the one whose buffer has grown.
        with caplog.at_level(logging.WARNING, "kinformer.informer"):
            await clock.advance(HOUR / 2)
        assert [(event.handler, event.backlog, event.duration) for event in hooks.events] == [
            ("slow", KEYS + events - 1, HOUR)
        ]
        assert (
            f"handler slow is slow: {KEYS + events - 1} notifications wait, its last call took 3600.000 s"
            in caplog.text
        )
        assert (sleeper.calls, brief.calls) == (2, 2)
        informer.close()
