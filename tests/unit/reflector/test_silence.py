"""Silence is noticed at its moment, and nothing is left on the clock."""

from kinformer.reflector._silence import Silence
from kinformer.testing import FakeClock


async def test_silence_does_not_matter_before_somebody_listens() -> None:
    clock, noticed = FakeClock(), list[float]()
    with Silence(clock, 75.0, lambda: noticed.append(clock.monotonic())):
        await clock.advance(1000.0)
    assert noticed == []


async def test_silence_is_counted_from_the_last_sound() -> None:
    clock, noticed = FakeClock(), list[float]()
    with Silence(clock, 75.0, lambda: noticed.append(clock.monotonic())) as silence:
        silence.listen()
        await clock.advance(50.0)
        silence.hear()
        silence.listen()
        await clock.advance(50.0)
        silence.hear()
        await clock.advance(74.9)
        assert noticed == []
        await clock.advance(0.1)
        assert noticed == [175.0]
    assert clock.next_timer is None


async def test_leaving_stops_listening() -> None:
    clock, noticed = FakeClock(), list[float]()
    with Silence(clock, 75.0, lambda: noticed.append(clock.monotonic())) as silence:
        silence.listen()
    assert clock.next_timer is None
    await clock.advance(100.0)
    assert noticed == []


async def test_silence_that_goes_on_is_noticed_again_after_each_limit() -> None:
    clock, noticed = FakeClock(), list[tuple[float, float]]()
    with Silence(clock, 10.0, lambda: noticed.append((clock.monotonic(), silence.duration))) as silence:
        silence.listen()
        await clock.advance(25.0)
        silence.hear()
        await clock.advance(15.0)
        assert noticed == [(10.0, 10.0), (20.0, 20.0), (35.0, 10.0)]
    assert clock.next_timer is None


async def test_who_ignores_it_is_not_told_and_leaves_no_timer() -> None:
    clock, noticed = FakeClock(), list[float]()
    with Silence(clock, 10.0, lambda: noticed.append(clock.monotonic())) as silence:
        silence.ignore()
        silence.listen()
        silence.ignore()
        silence.hear()
        assert clock.next_timer is None
        await clock.advance(30.0)
    assert noticed == []
