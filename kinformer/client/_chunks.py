"""Chunks: what arrives of a stream, as it arrives, until a moment."""

from collections.abc import AsyncIterator
from typing import Final

import httpx

from kinformer.client._calls import Call
from kinformer.client._failures import FAILURES, transport_error
from kinformer.client._proxies import Proxy
from kinformer.client._receiving import body_of
from kinformer.clock import Clock
from kinformer.errors import TransportError

__all__ = ["Chunks"]


class Chunks:
    """An iterator over the chunks of an answer.

    Args:
        call: What was asked, for messages.
        response: The answer, of which nothing was read yet.
        clock: Measures.
        until: When the answer must have ended.
        proxy: What lies between, for messages.

    Attributes:
        source: What the chunks come from, to be closed by whoever closes the response.
        is_whole: Whether the last chunk has been read.
    """

    def __init__(
        self, call: Call, response: httpx.Response, clock: Clock, until: float, proxy: Proxy | None
    ) -> None:
        self._call = call
        self._proxy = proxy
        self._clock = clock
        self._until = until
        self._is_broken = False
        self.source: Final = body_of(response)
        self.is_whole = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._is_broken:  # the source would say that it has ended, as if the server had ended it
            raise TransportError(
                f"{self._call}: the stream broke off earlier, where it failed or a read was cancelled"
            )
        try:
            with self._clock.move_on_after(self._until - self._clock.monotonic()):
                return await anext(self.source)
        except StopAsyncIteration:
            self.is_whole = True
            raise
        except BaseException as error:
            self._is_broken = True
            if isinstance(error, FAILURES):
                raise transport_error(self._call, error, self._proxy) from error
            raise
        self._is_broken = True
        raise TransportError(f"{self._call}: the server has not ended the stream in its time")

    async def some(self, limit: int, timeout: float) -> bytes:
        """The body, or what could be had of it within ``timeout`` seconds, up to ``limit`` bytes and a chunk."""
        body = bytearray()
        with self._clock.move_on_after(timeout):
            try:
                async for chunk in self.source:
                    body += chunk
                    if len(body) >= limit:
                        break
                else:
                    self.is_whole = True
            except FAILURES:
                pass
        return bytes(body)
