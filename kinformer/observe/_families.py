"""Families: the metrics, each with its name, what it means, its labels and its present samples."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from kinformer.hooks import ReconcileResult
from kinformer.observe._histogram import Histogram
from kinformer.observe._report import Report
from kinformer.observe._tally import Tally

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["families"]

T = TypeVar("T")

_Samples: TypeAlias = Iterable[tuple[tuple[str, ...], float]]
_Times: TypeAlias = Iterable[tuple[tuple[str, ...], Histogram]]

_NOTHING: Final = Report("starting", (), (), ())
_QUEUE: Final = ("name", "controller")
_CACHE: Final = ("cluster", "resource", "scope")


def families(tally: Tally, report: Report | None) -> Iterator["Metric"]:
    """All of them, from what was counted, and what is; without a report, from what was counted."""
    report = report or _NOTHING
    yield from _reconciles(tally, report)
    yield from _queues(tally, report)
    yield from _requests(tally)
    yield from _leases(report)
    yield from _caches(tally, report)
    yield from _handlers(report)
    yield from _others(tally)


def _reconciles(tally: Tally, report: Report) -> Iterator["Metric"]:
    names = [controller.name for controller in report.controllers]
    results = tally.reconciles
    totals = {(name, label): 0 for name in names for label in ("success", "error", "requeue_after")}
    for (name, result), count in results.items():
        label = (
            "error" if result == ReconcileResult.TERMINAL else str(result)
        )  # as controller-runtime counts it
        totals[name, label] = totals.get((name, label), 0) + count
    known = dict.fromkeys((*names, *(name for name, _ in results)))
    yield _counter(
        "controller_runtime_reconcile",
        "Reconciles that came to an end, by result.",
        ("controller", "result"),
        totals.items(),
    )
    yield _counter(
        "controller_runtime_reconcile_errors",
        "Reconciles that failed, for good or not.",
        ("controller",),
        (((name,), totals.get((name, "error"), 0)) for name in known),
    )
    yield _counter(
        "controller_runtime_terminal_reconcile_errors",
        "Reconciles that failed for good.",
        ("controller",),
        (((name,), results[name, ReconcileResult.TERMINAL]) for name in known),
    )
    yield _histogram(
        "controller_runtime_reconcile_time_seconds",
        "How long reconciles took.",
        ("controller",),
        _one(tally.reconcile_time),
    )
    yield _gauge(
        "controller_runtime_max_concurrent_reconciles",
        "How many keys may be reconciled at once.",
        ("controller",),
        (((each.name,), each.workers) for each in report.controllers),
    )
    yield _gauge(
        "controller_runtime_active_workers",
        "How many keys are being reconciled.",
        ("controller",),
        (((each.name,), each.running_total) for each in report.controllers),
    )


def _queues(tally: Tally, report: Report) -> Iterator["Metric"]:
    queues = [((each.name, each.name), each) for each in report.controllers]
    for name, text, value in (
        ("workqueue_depth", "Keys that want a run.", "depth"),
        ("workqueue_unfinished_work_seconds", "How long running keys have run, added up.", "unfinished_work"),
        (
            "workqueue_longest_running_processor_seconds",
            "How long the longest of them has.",
            "longest_running",
        ),
        (
            "kinformer_queue_oldest_wait_seconds",
            "How long the key has waited that waits longest.",
            "oldest_wait",
        ),
        ("kinformer_queue_delayed", "Keys that wait for their moment.", "delayed_total"),
        ("kinformer_queue_parked", "Keys that failed too often and are tried no more.", "parked_total"),
    ):
        yield _gauge(name, text, _QUEUE, ((labels, getattr(each, value)) for labels, each in queues))
    yield _counter("workqueue_adds", "Keys that were taken in.", _QUEUE, _twice(tally.adds))
    yield _counter("workqueue_retries", "Keys that were put back.", _QUEUE, _twice(tally.retries))
    for name, text, times in (
        ("workqueue_queue_duration_seconds", "How long keys waited to be taken.", tally.queue_time),
        ("workqueue_work_duration_seconds", "How long keys were in hands.", tally.work_time),
    ):
        yield _histogram(name, text, _QUEUE, (((queue, queue), each) for queue, each in times.items()))


def _requests(tally: Tally) -> Iterator["Metric"]:
    yield _counter(
        "rest_client_requests", "HTTP requests.", ("code", "method", "host"), tally.requests.items()
    )
    yield _histogram(
        "rest_client_request_duration_seconds",
        "How long HTTP requests took, watches left out.",
        ("verb", "host"),
        tally.request_time.items(),
    )
    yield _counter("kinformer_api_warnings", "Warnings that servers sent.", (), [((), tally.warnings)])


def _leases(report: Report) -> Iterator["Metric"]:
    yield _gauge(
        "leader_election_master_status",
        "1 where this process leads, 0 where it stands by.",
        ("name",),
        (((lease.name,), lease.is_held) for lease in report.leases if lease.kind == "election"),
    )
    yield _gauge(
        "kinformer_shard_members",
        "Replicas that share the keys, this one included; 0 while it is none of them.",
        ("name",),
        (((lease.name,), len(lease.members)) for lease in report.leases if lease.kind == "sharding"),
    )


def _caches(tally: Tally, report: Report) -> Iterator["Metric"]:
    caches = [((each.cluster, each.name, each.scope), each) for each in report.informers]
    for name, text, value in (
        ("kinformer_cache_objects", "Objects in a cache.", "objects"),
        ("kinformer_cache_bytes", "Bytes of JSON in a cache.", "size"),
        ("kinformer_cache_synced", "1 where a complete list has arrived.", "is_synced"),
        ("kinformer_cache_queued", "Changes that wait to get into a cache.", "queued"),
        ("kinformer_cache_event_age_seconds", "Since the last object arrived.", "event_age"),
        (
            "kinformer_cache_bookmark_age_seconds",
            "Since the last bookmark arrived: staleness.",
            "bookmark_age",
        ),
    ):
        yield _gauge(name, text, _CACHE, ((labels, getattr(each, value)) for labels, each in caches))
    yield _gauge(
        "kinformer_cache_trouble",
        "1 for each condition of a cache that should not be.",
        (*_CACHE, "condition"),
        (((*labels, trouble.condition), 1) for labels, each in caches for trouble in each.troubles),
    )
    for name, text, value in (
        ("kinformer_cache_relists", "Lists after the first one.", "relists"),
        ("kinformer_watch_restarts", "Watches after the first one.", "watch_restarts"),
    ):
        yield _counter(name, text, _CACHE, ((labels, getattr(each, value)) for labels, each in caches))
    yield _histogram(
        "kinformer_list_duration_seconds",
        "How long complete lists took, from the request to the cache.",
        ("informer",),
        _one(tally.list_time),
    )
    yield _counter(
        "kinformer_reflector_failures",
        "Lists and watches that failed, by what was being done.",
        ("informer", "state"),
        tally.reflector_failures.items(),
    )
    yield _counter(
        "kinformer_quarantined_objects",
        "Objects that could not be read.",
        ("informer",),
        _one(tally.quarantined),
    )


def _handlers(report: Report) -> Iterator["Metric"]:
    labels = (*_CACHE, "handler")
    handlers = {
        (cache.cluster, cache.name, cache.scope, handler.name): handler
        for cache in report.informers
        for handler in cache.handlers
    }
    for name, text, value in (
        ("kinformer_handler_backlog", "Notifications that wait for a handler.", "backlog"),
        ("kinformer_handler_backlog_age_seconds", "How long the oldest of them has waited.", "oldest_age"),
    ):
        yield _gauge(name, text, labels, ((key, getattr(each, value)) for key, each in handlers.items()))
    for name, text, value in (
        ("kinformer_handler_delivered", "Calls of a handler that came to a good end.", "delivered"),
        ("kinformer_handler_failures", "Notifications that were lost to a handler.", "failures"),
    ):
        yield _counter(name, text, labels, ((key, getattr(each, value)) for key, each in handlers.items()))


def _others(tally: Tally) -> Iterator["Metric"]:
    yield _histogram(
        "kinformer_event_loop_lag_seconds",
        "How late the event loop was, each second.",
        (),
        [((), tally.loop_lag)],
    )
    yield _counter(
        "kinformer_event_loop_blocks", "How often the event loop stood still.", (), [((), tally.blocks)]
    )
    yield _counter(
        "kinformer_event_loop_blocked_seconds", "For how long it stood still.", (), [((), tally.blocked_time)]
    )
    yield _counter(
        "kinformer_events_dropped",
        "Events that were not written.",
        ("controller",),
        _one(tally.events_dropped),
    )
    yield _counter(
        "kinformer_consistency_failed_open",
        "Own writes that a cache did not show in time, so that it was read as it was.",
        ("controller", "resource"),
        tally.writes_unseen.items(),
    )
    yield _counter("kinformer_hook_failures", "Hooks that raised.", ("hook",), _one(tally.hook_failures))


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: _Samples) -> "Metric":
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        if math.isfinite(value):  # an age of what has not happened
            family.add_metric(values, value)
    return family


def _counter(name: str, text: str, labels: tuple[str, ...], samples: _Samples) -> "Metric":
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, text, labels=labels)  # which adds _total to the name
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _histogram(name: str, text: str, labels: tuple[str, ...], times: _Times) -> "Metric":
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(name, text, labels=labels)
    for values, each in times:
        buckets = [(_bound(bound), float(count)) for bound, count in each.accumulated()]
        family.add_metric(values, buckets, each.total)
    return family


def _bound(value: float) -> str:
    return "+Inf" if value == math.inf else str(float(value))


def _one(values: Mapping[str, T]) -> Iterator[tuple[tuple[str], T]]:
    return (((name,), value) for name, value in values.items())


def _twice(values: Mapping[str, float]) -> _Samples:
    return (((name, name), value) for name, value in values.items())
