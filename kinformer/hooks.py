"""What happened, for metrics and for people: a contract of plain calls, and a silent default.

Each method is named after something that *has* happened and takes one frozen record; durations are in seconds. A
hook is called on the event loop, from the task in which the thing happened, so it must be quick. ``NoHooks`` does
nothing and is meant to be subclassed: override what you care for.

A hook should not raise. What one raises ends nothing, in no room: it is logged as an error of ``kinformer.hooks``, and
told to the hook ``hook_failed``, so that it can be counted; an error of that one is logged only.
"""

import logging
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, Protocol, cast

import msgspec

from kinformer.meta import ObjectKey

__all__ = [
    "EventDropped",
    "HandlerFailed",
    "HandlerLagging",
    "HookFailed",
    "Hooks",
    "KeyAdded",
    "KeyDone",
    "KeyParked",
    "KeyResumed",
    "KeyRetried",
    "KeyTaken",
    "LeadershipChanged",
    "LoopBlocked",
    "NoHooks",
    "ObjectQuarantined",
    "ReconcileFinished",
    "ReconcileResult",
    "ReflectorFailed",
    "ReflectorListed",
    "ReflectorWatched",
    "RequestFinished",
    "WarningReceived",
    "WatchListDelayed",
    "WriteUnseen",
    "guarded",
]

logger = logging.getLogger("kinformer.hooks")


class RequestFinished(msgspec.Struct, frozen=True):
    """One try of one HTTP request came to its end."""

    method: str
    path: str
    code: int
    """The HTTP status code, or 0 where no answer came."""
    duration: float
    attempt: int
    """1 for the first try."""


class WarningReceived(msgspec.Struct, frozen=True):
    """The server sent a ``Warning`` header, for example about a deprecated API."""

    path: str
    text: str


class ReflectorListed(msgspec.Struct, frozen=True):
    """A reflector replaced the content of its sink with a snapshot."""

    reflector: str
    count: int
    version: str
    duration: float


class WatchListDelayed(msgspec.Struct, frozen=True):
    """A watch-list has brought nothing for a while, and the bookmark that completes its snapshot has not come.

    Told every ten seconds while it lasts, as client-go warns.
    """

    reflector: str
    events: int
    """How many initial events have come, other bookmarks included."""
    silence: float
    """Seconds since the last of them, or since the request."""


class ReflectorWatched(msgspec.Struct, frozen=True):
    """A watch ended as watches should, after its time was up."""

    reflector: str
    events: int
    version: str
    duration: float


class ReflectorFailed(msgspec.Struct, frozen=True):
    """A list or a watch failed, at opening or in the stream, and will be tried again."""

    reflector: str
    state: str
    """What was being performed: ``Listing``, ``Streaming`` or ``Watching``."""
    next_state: str
    error: Exception
    delay: float
    """How long the reflector waits before it goes on."""


class ObjectQuarantined(msgspec.Struct, frozen=True):
    """One object could not be read; the rest of its kind keeps flowing."""

    reflector: str
    key: str
    """``namespace/name``, or ``""`` where even that cannot be told."""
    error: Exception


class HandlerFailed(msgspec.Struct, frozen=True):
    """An event handler raised; that one notification is lost to it."""

    informer: str
    handler: str
    error: Exception


class HandlerLagging(msgspec.Struct, frozen=True):
    """A handler is slow and many notifications wait for it."""

    informer: str
    handler: str
    backlog: int
    duration: float
    """How long its last call took, or its present one has taken so far."""


class KeyAdded(msgspec.Struct, frozen=True, gc=False):
    """A work queue took in a key that it did not hold already.

    client-go's ``workqueue_adds_total`` counts these, so not an add of a key that waits for its run already; and
    ``workqueue_depth`` is set to ``depth``.
    """

    queue: str
    depth: int
    """How many keys are ready or will be when their present run ends."""


