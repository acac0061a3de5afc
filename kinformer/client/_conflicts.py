"""Trying again when somebody else was faster."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

from kinformer.clock import Clock
from kinformer.errors import AlreadyExistsError, ConflictError
from kinformer.system_clock import SystemClock

__all__ = ["retry_on_conflict"]

T = TypeVar("T")


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    delay: float = 0.010,
    clock: Clock | None = None,
    random: Random | None = None,
) -> T:
    """Call ``attempt`` until it does not end in a conflict (``retry.RetryOnConflict`` with ``DefaultRetry``).

    It must read the object anew each time, or the next try will conflict as the last one did.

    Args:
        attempt: Reads, changes and replaces an object.
        attempts: How often it is called at most.
        delay: Seconds between two calls, to which up to a tenth is added at random.
        clock: What to wait by.
        random: Where the tenth comes from.

    Raises:
        ConflictError: The last attempt's own. An ``AlreadyExistsError`` is raised at once: waiting does not help.
    """
    if attempts < 1:
        raise ValueError(f"attempts {attempts} must be at least 1")
    clock = clock or SystemClock()
    random = random or Random()  # noqa: S311 -- spreads retries, keeps no secret
    for _ in range(attempts - 1):
        try:
            return await attempt()
        except AlreadyExistsError:
            raise
        except ConflictError:
            await clock.sleep(delay * (1 + 0.1 * random.random()))
    return await attempt()
