"""Pruning: cutting ``metadata.managedFields`` out of an object's JSON without decoding the rest.

A quarter of a typical object is bookkeeping of server-side apply, which no controller reads from a cache.
"""

from typing import Any, Final

import msgspec

__all__ = ["prune_managed_fields"]


class _Metadata(msgspec.Struct, rename="camel"):
    managed_fields: msgspec.Raw = msgspec.Raw()


class _Envelope(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_KEY: Final = b'"managedFields"'
_find = msgspec.json.Decoder(_Envelope).decode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def prune_managed_fields(raw: bytes) -> bytes:
    """The same JSON without ``metadata.managedFields``; the same bytes where there is none.

    Bytes that are no object with metadata come back as they are: what is wrong with them is for others to say.
    """
    if _KEY not in raw:
        return raw
    try:
        found = bytes(_find(raw).metadata.managed_fields)
        if not found:
            return raw
        start = raw.index(_KEY)
        end = start + len(_KEY) + 1 + len(found)
        if raw.startswith(b":" + found, start + len(_KEY)) and raw.find(_KEY, start + 1) < 0:
            # One comma goes with the member: the one before it, or, for the first member, the one after.
            if raw[start - 1 : start] == b",":
                return raw[: start - 1] + raw[end:]
            if raw[start - 1 : start] == b"{":
                return raw[:start] + raw[end + (raw[end : end + 1] == b",") :]
        # Written with other spacing, or the same text stands elsewhere in the object too: go the long way.
        content = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw
    del content["metadata"]["managedFields"]
    return msgspec.json.encode(content)
