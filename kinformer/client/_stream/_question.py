"""The bytes of a request without a body. Pure."""

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["encode_question"]

_TARGET: Final = re.compile(rb"[\x21-\x7e]+")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")


def encode_question(method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A request as HTTP/1.1 writes it (RFC 9112, section 3).

    Raises:
        ValueError: Something would be read as more than it is, such as a header with a line break in it; the message
            names the header and does not show what it holds.
    """
    if not _NAME.fullmatch(method) or not _TARGET.fullmatch(target):
        raise ValueError(f"{method!r} {target!r} has letters that no request line can carry")
    lines = [b"%s %s HTTP/1.1" % (method, target)]
    for name, value in headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} has letters that no header can carry")
        lines.append(b"%s: %s" % (name, value))
    return b"\r\n".join((*lines, b"", b""))
