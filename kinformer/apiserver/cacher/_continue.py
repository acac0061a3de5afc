"""Continue tokens: where the next page of a list begins, and at which revision.

Clients treat them as opaque; the form is that of ``storage.EncodeContinue`` (apiserver), so that tools that look inside
are at home. A token comes from outside, so it is checked like any input (rule L-6).
"""

import base64
import binascii
import json
import posixpath
from typing import Final, NamedTuple

__all__ = ["LATEST_REVISION", "Position", "decode_continue", "encode_continue"]

LATEST_REVISION: Final = -1
"""The revision of a token that goes on at the present, because its own has been forgotten (rule L-8)."""

_VERSION: Final = "meta.k8s.io/v1"


class Position(NamedTuple):
    """Where a page begins.

    ``start`` is relative to the prefix of the list; keys at or behind it belong to the page.
    """

    revision: int
    start: str


def encode_continue(position: Position) -> str:
    """The token for a position."""
    body = json.dumps(
        {"v": _VERSION, "rv": position.revision, "start": position.start}, separators=(",", ":")
    )
    return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")


def decode_continue(token: str) -> Position:
    """The position in a token.

    Raises:
        ValueError: It is no token, or one that points outside the list; the message is what clients get.
    """
    try:
        body = json.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
        version, revision, start = body.get("v"), body.get("rv", 0), body.get("start", "")
    except (binascii.Error, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"continue key is not valid: {error}") from error
    if version != _VERSION:
        raise ValueError(f"server does not recognize this encoded version {version}")
    if type(revision) is not int or revision == 0 or revision < LATEST_REVISION:
        raise ValueError(
            f"continue key is not valid: incorrect encoded start resourceVersion (version {_VERSION})"
        )
    if not isinstance(start, str) or not start:
        raise ValueError(f"continue key is not valid: encoded start key empty (version {_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if rooted.startswith("//") or posixpath.normpath(rooted) != rooted:
        raise ValueError(f"continue key is not valid: {start}")
    return Position(revision, rooted[1:])
