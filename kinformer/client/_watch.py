"""Batches: a watch, read by chunks and given on by all the events that a chunk completes."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from kinformer.client._calls import Call
from kinformer.client._codec import WatchDecoder
from kinformer.meta import Resource, WatchEvent

if TYPE_CHECKING:
    from kinformer.client._http import Http

__all__ = ["GRACE", "LONGEST", "Batches", "open_watch"]

GRACE: Final = 30.0
"""Seconds after ``timeoutSeconds`` in which the server should have ended the stream."""

LONGEST: Final = 3600
"""Seconds after which a server ends a watch that named no time (``--min-request-timeout`` doubled)."""


@asynccontextmanager
async def open_watch(
    http: "Http", call: Call, resource: Resource, *, timeout: int
) -> AsyncGenerator[AsyncIterator[Sequence[WatchEvent]]]:
    """Open the stream and give an iterator over its batches; leaving closes the connection.

    Raises:
        RequestError: From entering: no answer, or a refusal. From the iteration: the connection was lost, the server
            forgot to end the stream, or a line is longer than can be.
    """
    async with http.stream(call, within=(timeout or LONGEST) + GRACE) as chunks:
        yield Batches(chunks, WatchDecoder(resource, str(call)))


class Batches:
    """An iterator over batches, none of them empty."""

    def __init__(self, chunks: AsyncIterator[bytes], decoder: WatchDecoder) -> None:
        self._chunks = chunks
        self._decoder = decoder

    def __aiter__(self) -> AsyncIterator[Sequence[WatchEvent]]:
        return self

    async def __anext__(self) -> Sequence[WatchEvent]:
        async for chunk in self._chunks:
            if batch := self._decoder.feed(chunk):
                return batch
        if batch := self._decoder.finish():
            return batch
        raise StopAsyncIteration
