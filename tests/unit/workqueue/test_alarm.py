import pytest

from kinformer.testing import FakeClock
from kinformer.workqueue._alarm import Alarm
from tests.unit.workqueue.stage import TimedClock


async def test_keys_are_let_in_at_their_moments_with_one_timer_for_the_earliest() -> None:
    clock = TimedClock()
    let_in: list[tuple[str, int, float]] = []
    alarm = Alarm[str]("q", clock, lambda key, priority: let_in.append((key, priority, clock.monotonic())))
    for key, when in {"a": 3.0, "b": 2.0, "c": 4.0}.items():
        alarm.add(key, when, 7)
    assert clock.timers == [3.0, 2.0]
    await clock.advance(10.0)
    assert let_in == [("b", 7, 2.0), ("a", 7, 3.0), ("c", 7, 4.0)]
    assert clock.timers == [3.0, 2.0, 3.0, 4.0]


async def test_a_key_may_be_delayed_again_while_it_is_let_in() -> None:
    clock = FakeClock()
    moments: list[float] = []

    def again(key: str, priority: int) -> None:
        moments.append(clock.monotonic())
        if len(moments) < 3:
            alarm.add(key, clock.monotonic() + 1.0, priority)

    alarm = Alarm[str]("q", clock, again)
    alarm.add("a", 1.0, 0)
    alarm.add("z", 100.0, 0)
    await clock.advance(10.0)
    assert moments == [1.0, 2.0, 3.0]
    assert clock.next_timer == 100.0


async def test_what_was_cleared_never_comes_and_what_is_added_then_does() -> None:
    clock = FakeClock()
    let_in: list[str] = []
    alarm = Alarm[str]("q", clock, lambda key, priority: let_in.append(key))
    alarm.add("a", 1.0, 0)
    alarm.clear()
    assert clock.next_timer is None
    alarm.add("b", 2.0, 0)
    await clock.advance(10.0)
    assert let_in == ["b"]


async def test_a_key_that_nobody_takes_in_is_told_in_the_log_and_the_others_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    let_in: list[str] = []

    def choose(key: str, priority: int) -> None:
        if key == "bad":
            raise ValueError("not this one")
        let_in.append(key)

    clock = FakeClock()
    alarm = Alarm[str]("q", clock, choose)
    for key, when in {"a": 1.0, "bad": 1.0, "b": 1.0, "late": 2.0}.items():
        alarm.add(key, when, 0)
    await clock.advance(2.0)
    assert let_in == ["a", "b", "late"]
    assert caplog.messages == ["q: 'bad' was due and is lost, since the queue's order did not take it in"]
