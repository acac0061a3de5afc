"""Answer: the bytes of one HTTP/1.1 answer in, its head and the pieces of its body out. Pure.

The parsing is llhttp's, in C and strict (https://llhttp.org), by way of httptools: a lone line feed, a folded header, two
lengths, or a length beside ``Transfer-Encoding`` are errors, as RFC 9112 allows or demands. What it leaves open is
decided here: how much may come before the body, what an end of the connection means, what a second answer means.
"""

from typing import Final

import httptools

__all__ = ["MOST_HEADERS", "SILENCE", "Answer"]

MOST_HEADERS: Final = 256
"""Header lines of one answer; apiservers send about ten."""

SILENCE: Final = 65_536
"""Bytes that may come without one byte of the body: a head, interim answers, chunk extensions, trailers."""

_DELIMITING: Final = frozenset({b"content-length", b"transfer-encoding"})


class Answer:
    """What the server has said so far. ``feed`` and ``end`` never raise; they may set ``failure``.

    However the bytes are cut, the pieces that ``feed`` gives are the same when put together, and so is how it ends.

    Attributes:
        status: The status code, 0 before ``has_head``.
        headers: As they were sent; whole once ``has_head`` is set. Trailers are read and dropped.
        has_begun: Whether a byte of it has arrived.
        has_head: Whether status and headers are known. Interim answers (1xx) do not count.
        is_whole: Whether the body is complete.
        failure: Why this is no answer, or ``""``. Then there will be no more of it.
        may_stay: Whether the connection can carry another answer, once this one is whole.
    """

    __slots__ = (
        "_ends_with_connection",
        "_parser",
        "_pieces",
        "_silent",
        "failure",
        "has_begun",
        "has_head",
        "headers",
        "is_whole",
        "may_stay",
        "status",
    )

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_begun = self.has_head = self.is_whole = self.may_stay = False
        self.failure = ""
        self._ends_with_connection = True
        self._silent = 0
        self._pieces: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    @property
    def is_over(self) -> bool:
        """Whether there will be no more of it, for better or worse."""
        return self.is_whole or bool(self.failure)

    def feed(self, data: bytes | memoryview) -> bytes:
        """Take in the next bytes from the connection and give the part of the body in them, often ``b""``.

        Bytes behind the end belong to nobody; that there were some shows in ``may_stay``.
        """
        if self.is_over:
            self.may_stay = False
            return b""
        self.has_begun = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self.is_whole:
                self.may_stay = False
            else:
                self.failure = f"no HTTP answer: {error.__context__ or error}"
        pieces, self._pieces = self._pieces, []
        if pieces:
            self._silent = 0
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._silent += len(data)
        if self._silent > SILENCE and not self.is_whole:
            self.failure = self.failure or f"more than {SILENCE} bytes of headers, without a byte of the body"
        return b""

    def end(self) -> None:
        """The connection has ended, which is the end of the answer only if nothing else marks it."""
        if not self.is_over:
            if self.has_head and self._ends_with_connection:
                self.is_whole = True
            elif self.has_begun:
                self.failure = "the server closed the connection in the middle of its answer"
            else:
                self.failure = "the server closed the connection without an answer"
        self.may_stay = False

    def on_message_begin(self) -> None:
        """Called by the parser at the first byte, and at that of each answer behind an interim one."""
        if self.is_whole:
            raise ValueError("a second answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser for each header, and each trailer."""
        if self.has_head:
            return
        if len(self.headers) == MOST_HEADERS:
            raise ValueError(f"it has more than {MOST_HEADERS} headers")
        field = name.lower()
        if field == b"transfer-encoding" and value.lower() != b"chunked":
            raise ValueError("it has a Transfer-Encoding other than chunked")
        if field in _DELIMITING:
            self._ends_with_connection = False
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Called by the parser between headers and body."""
        code = self._parser.get_status_code()
        if code < 100:
            raise ValueError(f"{code} is no status")
        if code == 101:
            raise ValueError("it switches to another protocol, which nobody asked for")
        if code >= 200:
            self.status, self.has_head = code, True
        elif not self._ends_with_connection:
            raise ValueError(
                f"a body in an interim answer ({code})"
            )  # forbidden, and parsers disagree about it

    def on_body(self, piece: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """Called by the parser at the end, and at the end of each interim answer."""
        if self.has_head:
            self.may_stay = self._parser.should_keep_alive()
            self.is_whole = True
        else:
            self.headers.clear()
            self._ends_with_connection = True
