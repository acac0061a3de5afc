"""Refreshes: how many who want to know something newer share the asking. Pure; who asks and waits is ``_mapper``."""

from enum import Enum
from typing import Generic, TypeVar

from kinformer.errors import RequestError

__all__ = ["Refreshes", "Step"]

T = TypeVar("T")


class Step(Enum):
    """What somebody with a question does next."""

    ANSWER = "take the value, which is newer than the question"
    FAIL = "give up: a refresh that began after the question has failed"
    WAIT = "wait until something changes: somebody refreshes"
    LEAD = "refresh"


class Refreshes(Generic[T]):
    """A value, and the refreshes that made it.

    A question is answered by a refresh that began after it, never by an older one. At most one is led at a time, and
    whoever asks before it begins shares it. Refreshes are numbered as they begin; a question's ticket is the number of
    the last one before it.
    """

    __slots__ = ("_begun", "_failed", "_is_led", "_outdated", "_succeeded", "failure", "value")

    def __init__(self) -> None:
        self.value: T | None = None
        self.failure: RequestError | None = None
        self._begun = 0
        self._succeeded = 0
        self._failed = 0
        self._outdated = 0
        self._is_led = False

    def ask(self) -> int:
        """A ticket for a question that comes up now."""
        return self._begun

    def next_step(self, ticket: int) -> Step:
        """What the holder of a ticket does next. With ``LEAD``, the holder calls ``lead`` before it waits for anything."""
        if self._succeeded > ticket:
            return Step.ANSWER
        if self._failed > ticket:
            return Step.FAIL
        return Step.WAIT if self._is_led else Step.LEAD

    def lead(self) -> None:
        """Be the one who refreshes, until ``leave``."""
        if self._is_led:
            raise RuntimeError("somebody refreshes already: wait for that")
        self._is_led = True

    def begin(self) -> None:
        """The refresh begins: what is asked from now on is for a later one."""
        self._begun += 1

    def succeed(self, value: T) -> None:
        """The refresh that began last gave this; unless it was outdated meanwhile, it is the value now."""
        if self._begun > self._outdated:
            self.value = value
            self._succeeded = self._begun

    def fail(self, failure: RequestError) -> None:
        """The refresh that began last failed; the value stays as it is."""
        self.failure = failure
        self._failed = self._begun

    def leave(self) -> None:
        """Lead no more, whatever came of it; if nothing did, another one may lead."""
        self._is_led = False

    def invalidate(self) -> None:
        """Know nothing, and do not learn it from a refresh that has begun."""
        self.value = None
        self._succeeded = 0
        self._outdated = self._begun
