from datetime import UTC, datetime, timedelta

import pytest

from kinformer.controller._moment import Moment
from kinformer.testing import FakeClock

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("monotonic", "wall", "seconds"),
    [(3, 3, 3), (3, 90, 90), (3, -90, 3)],
    ids=["both", "a monotonic clock that stood", "a wall clock that was put back"],
)
def test_the_clock_that_shows_more_counts(monotonic: float, wall: float, seconds: float) -> None:
    later = Moment(100 + monotonic, START + timedelta(seconds=wall))
    assert later.since(Moment(100, START)) == seconds


async def test_now_reads_both_clocks() -> None:
    clock = FakeClock()
    before = Moment.now(clock)
    await clock.advance(5)
    assert Moment.now(clock).since(before) == 5
    assert Moment.now(clock).wall - before.wall == timedelta(seconds=5)
