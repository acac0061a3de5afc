"""Pages: reading a list in pieces, and making one of them again. After ``tools/pager`` of client-go."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from itertools import chain
from typing import Final, TypeVar

from kinformer.errors import DecodeError, ExpiredError
from kinformer.meta import Object, ObjectList, Objects

__all__ = ["PAGE_SIZE", "ReadPage", "join", "modelled", "paginate"]

T = TypeVar("T")

PAGE_SIZE: Final = 500
"""Objects on a page where the caller has no wish (``pager.defaultPageSize``)."""


ReadPage = Callable[[str, str, int, str], Awaitable[ObjectList[T]]]
"""One request for one page, given a version, how it is meant, a limit, and a continue token."""


async def paginate(
    read: ReadPage[T], *, version: str, version_match: str, limit: int, continue_token: str = ""
) -> AsyncIterator[ObjectList[T]]:
    """All pages; and if the moment that they show is forgotten on the way, the whole list as one last page.

    The version goes with the first request and with the whole list, never with a token, which says it all.
    Nothing but tokens is held between two pages, so the iteration may be given up at any time.

    Raises:
        DecodeError: A page leads to itself, or back to one before.
        ExpiredError: The first page itself is of a version that is forgotten; or the whole list came in pages all the
            same, and was forgotten again.
    """
    token, has_begun_anew, seen = continue_token, False, {continue_token}
    while True:
        try:
            page = await read("" if token else version, "" if token else version_match, limit, token)
        except ExpiredError:
            if not token or has_begun_anew:
                raise
            has_begun_anew, limit, token, seen = True, 0, "", set()
            page = await read(version, version_match, 0, "")
        yield page
        token = page.continue_token
        if not token:
            return
        if token in seen:
            raise DecodeError("the server repeats its continue token: the list would never end")
        seen.add(token)


def join(pages: Iterable[ObjectList[T]]) -> ObjectList[T]:
    """One list of all pages, beginning again where the version changes."""
    parts: list[Sequence[T]] = []
    rejected: list[DecodeError] = []
    version: str | None = None
    for page in pages:
        if page.version != version:
            parts.clear()
            rejected.clear()
            version = page.version
        parts.append(page.items)
        rejected += page.rejected
    return ObjectList(_chained(parts), version or "", rejected=tuple(rejected))


def modelled(page: ObjectList[Object], model: type[T]) -> ObjectList[T]:
    """The same page with its objects decoded; those that do not fit the model are rejected."""
    if model is Object:
        return page  # type: ignore[return-value]  # T is Object here
    items: list[T] = []
    rejected = list(page.rejected)
    for obj in page.items:
        try:
            items.append(obj.decode(model))
        except DecodeError as error:
            rejected.append(error)
    return ObjectList(tuple(items), page.version, page.continue_token, page.remaining, tuple(rejected))


def _chained(parts: Sequence[Sequence[T]]) -> Sequence[T]:
    pieces = [part.pieces for part in parts if isinstance(part, Objects)]
    if len(pieces) == len(parts) > 0:
        return Objects.of_pieces(chain.from_iterable(pieces))  # type: ignore[return-value]  # T is Object here
    return tuple(chain.from_iterable(parts))
