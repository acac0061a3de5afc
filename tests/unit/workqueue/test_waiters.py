import anyio

from kinformer.testing import settle
from kinformer.workqueue._waiters import Waiters, give_way


async def test_the_longest_waiting_is_woken_and_no_more_than_there_are_keys() -> None:
    keys: list[str] = []
    waiters = Waiters(keys)
    woken: list[int] = []

    async def wait(number: int) -> None:
        await waiters.wait()
        woken.append(number)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(wait, number)
        await settle()
        waiters.wake_one()
        await settle()
        assert woken == []
        keys.append("x")
        waiters.wake_one()
        waiters.wake_one()
        assert len(waiters.sleeping) == 2
        await settle()
        assert woken == [0]
        waiters.wake_all()
    assert woken == [0, 1, 2]
    assert waiters._woken == 0


async def test_a_wake_that_meets_a_cancellation_goes_to_the_next() -> None:
    waiters = Waiters(["x"])
    woken: list[str] = []
    scope = anyio.CancelScope()

    async def first() -> None:
        with scope:
            await waiters.wait()
            woken.append("first")

    async def second() -> None:
        await waiters.wait()
        woken.append("second")

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await settle()
        group.start_soon(second)
        await settle()
        scope.cancel()
        waiters.wake_one()
    assert woken == ["second"]
    assert waiters._woken == 0


async def test_giving_way_lets_others_run_and_hears_a_cancellation() -> None:
    steps: list[str] = []

    async def other() -> None:
        steps.append("other")

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        await give_way()
        steps.append("back")
    assert steps == ["other", "back"]
    with anyio.CancelScope() as scope:
        scope.cancel()
        while True:
            await give_way()
    assert scope.cancelled_caught
