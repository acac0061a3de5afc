"""Handlers: the user's functions, and how each is called, decided once when it is registered."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from kinformer.informer._notifications import Added, Deleted, Notification, Updated

__all__ = ["Call", "Handler", "HandlerFunction", "Handlers", "calls_of", "name_of"]

T = TypeVar("T")

HandlerFunction: TypeAlias = Callable[[Notification[T]], Awaitable[None] | None]
"""A function that is told everything; ``async def`` or plain."""


@dataclass(frozen=True)  # with slots, Handlers[Pod](...) is a TypeError up to Python 3.11
class Handlers(Generic[T]):
    """A function for each kind of notification; one that is left out is not told of that kind."""

    on_add: Callable[[Added[T]], Awaitable[None] | None] | None = None
    on_update: Callable[[Updated[T]], Awaitable[None] | None] | None = None
    on_delete: Callable[[Deleted[T]], Awaitable[None] | None] | None = None


Handler: TypeAlias = HandlerFunction[T] | Handlers[T]
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
    if not isinstance(handler, Handlers):
        return dict.fromkeys((Added, Updated, Deleted), _call(handler))
    functions = {Added: handler.on_add, Updated: handler.on_update, Deleted: handler.on_delete}
    return {kind: _call(function) for kind, function in functions.items() if function is not None}


def name_of(handler: object) -> str:
    """A name for logs and metrics."""
    while isinstance(handler, partial):
        handler = handler.func
    return str(getattr(handler, "__qualname__", type(handler).__qualname__))


def _call(function: Callable[[Any], Awaitable[None] | None]) -> Call:
    if not callable(function):
        raise TypeError(f"a handler is a function or Handlers(on_add=...), not {function!r}")
    code = function.func if isinstance(function, partial) else function
    faces = (code, type(code).__call__)  # an instance is async if its __call__ is
    if any(inspect.isgeneratorfunction(face) or inspect.isasyncgenfunction(face) for face in faces):
        raise TypeError(f"handler {name_of(function)} is a generator function: calling it would run nothing")
    return Call(function, any(inspect.iscoroutinefunction(face) for face in faces))
