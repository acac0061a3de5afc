"""Which failed request is tried again, how often, and after how long: a table and arithmetic. Who waits is ``_http``.

The rules are client-go's (``rest.withRetry``), but for this: waits are jittered; whoever is told to come back in a second
again and again comes ever more seldom, and for a minute rather than for ten tries; what no try can mend, such as a
certificate, is not tried again; and no watch and no reflector's list ever comes here, since a reflector has rules of
its own.
``docs/reference/client.md`` shows the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from kinformer.errors import ServerError, ThrottledError, TransportError

__all__ = ["PATIENCE", "RULES", "Rule", "delay_before", "is_worth_retrying", "rule_for"]

PATIENCE: Final = 60.0
"""Seconds after the beginning of the first try in which the last one begins at the latest."""

_FIRST_DELAY: Final = 0.25
_LONGEST_DELAY: Final = 4.0
_TENTH: Final = 0.1


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: what may have happened, and what follows from it."""

    failure: str
    """In the words of the documentation, as ``verbs`` and ``wait`` are."""
    verbs: str
    tries: int
    """How often the request is made at most, the first time included."""
    wait: str
    covers: Callable[[str, BaseException], bool]
    """Whether a request of this HTTP method that failed so is meant."""


def _says_when(method: str, error: BaseException) -> bool:  # noqa: ARG001 -- nothing was done, whatever it was
    return isinstance(error, ThrottledError | ServerError) and error.retry_after is not None


def _lasts(method: str, error: BaseException) -> bool:  # noqa: ARG001 -- likewise
    return isinstance(error, TransportError) and error.lasting


def _was_not_made(method: str, error: BaseException) -> bool:  # noqa: ARG001 -- likewise
    return isinstance(error, TransportError) and error.refused


def _was_lost(method: str, error: BaseException) -> bool:
    return isinstance(error, TransportError) and method == "GET"


_DOUBLING: Final = "0.25 s, doubling up to 4 s"

RULES: Final = (
    Rule(
        "429 or 5xx with `Retry-After`",
        "all",
        20,
        f"what it says, from the third try on at least {_DOUBLING}; up to a tenth more",
        _says_when,
    ),
    Rule("a certificate was not accepted, or a proxy wants another password", "all", 1, "", _lasts),
    Rule("no connection was made", "all", 5, f"{_DOUBLING}, less up to a half", _was_not_made),
    Rule(
        "the connection was lost, or no answer came in time",
        "reads",
        5,
        f"{_DOUBLING}, less up to a half",
        _was_lost,
    ),
    Rule("anything else", "all", 1, "", lambda method, error: True),  # noqa: ARG005
)
"""The first row that covers a failure is the one that counts."""


def rule_for(method: str, error: BaseException) -> Rule:
    """The row that covers a failure."""
    return next(rule for rule in RULES if rule.covers(method, error))


def is_worth_retrying(method: str, error: BaseException, *, attempt: int, spent: float) -> bool:
    """Whether a request is to be made once more.

    Args:
        method: The HTTP method.
        error: How it failed.
        attempt: How often it was made by now.
        spent: Seconds since the first try began.
    """
    rule = rule_for(method, error)
    return attempt < rule.tries and spent + _longest_delay(attempt + 1, error) <= PATIENCE


def delay_before(attempt: int, error: BaseException, random: Random) -> float:
    """Seconds to wait before attempt number ``attempt`` (the first retry is 2), given how the last one failed."""
    longest = _longest_delay(attempt, error)
    shortest = longest / (1 + _TENTH) if _says_when("", error) else longest / 2
    return random.uniform(shortest, longest)


def _longest_delay(attempt: int, error: BaseException) -> float:
    if isinstance(error, ThrottledError | ServerError) and error.retry_after is not None:
        least = 0.0 if attempt == 2 else _doubled(attempt - 1)
        return max(error.retry_after, least) * (1 + _TENTH)
    return _doubled(attempt)


def _doubled(attempt: int) -> float:
    return min(_FIRST_DELAY * 2.0 ** (attempt - 2), _LONGEST_DELAY)
