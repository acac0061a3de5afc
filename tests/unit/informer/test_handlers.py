"""How a handler is called is decided when it is registered."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import pytest

from kinformer.informer import Added, Deleted, FilteringHandler, Handler, Handlers, Notification, Updated
from kinformer.informer._handlers import calls_of, filter_of, name_of

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


def test_a_filtering_handler_is_called_as_what_it_filters_for_and_named_like_it() -> None:
    handler: FilteringHandler[str] = FilteringHandler(bool, Handlers(on_add=later, on_delete=plain))
    calls = calls_of(handler)
    assert {kind: call.is_async for kind, call in calls.items()} == {Added: True, Deleted: False}
    assert name_of(FilteringHandler(bool, partial(with_prefix, "x"))) == "with_prefix"
    assert name_of(partial(plain)) == "plain"


def test_each_registration_has_a_filter_of_its_own_and_only_a_filtering_handler_has_one() -> None:
    handler: FilteringHandler[str] = FilteringHandler(bool, plain)
    assert filter_of(handler) is not filter_of(handler)
    assert filter_of(plain) is None
    assert filter_of(Handlers(on_add=plain)) is None


@pytest.mark.parametrize("when", [None, True, later, Later()])
def test_what_a_handler_is_filtered_by_must_be_a_plain_function(when: object) -> None:
    with pytest.raises(TypeError, match="when="):
        filter_of(FilteringHandler(when, plain))  # type: ignore[arg-type]  # that it does not fit is the point


def test_a_filtering_handler_filters_no_other_one() -> None:
    inner: FilteringHandler[str] = FilteringHandler(bool, plain)
    with pytest.raises(TypeError, match="a handler is a function or Handlers"):
        calls_of(FilteringHandler(bool, inner))  # type: ignore[arg-type]  # as above
