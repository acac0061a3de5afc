"""CompactSource: a source whose snapshots come in as few bytes as they are going to be held in."""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol, Self, runtime_checkable

from anyio.lowlevel import checkpoint

from kinformer.meta import Object, ObjectList, Objects, Pack, Record, Resource, WatchEvent
from kinformer.reflector import Source

__all__ = ["CompactSource"]


@runtime_checkable
class Packable(Protocol):
    """A source that can pack what it lists."""

    def packing(self, pack: Pack) -> Source:
        """The same source, doing so."""


class CompactSource:
    """A ``Source`` that shortens what is listed, so that a snapshot, which is held until it is whole, is small.

    Beside that, JSON that is allocated, shortened and freed would leave the allocator with memory in pieces: a cache of
    10,000 pods took 1.21 times their JSON, and a compact one 1.28 times, that needed 0.96 and 0.29. Changes come as they
    are.

    A source that can do so itself, as a ``ResourceClient``, shortens each object of a list as soon as it is there.

    Args:
        source: What to read.
        pack: Shortens a record.
    """

    def __init__(self, source: Source, pack: Pack) -> None:
        self._source = source.packing(pack) if isinstance(source, Packable) else source
        self._pack = pack

    @property
    def resource(self) -> Resource:
        """What is listed and watched."""
        return self._source.resource

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        """One page of a list."""
        page = await self._source.list(
            version=version, version_match=version_match, limit=limit, continue_token=continue_token
        )
        came, goes = deque(page.pieces), list[Sequence[Record]]()
        page = replace(page, items=())  # so that each piece is free as soon as it is packed
        while came:
            goes.append(tuple(map(self._pack, came.popleft())))
            await checkpoint()
        return replace(page, items=Objects.of_pieces(goes))

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        """Open a watch."""
        async with self._source.watch(
            version=version, timeout=timeout, bookmarks=bookmarks, initial_events=initial_events
        ) as batches:
            yield _CompactBatches(batches, self._pack) if initial_events else batches


class _CompactBatches:
    """An iterator that compresses what comes until the initial events have ended."""

    def __init__(self, batches: AsyncIterator[Sequence[WatchEvent]], pack: Pack) -> None:
        self._batches = batches
        self._pack = pack
        self._has_ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent]:
        batch = await anext(self._batches)
        if self._has_ended:
            return batch
        self._has_ended = any(event.ends_initial_events for event in batch)
        return [self._compact(event) for event in batch]

    def _compact(self, event: WatchEvent) -> WatchEvent:
        return (
            event if event.record is None else WatchEvent(event.type, self._pack(event.record), event.version)
        )
