"""Pace: a source that is read no faster than what it brings can be taken in."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Self

from kinformer.meta import Object, ObjectList, Resource, WatchEvent
from kinformer.reflector import Source

__all__ = ["PacedSource"]


class PacedSource:
    """A ``Source`` whose watches wait for room before each batch.

    A stream that is not read fills the buffers of the connection, and then the server waits; one that waits too long
    ends the watch, which is taken up again from where it stood. So nothing is lost, and nothing grows without bound.

    Args:
        source: What to read.
        room: Waits until there is room.
    """

    def __init__(self, source: Source, room: Callable[[], Awaitable[None]]) -> None:
        self._source = source
        self._room = room
        self.watches = 0
        """How many were opened."""

    @property
    def resource(self) -> Resource:
        """What is listed and watched."""
        return self._source.resource

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        """One page of a list; there is always room for that."""
        return await self._source.list(
            version=version, version_match=version_match, limit=limit, continue_token=continue_token
        )

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        """Open a watch, whose batches come when there is room."""
        async with self._source.watch(
            version=version, timeout=timeout, bookmarks=bookmarks, initial_events=initial_events
        ) as batches:
            self.watches += 1
            yield _PacedBatches(batches, self._room)


class _PacedBatches:
    """An iterator that waits for room before it asks for more."""

    def __init__(
        self, batches: AsyncIterator[Sequence[WatchEvent]], room: Callable[[], Awaitable[None]]
    ) -> None:
        self._batches = batches
        self._room = room

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent]:
        await self._room()
        return await anext(self._batches)
