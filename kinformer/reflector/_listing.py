"""Fetch a snapshot page by page."""

from collections.abc import Sequence
from dataclasses import dataclass

from kinformer.errors import DecodeError, ExpiredError
from kinformer.meta import Object, ObjectList, Record
from kinformer.reflector._contracts import Source
from kinformer.reflector._machine import Failed, Listing, PageExpired
from kinformer.reflector._snapshot import Snapshot

__all__ = ["Pages", "fetch"]


@dataclass(frozen=True, slots=True)
class Pages:
    """All pages of one snapshot."""

    snapshot: Snapshot
    is_paginated: bool
    """Whether there was more than one."""


async def fetch(source: Source, state: Listing) -> Pages | PageExpired | Failed:
    """Perform a ``Listing``: all of its pages, or why they cannot be had. Cancelling it leaves nothing."""
    pieces: list[Sequence[Record]] = []
    rejected: list[DecodeError] = []
    token = version = ""
    is_paginated = False
    while True:
        page = await _fetch_page(source, state, token)
        if isinstance(page, Exception):
            return PageExpired() if token and isinstance(page, ExpiredError) else Failed(page)
        pieces += page.pieces
        rejected.extend(page.rejected)
        version = version or page.version  # all pages are of one snapshot
        if not page.continue_token:
            return Pages(Snapshot.of_pages(pieces, version, rejected), is_paginated)
        if page.continue_token == token:
            return Failed(DecodeError("the server repeats its continue token: the list would never end"))
        token, is_paginated = page.continue_token, True


async def _fetch_page(source: Source, state: Listing, token: str) -> ObjectList[Object] | Exception:
    """One page, or why there is none. Here an error's traceback ends, so that it keeps no other pages alive."""
    try:
        if token:
            return await source.list(limit=state.limit, continue_token=token)
        return await source.list(version=state.version, limit=state.limit)
    except Exception as error:  # noqa: BLE001 -- a source must not end the reflector
        return error
