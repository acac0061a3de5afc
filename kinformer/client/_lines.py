"""LineSplitter: chunks of bytes in, whole lines out."""

from typing import Final

from kinformer.errors import DecodeError

__all__ = ["MAX_LINE", "LineSplitter"]

MAX_LINE: Final = 64 * 1024 * 1024
"""The longest line of a watch that we hold, in bytes; a request to a server may have 3 MiB."""


class LineSplitter:
    """Splits a stream at 0x0A and nowhere else, since JSON text may hold every other kind of line break.

    Between two calls it holds the bytes since the last 0x0A, never more than ``limit`` of them, in one buffer: kept as
    the chunks in which they came, single bytes would take a hundred times their size.
    """

    __slots__ = ("_limit", "_rest")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit: Final = limit
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their ends.

        Raises:
            DecodeError: A line is longer than the limit, so this cannot be a stream of Kubernetes objects.
        """
        *lines, rest = chunk.split(b"\n")
        if lines and self._rest:
            self._rest += lines[0]
            lines[0] = bytes(self._rest)
            self._rest = bytearray()
        self._rest += rest
        if max(map(len, (self._rest, *lines))) > self._limit:
            raise DecodeError(f"a line of the watch is longer than {self._limit} bytes")
        return lines

    def finish(self) -> bytes:
        """What came after the last line end; for when the stream is over."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest
