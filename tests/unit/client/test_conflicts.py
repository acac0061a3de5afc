from random import Random
from typing import Any

import anyio
import pytest

from kinformer.client import retry_on_conflict
from kinformer.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from kinformer.testing import FakeClock, settle


class Flaky:
    def __init__(self, *outcomes: Exception | str) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        found = self.outcomes.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


async def retried(flaky: Flaky, **options: Any) -> tuple[Any, float]:
    clock = FakeClock()
    found: list[Any] = []

    async def run() -> None:
        try:
            found.append(await retry_on_conflict(flaky, clock=clock, random=Random(1), **options))
        except ApiError as error:
            found.append(error)
        found.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await clock.advance(10.0)
    return found[0], found[1]


async def test_a_conflict_is_tried_again_after_a_moment() -> None:
    flaky = Flaky(ConflictError(409), ConflictError(409), "done")
    result, moment = await retried(flaky)
    assert (result, flaky.calls) == ("done", 3)
    assert 0.020 <= moment <= 0.022


async def test_the_last_conflict_is_raised() -> None:
    conflicts = [ConflictError(409, message=str(number)) for number in range(5)]
    flaky = Flaky(*conflicts)
    error, _ = await retried(flaky)
    assert error is conflicts[-1]
    assert flaky.calls == 5


@pytest.mark.parametrize("error", [NotFoundError(404), AlreadyExistsError(409)])
async def test_another_failure_is_raised_at_once(error: ApiError) -> None:
    flaky = Flaky(error, "done")
    assert (await retried(flaky))[0] is error
    assert flaky.calls == 1


async def test_the_number_of_attempts_and_the_delay_can_be_chosen() -> None:
    flaky = Flaky(*[ConflictError(409)] * 3)
    _, moment = await retried(flaky, attempts=3, delay=1.0)
    assert flaky.calls == 3
    assert 2.0 <= moment <= 2.2
    with pytest.raises(ValueError, match="attempts 0"):
        await retry_on_conflict(flaky, attempts=0)


async def test_waiting_for_the_next_attempt_can_be_cancelled() -> None:
    clock = FakeClock()
    flaky = Flaky(ConflictError(409), "done")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: retry_on_conflict(flaky, clock=clock))
        await settle()
        tasks.cancel_scope.cancel()
    assert clock.next_timer is None
    assert flaky.calls == 1
