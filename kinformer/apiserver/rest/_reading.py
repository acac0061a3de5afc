"""Reader: get and list. Rules L-1 to L-11."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kinformer.apiserver.cacher import (
    LATEST_REVISION,
    Position,
    StoredObject,
    decode_continue,
    encode_continue,
)
from kinformer.apiserver.registry import FieldProblem, bad_request, expired, invalid_options, not_found
from kinformer.apiserver.rest._matching import matcher
from kinformer.apiserver.rest._objects import Objects, parse_version
from kinformer.apiserver.rest._options import Listing, ListOptions, Target
from kinformer.apiserver.storage import CompactedError, KeyRange, KeyValue

__all__ = ["Reader"]

_MOST_KEYS: Final = 10_000
"""The most keys that one read of the storage takes while it looks for matches."""

_LIST_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_PAGE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which piece of a collection: from where, at which revision (0 is now), how much of it."""

    start: str = ""
    revision: int = 0
    limit: int = 0


class Reader:
    """Answers get and list from the storage."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def get(self, target: Target, version: str = "") -> StoredObject:
        """Read one object, at least as new as ``version`` (rule L-1)."""
        await self._objects.wait_for(parse_version(version))
        value = await self._objects.find(target)
        if value is None:
            raise not_found(target.served, target.name)
        return self._objects.view(target.served, value)

    async def list(self, target: Target, options: ListOptions) -> Listing:
        """Read a page of a collection, at the version that the options ask for."""
        _check(options)
        matches = matcher(self._objects, target.served, options)
        wanted = await self._wanted(options)
        try:
            return await self._page(target, wanted, matches)
        except CompactedError as error:
            if not options.continue_token:
                raise expired(_LIST_TOO_OLD) from error
            token = encode_continue(Position(LATEST_REVISION, wanted.start))
            raise expired(_PAGE_TOO_OLD, continue_token=token) from error

    async def _wanted(self, options: ListOptions) -> _Wanted:
        """The table of rule L-3."""
        limit = max(0, options.limit)
        if options.continue_token:
            if options.version not in {"", "0"}:
                raise bad_request("specifying resource version is not allowed when using continue")
            try:
                position = decode_continue(options.continue_token)
            except ValueError as error:
                raise bad_request(f"invalid continue token: {error}") from error
            return _Wanted(position.start, max(0, position.revision), limit)
        if options.version == "":
            return _Wanted(limit=limit)
        revision = parse_version(options.version)
        if revision == 0:
            return _Wanted()  # any version will do, and then the limit is ignored
        await self._objects.wait_for(revision)
        is_exact = options.version_match == "Exact" or (limit > 0 and not options.version_match)
        return _Wanted(revision=revision if is_exact else 0, limit=limit)

    async def _page(
        self, target: Target, wanted: _Wanted, matches: Callable[[KeyValue], bool] | None
    ) -> Listing:
        prefix = target.served.prefix(target.namespace)
        keys = KeyRange.prefix(prefix)
        start, revision, step = wanted.start, wanted.revision, wanted.limit
        items: list[StoredObject] = []
        while True:
            found = await self._objects.kv.range(keys.behind(prefix + start), revision=revision, limit=step)
            revision = revision or found.revision  # every further read shows the same moment
            for index, value in enumerate(found.items):
                if matches is not None and not matches(value):
                    continue
                items.append(self._objects.view(target.served, value))
                behind = len(found.items) - index - 1 + found.remaining
                if len(items) == wanted.limit and behind:
                    token = encode_continue(Position(revision, value.key.removeprefix(prefix) + "\0"))
                    return Listing(items, str(revision), token, behind if matches is None else None)
            if not found.remaining:
                return Listing(items, str(revision))
            start = found.items[-1].key.removeprefix(prefix) + "\0"
            step = min(2 * step, _MOST_KEYS)


def _check(options: ListOptions) -> None:
    """Rule L-2."""
    match, field = options.version_match, "resourceVersionMatch"
    problem = None
    if match and options.continue_token:
        problem = FieldProblem.forbidden(field, "resourceVersionMatch is forbidden when continue is provided")
    elif match and not options.version:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        problem = FieldProblem.forbidden(field, text)
    elif match not in {"", "Exact", "NotOlderThan"}:
        problem = FieldProblem.unsupported(field, match, ("", "Exact", "NotOlderThan"))
    elif match == "Exact" and options.version == "0":
        text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        problem = FieldProblem.forbidden(field, text)
    if problem is not None:
        raise invalid_options("ListOptions", [problem])
