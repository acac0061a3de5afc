"""Watcher: from a request to a stream of events. Rules X-1 to X-10."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Final

from kinformer.apiserver.cacher import Element
from kinformer.apiserver.registry import (
    FieldProblem,
    Served,
    StatusError,
    expired,
    invalid,
    invalid_options,
)
from kinformer.apiserver.rest._matching import attributes, selector
from kinformer.apiserver.rest._objects import Objects, version_problem
from kinformer.apiserver.rest._options import Event, ListOptions, Target
from kinformer.apiserver.rest._stream import WatchStream
from kinformer.apiserver.storage import CompactedError, KeyRange, KeyValue

__all__ = ["Watcher"]

_SHORTEST, _LONGEST = 1800.0, 3600.0
"""Seconds that a watch lasts when the client does not say, by chance (rule X-10)."""

_MATCH: Final = "resourceVersionMatch"


class Watcher:
    """Opens watches.

    Args:
        objects: What is watched.
        random: Spreads deadlines and bookmarks.
        bookmark_period: Seconds between bookmarks, about.
    """

    def __init__(self, objects: Objects, *, random: Random, bookmark_period: float) -> None:
        self._objects = objects
        self._random = random
        self._bookmark_period = bookmark_period

    @asynccontextmanager
    async def watch(
        self,
        target: Target,
        options: ListOptions,
        *,
        timeout: float | None,
        bookmarks: bool,
        initial_events: bool | None,
    ) -> AsyncIterator[AsyncIterator[Sequence[Event]]]:
        """Open a watch; entering raises for bad parameters, and waits up to 3 s for a version that is to come.

        Later failures are ERROR events, after which the stream ends (rule X-8).
        """
        revision = _check(target.served, options, initial_events)
        matches = _over_values(target.served, options)
        has_state = initial_events or (initial_events is None and revision == 0)
        lasts = timeout or self._random.uniform(_SHORTEST, _LONGEST)
        stream = WatchStream(
            self._objects,
            target.served,
            matches,
            deadline=self._objects.clock.monotonic() + lasts,
            bookmark_period=self._bookmark_period if bookmarks else None,
            random=self._random,
        )
        keys = KeyRange.prefix(target.served.prefix(target.namespace))
        async with AsyncExitStack() as stack:
            try:
                if has_state:
                    await self._objects.wait_for(revision)
                    state = await self._objects.kv.range(keys)
                    initial = [value for value in state.items if matches(value)]
                    revision = state.revision
                    stream.begin(initial, revision, ends_with_bookmark=bookmarks)
                elif revision == 0:
                    revision = await self._objects.kv.revision()
                changes = await stack.enter_async_context(self._objects.kv.watch(keys, revision + 1))
            except StatusError as error:
                stream.fail(error)
            except CompactedError as error:
                stream.fail(too_old(revision, error))
            else:
                stream.follow(changes, revision)
                stack.callback(stream.close)
            yield stream


def _over_values(served: Served, options: ListOptions) -> Callable[[KeyValue], bool]:
    """The selectors, asked of stored values."""
    matches, read = selector(served, options), attributes(served)
    return _everything if matches is None else lambda value: matches(Element(value, read))


def too_old(revision: int, error: CompactedError) -> StatusError:
    """The error of a watch whose next change is no longer kept."""
    return expired(f"too old resource version: {revision} ({error.compacted - 1})")


def _everything(value: KeyValue) -> bool:  # noqa: ARG001 -- a predicate
    return True


def _check(served: Served, options: ListOptions, initial_events: bool | None) -> int:
    """Rule X-2; gives the revision that was asked for."""
    match = options.version_match
    problem: FieldProblem | None = None
    if match and options.continue_token:
        problem = FieldProblem.forbidden(
            _MATCH, "resourceVersionMatch is forbidden when continue is provided"
        )
    elif initial_events is not None and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        problem = FieldProblem.forbidden(_MATCH, text)
    elif match and initial_events is None:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        problem = FieldProblem.forbidden(_MATCH, text)
    if problem is not None:
        raise invalid_options("ListOptions", [problem])
    if cause := version_problem(options.version):
        raise invalid(replace(served, kind=served.plural), "", [cause])
    return int(options.version or 0)
