"""How a handler is called is decided when it is registered."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import pytest

from kinformer.informer import Added, Deleted, Handler, Handlers, Notification, Updated
from kinformer.informer._handlers import calls_of, name_of

Told = Notification[str]


def plain(told: Told) -> None: ...
async def later(told: Told) -> None: ...
async def with_prefix(prefix: str, told: Told) -> None: ...


class Plain:
    def __call__(self, told: Told) -> None: ...


class Later:
    async def __call__(self, told: Told) -> None: ...

    async def method(self, told: Told) -> None: ...


@pytest.mark.parametrize(
    ("handler", "is_async"),
    [
        pytest.param(plain, False, id="plain function"),
        pytest.param(later, True, id="async function"),
        pytest.param(partial(with_prefix, "x"), True, id="partial of an async function"),
        pytest.param(Plain(), False, id="callable object"),
        pytest.param(Later(), True, id="callable object with an async call"),
        pytest.param(Later().method, True, id="bound async method"),
        pytest.param([].append, False, id="built-in method"),
    ],
)
def test_whether_to_await_is_seen_from_the_function(handler: Handler[str], is_async: bool) -> None:
    calls = calls_of(handler)
    assert {call.is_async for call in calls.values()} == {is_async}
    assert set(calls) == {Added, Updated, Deleted}


def test_a_function_that_is_left_out_is_not_told_of_its_kind() -> None:
    calls = calls_of(Handlers[str](on_add=later, on_delete=plain))
    assert {kind: call.is_async for kind, call in calls.items()} == {Added: True, Deleted: False}


def generator(told: Told) -> Iterator[None]:
    yield


async def async_generator(told: Told) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("handler", [generator, async_generator])
def test_a_generator_function_is_refused(handler: Handler[str]) -> None:
    with pytest.raises(TypeError, match="generator function: calling it would run nothing"):
        calls_of(handler)


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(TypeError, match="a handler is a function"):
        calls_of("print")  # type: ignore[arg-type]  # that is the point


async def test_a_plain_function_that_returns_a_coroutine_is_told_off() -> None:
    disguised: Callable[[Told], Awaitable[None]] = lambda told: later(told)  # noqa: E731, PLW0108 -- the mistake itself
    with pytest.raises(TypeError, match="declare it 'async def'"):
        await calls_of(disguised)[Added](Added("a"))


async def test_a_plain_function_may_return_anything_that_needs_no_waiting() -> None:
    told: list[Told] = []

    def count(notification: Told) -> int:
        told.append(notification)
        return len(told)

    await calls_of(count)[Added](Added("a"))  # type: ignore[arg-type]  # that is the point
    assert told == [Added("a")]


@pytest.mark.parametrize(
    ("handler", "name"),
    [
        (plain, "plain"),
        (partial(with_prefix, "x"), "with_prefix"),
        (Plain(), "Plain"),
        (Later().method, "Later.method"),
    ],
)
def test_a_handler_is_named_after_its_function(handler: object, name: str) -> None:
    assert name_of(handler) == name
