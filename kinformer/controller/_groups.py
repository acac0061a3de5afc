"""Exception groups: a task group wraps even a single error; what leaves us is that error."""

__all__ = ["sole"]


def sole(error: BaseException) -> BaseException:
    """The one error inside a group of one, at any depth; else ``error`` itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