class KeyTaken(msgspec.Struct, frozen=True, gc=False):
    """A worker took a key.

    client-go's ``workqueue_queue_duration_seconds`` observes ``waited``; ``workqueue_depth`` is set to ``depth``.
    """

    queue: str
    depth: int
    waited: float
    """Since the first add that counted; for a key that was added while it ran, since that add."""


class KeyDone(msgspec.Struct, frozen=True, gc=False):
    """A worker finished with a key; client-go's ``workqueue_work_duration_seconds`` observes ``worked``.

    What is not finished is asked for, not told: ``WorkQueue.gauges`` gives ``workqueue_unfinished_work_seconds`` and
    ``workqueue_longest_running_processor_seconds`` as of now, where client-go refreshes them each 500 ms.
    """

    queue: str
    worked: float


class KeyRetried(msgspec.Struct, frozen=True, gc=False):
    """A key was put back, to come again after ``delay``; client-go's ``workqueue_retries_total`` counts these.

    As there, every ``add_after`` counts that is not refused, a failure or not, with a delay or without one.
    """

    queue: str
    delay: float


class KeyParked(msgspec.Struct, frozen=True, gc=False):
    """A key failed too often and is tried no more until something happens to it. client-go has no such thing."""

    queue: str
    parked: int
    """How many keys of the queue are parked now."""
    attempts: int
    """How often this one failed, as the limiter counts."""
    error: str
    """Its last error in words, or ``""``."""


class KeyResumed(msgspec.Struct, frozen=True, gc=False):
    """Something happened to a parked key, so that it is parked no more."""

    queue: str
    parked: int
    """How many keys of the queue are parked now."""


class ReconcileResult(StrEnum):
    """How a reconcile ended; the values are controller-runtime's ``result`` label, with ``terminal`` added."""

    SUCCESS = "success"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    TERMINAL = "terminal"


class ReconcileFinished(msgspec.Struct, frozen=True):
    """One call of a reconciler came to its end."""

    controller: str
    key: ObjectKey
    result: ReconcileResult
    duration: float
    error: Exception | None = None


class LeadershipChanged(msgspec.Struct, frozen=True):
    """A lease was won, or is ours no more; client-go's ``leader_election_master_status`` is set to 1 or 0."""

    name: str
    """The Lease's name."""
    identity: str
    """Ours."""
    is_leader: bool


class LoopBlocked(msgspec.Struct, frozen=True):
    """The event loop stood still, and goes on again."""

    task: str
    """What held it up; for a reconcile, with its key."""
    duration: float
    """Real seconds, to within the limit from which on it is noticed."""


class WriteUnseen(msgspec.Struct, frozen=True):
    """A cache has not shown a controller's own write for so long that it is read as it is from now on."""

    controller: str
    resource: str
    key: ObjectKey
    waited: float


class EventDropped(msgspec.Struct, frozen=True):
    """An Event that a controller told was not written, and will not be."""

    controller: str
    reason: str
    """The Event's own reason."""


class HookFailed(msgspec.Struct, frozen=True):
    """A hook raised; what it was told of is lost to it, and nothing else."""

    hook: str
    """Its name, such as ``reconcile_finished``."""
    error: Exception


class Hooks(Protocol):
    """The calls that the rooms make; see the record of each for what it means."""

    def request_finished(self, event: RequestFinished, /) -> None: ...
    def warning_received(self, event: WarningReceived, /) -> None: ...
    def reflector_listed(self, event: ReflectorListed, /) -> None: ...
    def watch_list_delayed(self, event: WatchListDelayed, /) -> None: ...
    def reflector_watched(self, event: ReflectorWatched, /) -> None: ...
    def reflector_failed(self, event: ReflectorFailed, /) -> None: ...
    def object_quarantined(self, event: ObjectQuarantined, /) -> None: ...
    def handler_failed(self, event: HandlerFailed, /) -> None: ...
    def handler_lagging(self, event: HandlerLagging, /) -> None: ...
    def key_added(self, event: KeyAdded, /) -> None: ...
    def key_taken(self, event: KeyTaken, /) -> None: ...
    def key_done(self, event: KeyDone, /) -> None: ...
    def key_retried(self, event: KeyRetried, /) -> None: ...
    def key_parked(self, event: KeyParked, /) -> None: ...
    def key_resumed(self, event: KeyResumed, /) -> None: ...
    def reconcile_finished(self, event: ReconcileFinished, /) -> None: ...
    def leadership_changed(self, event: LeadershipChanged, /) -> None: ...
    def loop_blocked(self, event: LoopBlocked, /) -> None: ...
    def write_unseen(self, event: WriteUnseen, /) -> None: ...
    def event_dropped(self, event: EventDropped, /) -> None: ...
    def hook_failed(self, event: HookFailed, /) -> None: ...


