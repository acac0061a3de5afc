"""Which failed request is tried again, and after how long. A table and arithmetic; who waits is ``_http``.

The rule is client-go's (``rest.withRetry``), made stricter where it hurts: waits are jittered, a wait that the server
sets too far away is not waited for, and no watch and no reflector's list ever comes here, since a reflector has
rules of its own.

    failure                                    verbs  wait
    -----------------------------------------  -----  -------------------------------------------
    429 or 5xx that says when to come back     all    what it says if within 30 s, and 0 to 10 % more
    connection not made, so nothing was done   all    0.25 s doubling up to 4 s, less up to a half
    connection lost, or no answer in time      GET    the same
    anything else                              none
"""

from random import Random
from typing import Final

from kinformer.errors import RequestError, ServerError, ThrottledError, TransportError

__all__ = ["ATTEMPTS", "delay_before", "is_worth_retrying"]

ATTEMPTS: Final = 5
"""How often a request is made at most, the first time included."""

_LONGEST_RETRY_AFTER: Final = 30.0
_FIRST_DELAY: Final = 0.25
_LONGEST_DELAY: Final = 4.0


def is_worth_retrying(method: str, error: BaseException) -> bool:
    """Whether a request of this method that failed so is safe to repeat and likely to go better."""
    match error:
        case ThrottledError() | ServerError():
            return error.retry_after is not None and error.retry_after <= _LONGEST_RETRY_AFTER
        case TransportError():
            return error.refused or method == "GET"
        case _:
            return False


def delay_before(attempt: int, error: RequestError, random: Random) -> float:
    """Seconds to wait before attempt number ``attempt`` (the first retry is 2), given how the last one failed."""
    if isinstance(error, ThrottledError | ServerError) and error.retry_after is not None:
        return error.retry_after * (1 + 0.1 * random.random())
    delay = min(_FIRST_DELAY * 2.0 ** (attempt - 2), _LONGEST_DELAY)
    return delay * (0.5 + 0.5 * random.random())
