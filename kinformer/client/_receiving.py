"""What becomes of the body of an answer, chunk by chunk."""

from collections.abc import AsyncIterator
from typing import Protocol, TypeVar

import httpx

__all__ = ["Receiver", "Whole", "body_of"]

T_co = TypeVar("T_co", covariant=True)


class Receiver(Protocol[T_co]):
    """Takes the chunks of one body, and makes something of them."""

    def feed(self, chunk: bytes, /) -> object:
        """Take in the next chunk."""

    def finish(self) -> T_co:
        """What they were, now that the body is complete."""


class Whole:
    """A receiver of bodies that are wanted as they are."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes, /) -> None:
        """Keep it."""
        self._chunks.append(chunk)

    def finish(self) -> bytes:
        """All of it."""
        return b"".join(self._chunks)


def body_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body in the chunks in which it arrives, unpacked where it is packed.

    It comes straight from the transport where there is nothing to unpack: the layers of httpx would cost as much again
    as the reading. So the failures are those of the transport.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        return response.aiter_bytes()
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 -- an async client's
    return aiter(response.stream)
