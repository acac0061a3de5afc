"""Servers that go away and come back, and clocks that jump."""

from datetime import datetime, timedelta
from heapq import heapify

import pytest

from kinformer.testing import FakeClock
from tests.wire.fault_stage import serving, site

pytestmark = pytest.mark.wire

EARLY = 1_767_225_600_000
"""Where the versions of the first server begin."""

BACKOFF = 60.0
"""Seconds between two tries at most."""


@pytest.mark.parametrize(
    ("first", "within"),
    [(EARLY + 1_000_000, 5.0), (EARLY, 80.0), (1_000, 80.0)],
    ids=["newer", "a little older", "much older"],
)
@pytest.mark.parametrize("outage", [0.0, 600.0])
async def test_a_server_that_restarts_with_another_history_is_followed_without_a_restart_of_ours(
    first: int, within: float, outage: float
) -> None:
    clock = FakeClock()
    async with site(clock) as stage, stage.running():
        await stage.rest()
        assert stage.true() == {"Disconnected"}
        async with serving(clock, "a", "b", "c", first=EARLY) as server, stage.reaching(server):
            await stage.until_equal(within=3.0)
            await server.change()
            assert await stage.until_equal(within=0.0) == 0.0
        await stage.pass_time(outage)
        async with serving(clock, "b", "d", first=first) as server, stage.reaching(server):
            await stage.until_equal(within=within if outage < BACKOFF else within + BACKOFF)
            await server.change()
            assert await stage.until_equal(within=0.0) == 0.0
        # An older server takes a watch from the future and says nothing; its bookmark after a minute gives it away.
        assert stage.asked in ("STREAM WATCH STREAM", "STREAM WATCH STREAM STREAM")


class Watch(FakeClock):
    """A clock that can be set, and a computer that can be put to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self._offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self._offset

    def set(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self._offset += timedelta(seconds=seconds)

    def skip(self, seconds: float) -> None:
        """Let time pass in which nobody runs: whatever was due in it is due now."""
        self._now += seconds
        for timer in self._timers:
            timer.when = max(timer.when, self._now)
        heapify(self._timers)


@pytest.mark.parametrize("seconds", [86_400.0, -86_400.0], ids=["forward", "back"])
async def test_a_wall_clock_that_is_set_makes_no_difference(seconds: float) -> None:
    clock = Watch()
    async with serving(clock, "a", "b", "c") as server, site(clock) as stage, stage.following(server):
        await stage.until_equal(within=0.0)
        clock.set(seconds)
        await stage.pass_time(130.0)
        await server.change()
        assert await stage.until_equal(within=0.0) == 0.0
        assert stage.asked == "STREAM"


@pytest.mark.parametrize("seconds", [80.0, 86_400.0])
async def test_a_computer_that_wakes_up_after_a_sleep_goes_on_with_few_requests(seconds: float) -> None:
    clock = Watch()
    async with serving(clock, "a", "b", "c") as server, site(clock) as stage, stage.following(server):
        await stage.until_equal(within=0.0)
        await server.change()  # the events arrive together with the end of all waits
        clock.skip(seconds)
        await stage.until_equal(within=2.0)
        await stage.pass_time(130.0)
        await server.change()
        assert await stage.until_equal(within=0.0) == 0.0
        assert stage.asked in ("STREAM", "STREAM WATCH")
