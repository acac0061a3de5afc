import anyio
import pytest

from kinformer.tasks import open_task_group, sole


async def fail(error: Exception) -> None:
    raise error


async def test_one_error_leaves_as_itself_with_its_own_cause() -> None:
    cause, error = ValueError("cause"), KeyError("failed")
    error.__cause__ = cause
    with pytest.raises(KeyError) as caught:
        async with open_task_group() as outer:
            async with anyio.create_task_group() as inner:
                inner.start_soon(fail, error)
            outer.start_soon(fail, AssertionError("never started"))
    assert caught.value is error
    assert error.__cause__ is cause


async def test_an_error_of_the_body_leaves_as_itself() -> None:
    with pytest.raises(KeyError, match="body"):
        async with open_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            raise KeyError("body")


async def test_several_errors_leave_as_a_group() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with open_task_group() as tasks:
            tasks.start_soon(fail, KeyError("one"))
            tasks.start_soon(fail, ValueError("two"))
    assert {type(error) for error in caught.value.exceptions} == {KeyError, ValueError}
    assert sole(caught.value) is caught.value


async def test_without_an_error_nothing_leaves() -> None:
    done = []

    async def work() -> None:
        done.append(True)

    async with open_task_group() as tasks:
        tasks.start_soon(work)
    assert done == [True]


async def test_cancelling_the_scope_around_it_is_not_an_error() -> None:
    with anyio.CancelScope() as scope:
        async with open_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            scope.cancel()
    assert scope.cancelled_caught


async def test_cancelling_its_own_scope_ends_the_body_without_an_error() -> None:
    async with open_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)
        tasks.cancel_scope.cancel()
        await anyio.sleep_forever()
