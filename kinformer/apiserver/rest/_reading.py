"""Reader: get and list. Rules L-1 to L-11."""

from typing import Final

from kinformer.apiserver.cacher import (
    LATEST_REVISION,
    Delegator,
    ListRequest,
    NotReadyError,
    Position,
    StoredObject,
    decode_continue,
    encode_continue,
)
from kinformer.apiserver.registry import (
    FieldProblem,
    bad_request,
    expired,
    future_version,
    invalid_options,
    not_found,
    too_many_requests,
)
from kinformer.apiserver.rest._matching import selector
from kinformer.apiserver.rest._objects import Objects, parse_version
from kinformer.apiserver.rest._options import Listing, ListOptions, Target
from kinformer.apiserver.storage import CompactedError, FutureRevisionError, KeyRange

__all__ = ["Reader"]

_LIST_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_PAGE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Reader:
    """Answers get and list from the watch cache and the storage."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._delegator = Delegator(objects.kv, objects.cachers)

    async def get(self, target: Target, version: str = "") -> StoredObject:
        """Read one object, at least as new as ``version`` (rule L-1)."""
        served, revision = target.served, parse_version(version)
        key = served.key(target.namespace, target.name)
        try:
            await self._come_up(target, revision)
            value = await self._delegator.get(
                self._objects.cached(served), key, revision if version else None
            )
        except FutureRevisionError as error:
            raise future_version(error.revision, error.current) from error
        if value is None:
            raise not_found(served, target.name)
        return self._objects.view(served, value)

    async def list(self, target: Target, options: ListOptions) -> Listing:
        """Read a page of a collection, at the version that the options ask for."""
        _check(options)
        request = _request(target, options)
        try:
            await self._come_up(target, request.minimum)
            page = await self._delegator.list(self._objects.cached(target.served), request)
        except CompactedError as error:
            if request.position is None:
                raise expired(_LIST_TOO_OLD) from error
            token = encode_continue(Position(LATEST_REVISION, request.position.start))
            raise expired(_PAGE_TOO_OLD, continue_token=token) from error
        except FutureRevisionError as error:
            raise future_version(error.revision, error.current) from error
        except NotReadyError as error:
            raise too_many_requests(str(error), error.retry_after) from error
        start = page.start.removeprefix(request.keys.start)
        return Listing(
            [self._objects.view(target.served, element.value) for element in page.items],
            str(page.revision),
            encode_continue(Position(page.revision, start)) if page.start else "",
            page.remaining,
        )

    async def _come_up(self, target: Target, revision: int) -> None:
        """Wait for a revision, where no cache does."""
        if revision and self._objects.cachers.of(self._objects.cached(target.served)) is None:
            await self._objects.wait_for(revision)


def _request(target: Target, options: ListOptions) -> ListRequest:
    """What is asked for, once it has been understood (rule L-3)."""
    position, served = None, target.served
    if options.continue_token:
        if options.version not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        try:
            position = decode_continue(options.continue_token)
        except ValueError as error:
            raise bad_request(f"invalid continue token: {error}") from error
    name = options.fields.exact("metadata.name") if position is None else None
    is_single = name is not None and (bool(target.namespace) or not served.namespaced)
    return ListRequest(
        KeyRange.key(served.key(target.namespace, name or ""))
        if is_single
        else KeyRange.prefix(served.prefix(target.namespace)),
        parse_version(options.version) if options.version and position is None else None,
        "" if not options.version_match else "Exact" if options.version_match == "Exact" else "NotOlderThan",
        max(0, options.limit),
        position,
        selector(served, options),
        is_single,
    )


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
