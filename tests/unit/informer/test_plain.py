"""Functions of users that are called between two awaits must be plain ones."""

from functools import partial
from typing import Any

import pytest

from kinformer.informer._plain import refuse_async, refuse_awaitable


async def later(value: int) -> int:
    return value


class Later:
    async def __call__(self, value: int) -> int:
        return value


@pytest.mark.parametrize("function", [abs, lambda value: value, str, partial(pow, 2)])
def test_a_plain_function_passes(function: Any) -> None:
    refuse_async("when", function, "a number")
    refuse_awaitable("when", function, 7, "a number")


@pytest.mark.parametrize("function", [later, Later(), partial(later, 1)])
def test_an_async_one_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=r"when=.* must be a plain function"):
        refuse_async("when", function, "a number")


@pytest.mark.parametrize("function", [None, 7, "abs", [abs]])
def test_so_is_what_is_no_function(function: Any) -> None:
    with pytest.raises(TypeError, match=r"when=.* must be a function that gives a number"):
        refuse_async("when", function, "a number")


def test_what_is_to_be_awaited_is_refused_and_leaves_nothing_unawaited() -> None:
    with pytest.raises(TypeError, match=r"when=.* gave something to await, which nobody does: give a number"):
        refuse_awaitable("when", later, later(1), "a number")
