"""What happened, for metrics and for people: a contract of plain calls, and a silent default.

Each method is named after something that *has* happened and takes one frozen record; durations are in seconds. A
hook is called on the event loop, from the task in which the thing happened, so it must be quick. ``NoHooks`` does
nothing and is meant to be subclassed: override what you care for.

A hook should not raise. What one raises ends nothing, in no room: it is logged as an error of ``kinformer.hooks``, and
told to the hook ``hook_failed``, so that it can be counted; an error of that one is logged only.
"""

from kinformer.hooks._guarded import guarded, together
from kinformer.hooks._hooks import Hooks, NoHooks
from kinformer.hooks._records import (
    EventDropped,
    HandlerFailed,
    HandlerLagging,
    HookFailed,
    KeyAdded,
    KeyDone,
    KeyParked,
    KeyResumed,
    KeyRetried,
    KeyTaken,
    KeyTriggered,
    LeaderSeen,
    LeadershipChanged,
    LoopBlocked,
    MembersChanged,
    ObjectQuarantined,
    ReconcileFinished,
    ReconcileResult,
    ReconcileStarted,
    ReflectorFailed,
    ReflectorListed,
    ReflectorWatched,
    RequestFinished,
    WarningReceived,
    WatchListDelayed,
    WriteUnseen,
)

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
    "KeyTriggered",
    "LeaderSeen",
    "LeadershipChanged",
    "LoopBlocked",
    "MembersChanged",
    "NoHooks",
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
    "guarded",
    "together",
]
