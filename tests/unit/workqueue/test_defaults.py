import math
from random import Random

import pytest

from kinformer.testing import FakeClock
from kinformer.workqueue import client_go_default, controller_default


async def test_one_failing_item_waits_as_in_client_go() -> None:
    clock = FakeClock()
    limiter = client_go_default(clock)
    waits = []
    for _ in range(20):
        waits.append(limiter.delay("x"))
        await clock.advance(1.0)
    assert waits[:4] == [0.005, 0.010, 0.020, 0.040]
    assert waits[17:] == [655.36, 1000.0, 1000.0]
    limiter.forget("x")
    assert limiter.delay("x") == 0.005


async def test_the_101st_item_that_fails_at_once_waits_for_the_bucket() -> None:
    limiter = client_go_default(FakeClock())
    waits = [limiter.delay(key) for key in range(102)]
    assert waits[:100] == [0.005] * 100
    assert waits[100:] == pytest.approx([0.1, 0.2])


def test_the_real_clock_is_the_default() -> None:
    assert client_go_default().delay("x") == 0.005


async def test_a_controller_waits_from_a_tenth_of_a_second_to_five_minutes() -> None:
    clock = FakeClock()
    limiter = controller_default(Random(7), clock=clock)
    waits = []
    for _ in range(49):
        waits.append(limiter.delay("x"))
        await clock.advance(300.0)
    assert 0.1 <= waits[0] <= 0.2
    assert all(0.1 <= wait <= 300.0 for wait in waits)
    assert all(wait >= 150.0 for wait in waits[12:])
    assert len(set(waits)) == len(waits)
    assert limiter.delay("x") == math.inf, "the fiftieth failure parks"


async def test_a_controller_does_not_count_failures_in_the_middle_of_a_wait() -> None:
    clock = FakeClock()
    limiter = controller_default(Random(7), clock=clock, attempts=3)
    wait = limiter.delay("x")
    await clock.advance(wait / 2)
    assert [limiter.delay("x") for _ in range(10)] == [pytest.approx(wait / 2)] * 10
    assert limiter.requeues("x") == 1


def test_controllers_do_not_share_their_chance() -> None:
    assert controller_default().delay("x") != controller_default().delay("x")
