"""ScriptedSource: a server that follows a script, for tests of what reads from one."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeAlias

import anyio

from kinformer.clock import Clock
from kinformer.errors import RequestError
from kinformer.meta import EventType, Object, ObjectList, Resource, WatchEvent

__all__ = [
    "HOLD",
    "After",
    "ListAnswer",
    "ScriptedRequest",
    "ScriptedSource",
    "StreamStep",
    "WatchAnswer",
    "added",
    "bookmark",
    "deleted",
    "error_event",
    "modified",
]


class Hold(Enum):
    """See ``HOLD``."""

    HOLD = "hold"


HOLD: Final = Hold.HOLD
"""Never answer; at the end of a stream: never close it."""


@dataclass(frozen=True, slots=True)
class After:
    """Answer after ``delay`` seconds."""

    delay: float
    answer: "ObjectList[Object] | Exception | Sequence[StreamStep]"


StreamStep: TypeAlias = WatchEvent | Sequence[WatchEvent] | float | Exception | Hold
"""An event, a batch of events, seconds to pass, an exception to break with, or ``HOLD``."""

ListAnswer: TypeAlias = ObjectList[Object] | Exception | After | Hold
WatchAnswer: TypeAlias = Sequence[StreamStep] | Exception | After | Hold


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """One request as it arrived; what the verb does not have is at its default."""

    verb: Literal["list", "watch"]
    at: float
    """The moment of arrival, in the clock's monotonic seconds."""
    version: str = ""
    version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout: int = 0
    bookmarks: bool = False
    initial_events: bool = False


class ScriptedSource:
    """A source (``kinformer.reflector.Source``) that answers from two scripts and writes down what it was asked.

    Each LIST, a later page included, takes the next of ``lists``: a page, or an exception to raise. Each WATCH takes
    the next of ``watches``: an exception to refuse it with, or the steps of a stream, which closes in good order after
    the last one. ``After`` delays an answer. Where a script has ended, a request is never answered.

    Args:
        resource: What is served.
        lists: The answers to LISTs; may be endless.
        watches: The answers to WATCHes; may be endless.
        clock: The time that requests are noted by and that pauses take.
    """

    def __init__(
        self,
        resource: Resource,
        *,
        lists: Iterable[ListAnswer] = (),
        watches: Iterable[WatchAnswer] = (),
        clock: Clock,
    ) -> None:
        self.requests: Final[list[ScriptedRequest]] = []
        self._resource = resource
        self._lists = iter(lists)
        self._watches = iter(watches)
        self._clock = clock
        self._open = 0

    @property
    def resource(self) -> Resource:
        """What is served."""
        return self._resource

    @property
    def lists(self) -> list[ScriptedRequest]:
        """The LISTs so far."""
        return [request for request in self.requests if request.verb == "list"]

    @property
    def watches(self) -> list[ScriptedRequest]:
        """The WATCHes so far."""
        return [request for request in self.requests if request.verb == "watch"]

    @property
    def pending(self) -> int:
        """How many requests are unanswered and streams open; zero once everybody has gone."""
        return self._open

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        """Answer a LIST by the script.

        Raises:
            Exception: What the script says.
        """
        self.requests.append(
            ScriptedRequest(
                "list",
                self._clock.monotonic(),
                version=version,
                version_match=version_match,
                limit=limit,
                continue_token=continue_token,
            )
        )
        self._open += 1
        try:
            answer = await self._answer(next(self._lists, HOLD))
        finally:
            self._open -= 1
        if not isinstance(answer, ObjectList):
            raise TypeError(f"the script answers a LIST with {answer!r}; it takes a page or an exception")
        return answer

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        """Answer a WATCH by the script. Each event that is not in a batch is one by itself.

        Raises:
            Exception: What the script says, from entering or from the iteration.
        """
        self.requests.append(
            ScriptedRequest(
                "watch",
                self._clock.monotonic(),
                version=version,
                timeout=timeout,
                bookmarks=bookmarks,
                initial_events=initial_events,
            )
        )
        self._open += 1
        try:
            steps = await self._answer(next(self._watches, HOLD))
            if isinstance(steps, ObjectList):
                raise TypeError(f"the script answers a WATCH with {steps!r}; it takes steps or an exception")
            stream = self._play(steps)
            try:
                yield stream
            finally:
                await stream.aclose()
        finally:
            self._open -= 1

    async def _answer(self, answer: ListAnswer | WatchAnswer) -> ObjectList[Object] | Sequence[StreamStep]:
        if isinstance(answer, After):
            await self._clock.sleep(answer.delay)
            answer = answer.answer
        while isinstance(answer, Hold):
            await anyio.sleep_forever()
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)  # which would grow, where one is raised again and again
        return answer

    async def _play(self, steps: Sequence[StreamStep]) -> AsyncGenerator[Sequence[WatchEvent], None]:
        for step in steps:
            match step:
                case WatchEvent():
                    yield (step,)
                case int() | float():
                    await self._clock.sleep(step)
                case Exception():
                    raise step.with_traceback(None)
                case Hold():
                    await anyio.sleep_forever()
                case _:
                    yield step


def added(obj: Object) -> WatchEvent:
    """The event of an object that came into being."""
    return WatchEvent(EventType.ADDED, obj.record, obj.metadata.resource_version)


def modified(obj: Object) -> WatchEvent:
    """The event of an object that changed."""
    return WatchEvent(EventType.MODIFIED, obj.record, obj.metadata.resource_version)


def deleted(obj: Object) -> WatchEvent:
    """The event of an object that is gone; its version is that of the deletion."""
    return WatchEvent(EventType.DELETED, obj.record, obj.metadata.resource_version)


def bookmark(version: str, *, ends_initial_events: bool = False) -> WatchEvent:
    """A bookmark: the stream has come as far as ``version``."""
    return WatchEvent(EventType.BOOKMARK, version=version, ends_initial_events=ends_initial_events)


def error_event(error: RequestError) -> WatchEvent:
    """An error inside the stream: an ``ApiError`` from the server, or a ``DecodeError`` for one line."""
    return WatchEvent(EventType.ERROR, error=error)
