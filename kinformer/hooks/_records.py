"""What hooks are told: one frozen record for each thing that happens; durations are in seconds."""

from enum import StrEnum

import msgspec

from kinformer.meta import ObjectKey

__all__ = [
    "EventDropped",
    "HandlerFailed",
    "HandlerLagging",
    "HookFailed",
    "KeyAdded",
    "KeyDone",
    "KeyParked",
    "KeyResumed",
    "KeyRetried",
    "KeyTaken",
    "KeyTriggered",
    "LeaderSeen",
    "LeadershipChanged",
    "LoopBlocked",
    "MembersChanged",
    "ObjectQuarantined",
    "ReconcileFinished",
    "ReconcileResult",
    "ReconcileStarted",
    "ReflectorFailed",
    "ReflectorListed",
    "ReflectorWatched",
    "RequestFinished",
    "WarningReceived",
    "WatchListDelayed",
    "WriteUnseen",
]


class RequestFinished(msgspec.Struct, frozen=True):
    """One try of one HTTP request came to its end."""

    method: str
    path: str
    code: int
    """The HTTP status code, or 0 where no answer came."""
    duration: float
    attempt: int
    """1 for the first try."""
    host: str = ""
    """The server's host and port."""
    is_stream: bool = False
    """Whether it was a watch or a log, whose duration is that of the stream."""


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


class KeyTriggered(msgspec.Struct, frozen=True, gc=False):
    """Something happened that makes a controller look at a key, whether that waits for its run already or not."""

    controller: str
    cluster: str
    key: ObjectKey
    cause: str
    """What happened, such as ``updated`` or ``deleted``."""
    resource: str
    """The resource of the object to which it happened; ``""`` where it was none."""
    name: str
    """That object, as ``namespace/name``."""


class ReconcileStarted(msgspec.Struct, frozen=True):
    """A reconciler is called; told in the task that calls it, right before.

    Each is followed by a ``ReconcileFinished`` with the same id, in the same task.
    """

    controller: str
    cluster: str
    key: ObjectKey
    attempt: int
    """1, or one more than the failures in a row of this key."""
    reconcile_id: str
    """Of this call and no other."""
    reasons: tuple[str, ...] = ()
    """What has made the key run, the first few of it, in words."""


class ReconcileResult(StrEnum):
    """How a reconcile ended; the values are controller-runtime's ``result`` label, with the last two added."""

    SUCCESS = "success"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    TERMINAL = "terminal"
    CANCELLED = "cancelled"
    """It was cut short: by a stop whose grace was over, or by the loss of a lease."""


class ReconcileFinished(msgspec.Struct, frozen=True):
    """One call of a reconciler came to its end."""

    controller: str
    key: ObjectKey
    result: ReconcileResult
    duration: float
    error: Exception | None = None
    cluster: str = ""
    reconcile_id: str = ""


class LeadershipChanged(msgspec.Struct, frozen=True):
    """A lease was won, or is ours no more; client-go's ``leader_election_master_status`` is set to 1 or 0."""

    name: str
    """The Lease's name."""
    identity: str
    """Ours."""
    is_leader: bool


class LeaderSeen(msgspec.Struct, frozen=True):
    """Another one holds the lease that we stand by for: told when we first see it, and when it goes to yet another."""

    name: str
    """The Lease's name."""
    identity: str
    """Ours."""
    holder: str
    """Who leads."""


class MembersChanged(msgspec.Struct, frozen=True):
    """A replica that shares keys with others has become a member, knows of other members than before, or is none any more."""

    name: str
    """The group's name."""
    identity: str
    """Ours."""
    members: tuple[str, ...]
    """The identities of all members, ours among them; empty where we are none."""


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
