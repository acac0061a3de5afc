"""Watcher: from a request to a stream of events. Rules X-1 to X-10."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Final

from kinformer.apiserver.cacher import (
    Beginning,
    Cacher,
    CacheWatch,
    CacheWatcher,
    InitialState,
    NotReadyError,
    Replay,
    Scope,
    StoppedError,
    queue_size,
)
from kinformer.apiserver.registry import (
    FieldProblem,
    Served,
    StatusError,
    bad_request,
    expired,
    future_version,
    invalid,
    invalid_options,
    too_many_requests,
)
from kinformer.apiserver.rest._matching import selector
from kinformer.apiserver.rest._objects import Objects, version_problem
from kinformer.apiserver.rest._options import Event, ListOptions, Target
from kinformer.apiserver.rest._stream import FailedStream, WatchStream
from kinformer.apiserver.storage import CompactedError, FutureRevisionError, KeyRange

__all__ = ["Watcher"]

_SHORTEST, _LONGEST = 1800.0, 3600.0
"""Seconds that a watch lasts when the client does not say, by chance (rule X-10)."""

_MATCH: Final = "resourceVersionMatch"
_NO_PROGRESS: Final = "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
_BUSY: Final = 429
"""What is told before the stream begins; all else is told inside it, since clients crash on the HTTP form (X-8)."""


class Watcher:
    """Opens watches over the watch cache.

    Args:
        objects: What is watched.
        random: Spreads deadlines.
    """

    def __init__(self, objects: Objects, *, random: Random) -> None:
        self._objects = objects
        self._random = random

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
        """Open a watch; entering raises for bad parameters and for a cache that is not ready, which is waited for once.

        What is wrong with the beginning is told by an ERROR event, after which the stream ends (rule X-8). Entering waits
        up to 3 s for a version that is to come, where initial events are wanted.
        """
        asked = Beginning(_check(target.served, options, initial_events), initial_events)
        matches = selector(target.served, options)
        cached = self._objects.cached(target.served)
        deadline = self._objects.clock.monotonic() + (timeout or self._random.uniform(_SHORTEST, _LONGEST))
        async with AsyncExitStack() as stack:
            if self._objects.cachers.of(cached) is None:
                stack.callback(self._objects.registry.subscribe(self._objects.end_caches))
            following = await stack.enter_async_context(self._objects.cachers.follow(cached))
            try:
                beginning, latest = await self._prepare(following.cacher, asked)
                # From here to the end of joining nothing may be awaited, or what happens meanwhile is missed.
                start, replay = self._replay(following.cacher, target, beginning, latest)
            except StatusError as error:
                if error.code == _BUSY:
                    raise
                yield FailedStream(error)
                return
            cache = self._objects.cachers.options
            watcher = CacheWatcher(
                replay,
                start,
                size=cache.queue_size or queue_size(following.cacher.history.capacity, cache.window),
                scope=_scope(target, options),
                keys=KeyRange.prefix(target.served.prefix(target.namespace)),
                matches=matches,
                deadline=deadline,
                bookmarks=bookmarks,
                ends_with_bookmark=beginning.ends_with_bookmark,
                repeats=cache.repeats_bookmarks,
            )
            following.dispatcher.join(watcher)
            stack.callback(following.dispatcher.leave, watcher)
            watch = CacheWatch(watcher, following.dispatcher)
            yield WatchStream(watch, self._objects, target.served, deadline=deadline)

    async def _prepare(self, cacher: Cacher, asked: Beginning) -> tuple[Beginning, int]:
        """Wait until the cache can serve the watch; gives how it begins, and the storage's revision where that matters.

        Raises:
            StatusError: It cannot.
        """
        try:
            await cacher.begin()
            tells_progress = await self._objects.cachers.progress.is_there()
            if asked.initial_events and not tells_progress:
                raise bad_request(_NO_PROGRESS)
            beginning = asked.defaulted() if tells_progress else asked
            latest = await self._objects.kv.revision() if beginning.needs_latest else 0
            if beginning.initial_events:
                await cacher.wait_until_fresh(beginning.version or latest)
            cacher.readiness.check()
        except FutureRevisionError as error:
            raise future_version(error.revision, error.current) from error
        except (NotReadyError, StoppedError) as error:
            retry_after = error.retry_after if isinstance(error, NotReadyError) else 1
            raise too_many_requests(str(error), retry_after) from error
        return beginning, latest

    def _replay(
        self, cacher: Cacher, target: Target, beginning: Beginning, latest: int
    ) -> tuple[int, InitialState | Replay]:
        """What comes first, and the revision up to which it tells everything.

        Raises:
            StatusError: It is not kept any more: 410.
        """
        if beginning.has_state:
            state = cacher.content.read(KeyRange.prefix(target.served.prefix(target.namespace)))
            return state.revision, InitialState(list(state), self._objects.clock.monotonic())
        since = beginning.since(latest, cacher.revision)
        try:
            return max(since, cacher.revision), cacher.history.since(since)
        except CompactedError as error:
            raise expired(f"too old resource version: {since} ({error.compacted - 1})") from error


def _scope(target: Target, options: ListOptions) -> Scope:
    """The objects that a watch can show, as far as they can be told by their keys."""
    namespace = target.namespace or options.fields.exact("metadata.namespace") or ""
    return Scope(namespace, options.fields.exact("metadata.name") or "")


def _check(served: Served, options: ListOptions, initial_events: bool | None) -> int | None:
    """Rule X-2; gives the revision that was asked for, ``None`` where none was."""
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
    return int(options.version) if options.version else None
