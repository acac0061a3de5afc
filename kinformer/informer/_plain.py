"""Plain functions: those of users that are called between two awaits, and so must not be async."""

import inspect

__all__ = ["refuse_async", "refuse_awaitable"]


def refuse_async(name: str, function: object, gives: str) -> None:
    """Refuse what is no plain function.

    Args:
        name: The keyword that it was given as.
        function: What was given.
        gives: What it is to give.

    Raises:
        TypeError: It cannot be called, or is async.
    """
    if not callable(function):
        raise TypeError(f"{name}={function!r} must be a function that gives {gives}")
    if any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        raise TypeError(f"{name}={function!r} must be a plain function: it is called between two awaits")


def refuse_awaitable(name: str, function: object, given: object, gives: str) -> None:
    """Refuse what a plain function has given, where it is something to await.

    Raises:
        TypeError: It is.
    """
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()
        raise TypeError(f"{name}={function!r} gave something to await, which nobody does: give {gives}")
