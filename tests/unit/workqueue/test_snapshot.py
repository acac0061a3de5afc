"""What ``snapshot`` and ``gauges`` show, and priorities on their way through the queue."""

from kinformer.hooks import NoHooks
from kinformer.testing import FakeClock
from kinformer.workqueue import DelayedKey, Gauges, PriorityReady, ReadyKey, RunningKey, Snapshot, WorkQueue


class Hearing(NoHooks):
    """Makes the queue look at the clock."""


async def test_a_snapshot_shows_where_every_key_is() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock)
    assert queue.snapshot() == Snapshot(0.0, (), (), (), ())
    await clock.advance(1.0)
    for key in ("a", "b", "c", "d"):
        queue.add(key)
    await queue.get()
    await clock.advance(1.0)
    await queue.get()
    queue.add("a")
    queue.add_after("late", 9.0)
    queue.add_after("soon", 3.0)
    queue.add_after("c", 5.0)
    assert queue.snapshot() == Snapshot(
        now=2.0,
        ready=(ReadyKey("c", 0), ReadyKey("d", 0)),
        delayed=(DelayedKey("soon", 5.0, 0), DelayedKey("c", 7.0, 0), DelayedKey("late", 11.0, 0)),
        running=(RunningKey("a", 1.0, True), RunningKey("b", 2.0, False)),
        parked=(),
    )


async def test_a_snapshot_may_be_cut_short() -> None:
    queue = WorkQueue[str](clock=FakeClock())
    for key in ("a", "b", "c", "d", "e", "f"):
        queue.add(key)
    for delay in (3.0, 1.0, 2.0):
        queue.add_after(f"in {delay:g}", delay)
    for _ in range(3):
        await queue.get()
    cut = queue.snapshot(2)
    assert [each.key for each in cut.ready] == ["d", "e"]
    assert [each.key for each in cut.running] == ["a", "b"]
    assert [each.key for each in cut.delayed] == ["in 1", "in 2"]


async def test_gauges_are_right_whenever_they_are_asked() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock, hooks=Hearing(), ready=PriorityReady())
    queue.add("a", 5)
    await queue.get()
    await clock.advance(2.0)
    queue.add("b")
    await queue.get()
    queue.add("c", priority=-100)
    await clock.advance(1.0)
    queue.add("d", priority=-100)
    queue.add("e")
    queue.add("a")
    queue.add_after("f", 60.0)
    await clock.advance(1.0)
    assert queue.gauges() == Gauges(
        depth=4,
        unfinished_work=6.0,
        longest_running=4.0,
        oldest_waiting={0: 1.0, -100: 2.0},
        delayed=1,
        parked=0,
    )
    queue.shut_down()
    assert queue.gauges().delayed == 0


async def test_without_hooks_nobody_knows_since_when_keys_wait() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    assert queue.gauges() == Gauges(1, 0.0, 0.0, {}, 0, 0)


async def test_more_urgent_keys_overtake() -> None:
    queue = WorkQueue[str](ready=PriorityReady())
    queue.add("low", priority=-100)
    queue.add("a")
    queue.add("low", 7)
    queue.add("b")
    assert [await queue.get() for _ in range(3)] == ["low", "a", "b"]


async def test_a_key_that_is_added_for_later_keeps_the_priority_it_is_held_with_unless_told_otherwise() -> (
    None
):
    clock = FakeClock()
    queue = WorkQueue[str](ready=PriorityReady(), clock=clock)
    queue.add("x", priority=-100)
    await queue.get()
    queue.add_after("x", 5.0)
    assert queue.snapshot().delayed == (DelayedKey("x", 5.0, -100),)
    queue.add_after("x", 9.0, priority=3)
    assert queue.snapshot().delayed == (DelayedKey("x", 5.0, 3),)
    queue.done("x")
    await clock.advance(5.0)
    assert queue.snapshot().ready == (ReadyKey("x", 3),)


async def test_without_levels_a_priority_changes_nothing() -> None:
    queue = WorkQueue[str]()
    queue.add("a", priority=-1)
    queue.add("b", priority=1)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
