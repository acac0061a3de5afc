"""Resource versions: opaque text, two reserved values, and the one comparison that is permitted.

https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

import re
from typing import Final

__all__ = ["ANY", "LATEST", "is_at_least"]

ANY: Final = "0"
"""Any version will do; a server may answer from its cache."""

LATEST: Final = ""
"""The most recent version; a server must ask its storage."""

_COMPARABLE: Final = re.compile(r"[1-9][0-9]*")


def is_at_least(version: str, floor: str) -> bool:
    """Whether ``version`` is as new as ``floor``, both of the same resource.

    Kubernetes 1.35 promises that versions are decimal numbers and may be compared as such (KEP-5504); before, every
    supported server happened to do so. This is the only place where kinformer compares them.

    Raises:
        ValueError: One of the two is not a decimal number without leading zeros. The caller must then fall back to
            equality.
    """
    for text in (version, floor):
        if not _COMPARABLE.fullmatch(text):
            raise ValueError(f"resource version {text!r} cannot be compared: it is not a decimal number")
    return (len(version), version) >= (len(floor), floor)
