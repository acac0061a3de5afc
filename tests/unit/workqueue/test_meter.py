from kinformer.hooks import KeyAdded, KeyParked, KeyResumed, KeyRetried, KeyTaken
from kinformer.workqueue._meter import Meter
from tests.unit.workqueue.stage import Heard


def test_waits_are_measured_from_add_to_take() -> None:
    heard = Heard()
    meter = Meter[str]("pods", heard)
    meter.added("x", 1.0)
    meter.taken("x", 3.0)
    meter.retried(0.5)
    assert heard.events == [KeyAdded("pods", 1), KeyTaken("pods", 0, 2.0), KeyRetried("pods", 0.5)]


def test_what_is_parked_and_resumed_is_told_with_how_many_are() -> None:
    heard = Heard()
    meter = Meter[str]("pods", heard)
    meter.parked(1, 50, "ValueError: no")
    meter.resumed(0)
    assert heard.events == [KeyParked("pods", 1, 50, "ValueError: no"), KeyResumed("pods", 0)]


def test_a_key_that_was_in_the_order_before_counts_from_its_take() -> None:
    heard = Heard()
    meter = Meter[str]("pods", heard)
    meter.taken("x", 7.0)
    assert heard.events == [KeyTaken("pods", 0, 0.0)]


def test_the_oldest_of_each_priority_is_that_of_the_oldest_head() -> None:
    meter = Meter[str]("pods", Heard())
    meter.added("a", 1.0)
    meter.added("b", 2.0)
    meter.added("c", 4.0)
    assert meter.oldest([(5, "b"), (5, "a"), (-1, "c"), (-2, "unknown")], 5.0) == {5: 4.0, -1: 1.0, -2: 0.0}


def test_nothing_is_remembered_of_a_key_that_is_taken() -> None:
    meter = Meter[str]("pods", Heard())
    meter.added("x", 1.0)
    meter.taken("x", 1.0)
    assert not meter._since
