"""Tally: hooks that count what happens, so that it costs little until somebody asks. Pure.

The names are those of the metrics that are made of them; see ``Metrics``. Each is bounded by what a program declares: by
controllers, informers, hosts, and never by objects or paths.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Final

from kinformer.hooks import (
    EventDropped,
    HookFailed,
    KeyAdded,
    KeyDone,
    KeyRetried,
    KeyTaken,
    LoopBlocked,
    NoHooks,
    ObjectQuarantined,
    ReconcileFinished,
    ReflectorFailed,
    ReflectorListed,
    RequestFinished,
    WarningReceived,
    WriteUnseen,
)
from kinformer.observe._histogram import Histogram

__all__ = ["RECONCILE_BOUNDS", "Tally"]

RECONCILE_BOUNDS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
"""controller-runtime's, so that its dashboards fit."""

_QUEUE_BOUNDS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
    300,
    1000,
)
"""client-go goes from 10 ns in steps of ten, which tells apart little of what matters."""

_REQUEST_BOUNDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_LAG_BOUNDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LIST_BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Tally(NoHooks):
    """Counts. Who wants to see them reads the attributes, and changes nothing."""

    def __init__(self) -> None:
        self.reconciles: Final = Counter[tuple[str, str]]()
        """By controller and result."""
        self.reconcile_time: Final = _histograms(RECONCILE_BOUNDS)
        self.adds: Final = Counter[str]()
        """By queue; so are the next three."""
        self.retries: Final = Counter[str]()
        self.queue_time: Final = _histograms(_QUEUE_BOUNDS)
        self.work_time: Final = _histograms(_QUEUE_BOUNDS)
        self.requests: Final = Counter[tuple[str, str, str]]()
        """By code, method and host; the code of a request without an answer is ``<error>``, as in client-go."""
        self.request_time: Final = defaultdict[tuple[str, str], Histogram](
            partial(Histogram, _REQUEST_BOUNDS)
        )
        """By method and host, without streams."""
        self.list_time: Final = _histograms(_LIST_BOUNDS)
        """By informer."""
        self.reflector_failures: Final = Counter[tuple[str, str]]()
        """By informer, and what it was doing."""
        self.quarantined: Final = Counter[str]()
        """By informer."""
        self.loop_lag: Final = Histogram(_LAG_BOUNDS)
        self.blocks = 0
        """How often the event loop stood still, and for how many seconds in all."""
        self.blocked_time = 0.0
        self.events_dropped: Final = Counter[str]()
        """By controller; so is the next."""
        self.writes_unseen: Final = Counter[tuple[str, str]]()
        """By controller and resource."""
        self.warnings = 0
        self.hook_failures: Final = Counter[str]()
        """By hook."""

    def codes(self) -> dict[str, int]:
        """How many requests had which status code, whatever they asked for."""
        counts = Counter[str]()
        for (code, _, _), count in self.requests.items():
            counts[code] += count
        return dict(counts)

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        """Count it by its result."""
        self.reconciles[event.controller, event.result] += 1
        self.reconcile_time[event.controller].observe(event.duration)

    def key_added(self, event: KeyAdded, /) -> None:
        """Count it."""
        self.adds[event.queue] += 1

    def key_taken(self, event: KeyTaken, /) -> None:
        """Count how long it waited."""
        self.queue_time[event.queue].observe(event.waited)

    def key_done(self, event: KeyDone, /) -> None:
        """Count how long it took."""
        self.work_time[event.queue].observe(event.worked)

    def key_retried(self, event: KeyRetried, /) -> None:
        """Count it."""
        self.retries[event.queue] += 1

    def request_finished(self, event: RequestFinished, /) -> None:
        """Count it by its code, and how long it took."""
        code = str(event.code) if event.code else "<error>"
        self.requests[code, event.method, event.host] += 1
        if not event.is_stream:
            self.request_time[event.method, event.host].observe(event.duration)

    def warning_received(self, event: WarningReceived, /) -> None:  # noqa: ARG002 -- the signature is the hook's
        """Count it."""
        self.warnings += 1

    def reflector_listed(self, event: ReflectorListed, /) -> None:
        """Count how long it took."""
        self.list_time[event.reflector].observe(event.duration)

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        """Count it by what was tried."""
        self.reflector_failures[event.reflector, event.state] += 1

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        """Count it."""
        self.quarantined[event.reflector] += 1

    def loop_lagged(self, lag: float) -> None:
        """Count by how many seconds the event loop was late; no hook, but whoever measures it tells it here."""
        self.loop_lag.observe(lag)

    def loop_blocked(self, event: LoopBlocked, /) -> None:
        """Count it, and how long it took."""
        self.blocks += 1
        self.blocked_time += event.duration

    def event_dropped(self, event: EventDropped, /) -> None:
        """Count it."""
        self.events_dropped[event.controller] += 1

    def write_unseen(self, event: WriteUnseen, /) -> None:
        """Count it."""
        self.writes_unseen[event.controller, event.resource] += 1

    def hook_failed(self, event: HookFailed, /) -> None:
        """Count it."""
        self.hook_failures[event.hook] += 1


def _histograms(bounds: Sequence[float]) -> defaultdict[str, Histogram]:
    return defaultdict(partial(Histogram, bounds))
