"""Handlers: the user's functions, and how each is called, decided once when it is registered."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from kinformer.informer._filter import Filter
from kinformer.informer._notifications import Added, Deleted, Notification, Updated

__all__ = [
    "Call",
    "FilteringHandler",
    "Handler",
    "HandlerFunction",
    "Handlers",
    "calls_of",
    "filter_of",
    "name_of",
]

T = TypeVar("T")

HandlerFunction: TypeAlias = Callable[[Notification[T]], Awaitable[None] | None]
"""A function that is told everything; ``async def`` or plain."""


@dataclass(frozen=True)  # with slots, Handlers[Pod](...) is a TypeError up to Python 3.11
class Handlers(Generic[T]):
    """A function for each kind of notification; one that is left out is not told of that kind."""

    on_add: Callable[[Added[T]], Awaitable[None] | None] | None = None
    on_update: Callable[[Updated[T]], Awaitable[None] | None] | None = None
    on_delete: Callable[[Deleted[T]], Awaitable[None] | None] | None = None


@dataclass(frozen=True)
class FilteringHandler(Generic[T]):
    """Tell ``handler`` only of objects that pass ``when`` (client-go's ``FilteringResourceEventHandler``).

    An update with which an object begins to pass is told as an add, and one with which it ceases to as a deletion, of
    the state before. Each registration remembers the keys of what it has told to be there, so that a deletion is told
    just where the add was, even where the last state does not pass any more, or is a tombstone's.

    Where ``when`` raises, that is logged and counted as a failure of the handler, which is not told of that
    notification; the next one of that object is judged as if it were the first. Cheap and plain: it runs on the event
    loop, once for each new state, also for those that a predicate of the server would never have sent. Where labels or
    fields say it, a selector saves the memory too.
    """

    when: Callable[[T], bool]
    handler: HandlerFunction[T] | Handlers[T]


Handler: TypeAlias = HandlerFunction[T] | Handlers[T] | FilteringHandler[T]
"""What ``add_handler`` takes."""


@dataclass(frozen=True, slots=True)
class Call:
    """One function and whether to await it."""

    function: Callable[[Any], Awaitable[None] | None]
    is_async: bool

    async def __call__(self, notification: Any) -> None:
        """Call the function.

        Raises:
            TypeError: A function that was not declared ``async def`` returned something to await.
        """
        result = self.function(notification)
        if result is None:
            return
        if self.is_async:
            await result
        elif inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(
                f"handler {name_of(self.function)} is a plain function that returned an awaitable, which nobody "
                "awaits: declare it 'async def'"
            )


def calls_of(handler: Handler[T]) -> Mapping[type, Call]:
    """The call for each type of notification.

    Raises:
        TypeError: It is not callable, or is a generator function, whose body a call does not run.
    """
    if isinstance(handler, FilteringHandler):
        handler = handler.handler
    if not isinstance(handler, Handlers):
        return dict.fromkeys((Added, Updated, Deleted), _call(handler))
    functions = {Added: handler.on_add, Updated: handler.on_update, Deleted: handler.on_delete}
    return {kind: _call(function) for kind, function in functions.items() if function is not None}


def filter_of(handler: Handler[T]) -> Filter[T] | None:
    """What decides which notifications the calls are made for; one for each registration.

    Raises:
        TypeError: The predicate is no plain function.
    """
    return Filter(handler.when) if isinstance(handler, FilteringHandler) else None


def name_of(handler: object) -> str:
    """A name for logs and metrics."""
    while isinstance(handler, partial | FilteringHandler):
        handler = handler.func if isinstance(handler, partial) else handler.handler
    return str(getattr(handler, "__qualname__", type(handler).__qualname__))


def _call(function: Callable[[Any], Awaitable[None] | None]) -> Call:
    if not callable(function):
        raise TypeError(f"a handler is a function or Handlers(on_add=...), not {function!r}")
    code = function.func if isinstance(function, partial) else function
    faces = (code, type(code).__call__)  # an instance is async if its __call__ is
    if any(inspect.isgeneratorfunction(face) or inspect.isasyncgenfunction(face) for face in faces):
        raise TypeError(f"handler {name_of(function)} is a generator function: calling it would run nothing")
    return Call(function, any(inspect.iscoroutinefunction(face) for face in faces))
