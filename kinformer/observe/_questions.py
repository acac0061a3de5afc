"""Questions: the bytes of an HTTP/1.1 connection in, the requests out. Pure.

The parsing is llhttp's, in C and strict (https://llhttp.org), by way of httptools. What is decided here: how long a head
may be, and that nobody who sends a body is listened to any further.
"""

from typing import Final, NamedTuple
from urllib.parse import unquote

import httptools

__all__ = ["HEAD", "Question", "Questions"]

HEAD: Final = 16_384
"""Bytes that a request line and its headers may have together; browsers and probes send less than one thousand.

Those of another request that came in the same read count as well.
"""


class Question(NamedTuple):
    """One request.

    Attributes:
        method: In capitals, as it was sent.
        path: Decoded, without the query.
        may_stay: Whether the connection can carry another one after the answer.
    """

    method: str
    path: str
    may_stay: bool


class Questions:
    """What a client has asked so far. ``feed`` never raises; it may set ``failure``.

    However the bytes are cut, the questions are the same, where they are not too long.

    Invariant: after a question that may not stay, and after a failure, there are no more questions.

    Attributes:
        is_midway: Whether a question has begun, and is not whole.
        is_over: Whether there will be no more of them.
        failure: What is wrong with what was sent, or ``""``.
    """

    def __init__(self) -> None:
        self.is_midway = self.is_over = False
        self.failure = ""
        self._whole: list[Question] = []
        self._parser = httptools.HttpRequestParser(self)
        self._begin()

    def feed(self, data: bytes) -> list[Question]:
        """Take in the next bytes of the connection, and give the questions that are whole now."""
        if data and not self.is_over:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade:
                self._close()
            except httptools.HttpParserError as error:
                self._fail(str(error.__context__ or error))
            self._spent += len(data)
            if self._spent > HEAD:
                self._fail(f"the request line and the headers have more than {HEAD} bytes")
        whole, self._whole = self._whole, []
        return whole

    def on_message_begin(self) -> None:
        """Called by the parser at the first byte of a request."""
        self.is_midway = not self.is_over

    def on_url(self, url: bytes) -> None:
        """Called by the parser, perhaps for a part of it."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser for each header."""
        field = name.lower()
        if field == b"transfer-encoding" or (field == b"content-length" and value.strip() != b"0"):
            self._has_body = True

    def on_headers_complete(self) -> None:
        """Called by the parser between the headers and the body."""
        if self._has_body:
            self._take(may_stay=False)

    def on_message_complete(self) -> None:
        """Called by the parser at the end of a request."""
        self._take(may_stay=self._parser.should_keep_alive())

    def _begin(self) -> None:
        self._url = b""
        self._spent = 0
        self._has_body = False

    def _take(self, *, may_stay: bool) -> None:
        if self.is_over:
            return
        method = self._parser.get_method().decode("ascii")
        path = unquote(self._url.partition(b"?")[0].decode("latin-1"))
        self._whole.append(Question(method, path, may_stay))
        self.is_midway = False
        self.is_over = not may_stay
        self._begin()

    def _close(self) -> None:
        """It asks for another protocol, and gets an answer in this one, and then the end."""
        self.is_midway, self.is_over = False, True
        if self._whole:
            self._whole[-1] = self._whole[-1]._replace(may_stay=False)

    def _fail(self, failure: str) -> None:
        if not self.is_over:
            self.failure = failure
            self.is_midway, self.is_over = False, True
