from kinformer.hooks import KeyAdded, KeyDone, KeyRetried, KeyTaken, NoHooks
from kinformer.testing import FakeClock
from kinformer.workqueue._meter import Meter


class Heard(NoHooks):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def key_added(self, event: KeyAdded, /) -> None:
        self.events.append(event)

    def key_taken(self, event: KeyTaken, /) -> None:
        self.events.append(event)

    def key_done(self, event: KeyDone, /) -> None:
        self.events.append(event)

    def key_retried(self, event: KeyRetried, /) -> None:
        self.events.append(event)


async def test_waits_and_work_are_measured_from_add_to_take_to_done() -> None:
    clock, heard = FakeClock(), Heard()
    meter = Meter[str]("pods", clock, heard)
    meter.added("x", 1)
    await clock.advance(2.0)
    meter.taken("x", 0)
    await clock.advance(3.0)
    meter.done("x")
    meter.retried(0.5)
    assert heard.events == [
        KeyAdded("pods", 1),
        KeyTaken("pods", 0, 2.0),
        KeyDone("pods", 3.0),
        KeyRetried("pods", 0.5),
    ]


async def test_a_key_added_while_it_is_held_waits_from_that_add() -> None:
    clock, heard = FakeClock(), Heard()
    meter = Meter[str]("pods", clock, heard)
    meter.added("x", 1)
    meter.taken("x", 0)
    await clock.advance(1.0)
    meter.added("x", 1)
    await clock.advance(4.0)
    meter.done("x")
    await clock.advance(2.0)
    meter.taken("x", 0)
    assert heard.events[-2:] == [KeyDone("pods", 5.0), KeyTaken("pods", 0, 6.0)]


def test_a_key_that_was_in_the_order_before_counts_from_its_take() -> None:
    heard = Heard()
    meter = Meter[str]("pods", FakeClock(), heard)
    meter.taken("x", 0)
    assert heard.events == [KeyTaken("pods", 0, 0.0)]


def test_nothing_is_remembered_of_a_key_that_is_done() -> None:
    meter = Meter[str]("pods", FakeClock(), Heard())
    meter.added("x", 1)
    meter.taken("x", 0)
    meter.done("x")
    assert not meter._added
    assert not meter._taken
