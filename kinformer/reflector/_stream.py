"""Stream: a watch whose failures are a value, so that they cannot be taken for those of the sink."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from kinformer.meta import WatchEvent

__all__ = ["Stream"]


class Stream:
    """Open a watch and iterate over its batches; whatever ends it, the iteration just ends.

    ``failure`` then says why, or is ``None`` where the server closed the stream in order. A source is user code as far
    as a reflector can tell, and must not end it: every exception is a failure. Cancellation passes through.
    """

    def __init__(self, watch: AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent]]]) -> None:
        self.failure: Exception | None = None
        self._watch = watch
        self._batches: AsyncIterator[Sequence[WatchEvent]] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the server took the request."""
        return self._batches is not None

    async def __aenter__(self) -> Self:
        try:
            self._batches = await self._watch.__aenter__()
        except Exception as error:  # noqa: BLE001 -- a source must not end the reflector
            self.failure = error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._batches is None:
            return
        try:
            await self._watch.__aexit__(kind, error, traceback)
        except Exception as failure:  # noqa: BLE001 -- closing badly is one more way to break
            self.failure = self.failure or failure

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent]:
        if self._batches is None or self.failure is not None:
            raise StopAsyncIteration
        try:
            return await anext(self._batches)
        except StopAsyncIteration:
            raise
        except Exception as error:  # noqa: BLE001 -- a source must not end the reflector
            self.failure = error
            raise StopAsyncIteration from error