class NoHooks:
    """Hears everything and does nothing."""

    __slots__ = ()

    def request_finished(self, event: RequestFinished, /) -> None: ...
    def warning_received(self, event: WarningReceived, /) -> None: ...
    def reflector_listed(self, event: ReflectorListed, /) -> None: ...
    def watch_list_delayed(self, event: WatchListDelayed, /) -> None: ...
    def reflector_watched(self, event: ReflectorWatched, /) -> None: ...
    def reflector_failed(self, event: ReflectorFailed, /) -> None: ...
    def object_quarantined(self, event: ObjectQuarantined, /) -> None: ...
    def handler_failed(self, event: HandlerFailed, /) -> None: ...
    def handler_lagging(self, event: HandlerLagging, /) -> None: ...
    def key_added(self, event: KeyAdded, /) -> None: ...
    def key_taken(self, event: KeyTaken, /) -> None: ...
    def key_done(self, event: KeyDone, /) -> None: ...
    def key_retried(self, event: KeyRetried, /) -> None: ...
    def key_parked(self, event: KeyParked, /) -> None: ...
    def key_resumed(self, event: KeyResumed, /) -> None: ...
    def reconcile_finished(self, event: ReconcileFinished, /) -> None: ...
    def leadership_changed(self, event: LeadershipChanged, /) -> None: ...
    def loop_blocked(self, event: LoopBlocked, /) -> None: ...
    def write_unseen(self, event: WriteUnseen, /) -> None: ...
    def event_dropped(self, event: EventDropped, /) -> None: ...
    def hook_failed(self, event: HookFailed, /) -> None: ...


def guarded(hooks: Hooks | None) -> Hooks:
    """Give hooks that never raise: those that are given, with what they raise logged and told to ``hook_failed``.

    Each room does this to the hooks that it is given. Hooks that lack a method, since they were written for an earlier
    version, hear nothing of it.

    Args:
        hooks: Anybody's; ``None`` means ``NoHooks``. Guarding twice changes nothing.
    """
    if hooks is None:
        return NoHooks()
    if type(hooks) is NoHooks or isinstance(hooks, _Guarded):
        return hooks
    return cast("Hooks", _Guarded(hooks))  # it makes each method when it is first asked for


class _Guarded:
    """Hooks behind which errors are caught."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks: Final = hooks

    def __getattr__(self, name: str) -> Callable[[Any], None]:
        hook = self._made(name)
        setattr(self, name, hook)
        return hook

    def _made(self, name: str) -> Callable[[Any], None]:
        silent: Callable[[Any], None] = getattr(NoHooks(), name)
        hook: Callable[[Any], None] = getattr(self._hooks, name, silent)
        if getattr(hook, "__func__", None) is getattr(NoHooks, name):
            return silent  # the queue calls three of them for each key

        def tell(event: Any, /) -> None:
            try:
                hook(event)
            except Exception as error:  # noqa: BLE001 -- a hook is the user's
                self._complain(name, error)

        return tell

    def _complain(self, name: str, error: Exception) -> None:
        logger.error("the hook %s failed: %r", name, error, exc_info=error, extra={"hook": name})
        if name != "hook_failed":
            self.hook_failed(HookFailed(name, error))
