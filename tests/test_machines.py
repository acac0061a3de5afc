"""Every structure that holds state and never waits is driven by a machine of hypothesis, or has a reason to be without.

A structure here is a class without ``async def`` that is no value: not frozen, no tuple, struct, enum, error or protocol.
A class with an underscore belongs to the structure in whose file it is. Shells, which wait, are another matter: many
have machines too, and each is cancelled at its awaits.
"""

import importlib
import inspect
import pkgutil
from enum import Enum
from pathlib import Path
from typing import Any, is_typeddict

import msgspec

import kinformer

MACHINES = Path(__file__).parent / "stateful"

DRIVEN = {
    "test_alarm": ["workqueue._alarm.Alarm"],
    "test_answer": ["client._stream._answer.Answer"],
    "test_backoff": ["reflector._backoff.Backoff", "reflector._backoff.Openings"],
    "test_cache_watcher": [
        "apiserver.cacher._encoded.Bookmark",
        "apiserver.cacher._encoded.Encoded",
        "apiserver.cacher._encoded.Forms",
        "apiserver.cacher._encoded.Selected",
        "apiserver.cacher._replay.InitialState",
        "apiserver.cacher._watcher.CacheWatcher",
    ],
    "test_calendar": ["apiserver.cacher._budget.TimeBudget", "apiserver.cacher._calendar.Calendar"],
    "test_candidate": ["controller._candidate.Candidate"],
    "test_cache": [
        "apiserver.storage._demux.Demux",
        "apiserver.storage._demux.LocalWatcher",
        "apiserver.storage._snapshots.Snapshots",
    ],
    "test_compaction": ["informer._compaction.Compaction"],
    "test_conditions": ["reflector._conditions.Conditions"],
    "test_controller": ["controller._controller.Controller"],
    "test_delayed": ["workqueue._delayed.Delayed"],
    "test_delta_queues": [
        "store._delta_fifo.DeltaFIFO",
        "store._in_order_fifo.InOrderFIFO",
        "store._queue.DeltaQueue",
    ],
    "test_discovery": ["apiserver.http._discovery.Discovery"],
    "test_event_series": ["controller._event_series.EventSeries"],
    "test_expectations": ["controller._expectations.Expectations"],
    "test_failing": ["workqueue._failing.Failing"],
    "test_failures": ["testing._failures.Failures"],
    "test_filter": ["informer._filter.Filter"],
    "test_fitting": ["informer._fitting.Fitting"],
    "test_history": ["controller._history.History"],
    "test_idle_connections": ["client._stream._idle.IdleConnections"],
    "test_ingest": ["informer._admission.Admission", "informer._ingest.Ingest"],
    "test_last_failures": ["observe._failures.Failures"],
    "test_limits": [
        "workqueue._limits.ExponentialLimiter",
        "workqueue._limits.FastSlow",
        "workqueue._limits.MaxWait",
        "workqueue._limits.SlowestOf",
        "workqueue._limits.TokenBucket",
    ],
    "test_intents": ["controller._intents.Intents"],
    "test_lines": ["client._lines.LineSplitter"],
    "test_listener": ["informer._backlog.Coalesced", "informer._backlog.InOrder"],
    "test_listing": ["client._listing.ListDecoder"],
    "test_memory_kv": ["apiserver.storage._mvcc.Mvcc"],
    "test_meter": ["workqueue._meter.Meter"],
    "test_namespaces": ["apiserver.loops._namespaces.NamespaceLedger"],
    "test_objects": ["meta._frozen.FrozenDict", "meta._frozen.FrozenList", "meta._objects.Object"],
    "test_membership": ["controller._membership.Membership"],
    "test_own_writes": ["controller._overlay.OverlayStore", "controller._own_writes.OwnWrites"],
    "test_owners": ["apiserver.loops._owners.OwnerGraph"],
    "test_pace": ["client._pace.Pace"],
    "test_policy": ["apiserver.auth._policy.Policy"],
    "test_priority_ready": ["workqueue._priority_ready.PriorityReady"],
    "test_pulse": ["reflector._pulse.Pulse"],
    "test_questions": ["observe._questions.Questions"],
    "test_ready": ["workqueue._ready.Ready"],
    "test_reception": ["reflector._reception.Reception"],
    "test_refreshes": ["client._refreshes.Refreshes"],
    "test_registry": ["apiserver.registry._registry.Registry"],
    "test_relist": ["store._content.Content", "store._relist.Relist"],
    "test_report": ["reflector._report.Report"],
    "test_resync_plan": ["informer._resync.ResyncPlan"],
    "test_scopes": ["apiserver.cacher._scopes.Scopes"],
    "test_shutdown": ["controller._runnables.Shutdown"],
    "test_sightings": ["reflector._sightings.Sightings"],
    "test_silence": ["reflector._silence.Silence"],
    "test_stage": ["cli._stage.PlainStage"],
    "test_store": [
        "store._indexer.Index",
        "store._store.Store",
        "store._writer.StoreWriter",
    ],
    "test_stored": ["apiserver.cacher._stored.StoredObject"],
    "test_tally": ["observe._histogram.Histogram", "observe._tally.Tally"],
    "test_tracing": ["observe._tracing.Tracing"],
    "test_trends": ["observe._trends.Trends"],
    "test_turns": ["client._rate_limit.Bucket"],
    "test_views": ["apiserver.cacher._views.Views"],
    "test_warnings": ["client._warnings.Warnings"],
    "test_watch_cache": [
        "apiserver.cacher._content.Content",
        "apiserver.cacher._content.Snapshot",
        "apiserver.cacher._event.Element",
        "apiserver.cacher._history.History",
        "apiserver.cacher._history.Replay",
    ],
    "test_watchers": [
        "apiserver.storage._watcher_stream.Watcher",
        "apiserver.storage._watcher_stream.WatcherStream",
        "apiserver.storage._watchers.Watchers",
    ],
    "test_watch_decoder": ["client._codec.WatchDecoder"],
    "test_workqueue": [
        "workqueue._attempts.MaxAttempts",
        "workqueue._attempts.TimedRetries",
        "workqueue._parking.Parking",
    ],
}
"""The files in tests/stateful, with what each drives."""

EXEMPT = {
    "apiserver.cacher._paging.Cut": "lives for one list; test_paging.py reads lists of all kinds by it",
    "apiserver.cacher._metrics.Metrics": "a dict of numbers, which are added to or set",
    "apiserver.auth._tokens.Tokens": "a secret that never changes",
    "apiserver.http._query.Query": "never changes once it is made",
    "apiserver.http._watching.Streams": "a set of cancel scopes, with a set's own methods",
    "apiserver.rest._options.Event": "what it holds never changes; what is made of it is kept by Forms",
    "apiserver.storage._timetable.Timetable": "its state is its timers; the rest is that of the watchers",
    "cli._stage.LiveStage": "its state is rich's",
    "cli._stage.Terminal": "its state is rich's",
    "client._receiving.Whole": "a list of chunks, and their sum",
    "client._tls.FollowingContext": "its state is OpenSSL's, and that of files on the disk",
    "controller._ring.Ring": "never changes once it is made",
    "controller._shard.Shard": "asks a Membership, and holds nothing of its own but who wants to hear of it",
    "controller._sharding.Sharding": "never changes once it is made",
    "controller._leadership.Leadership": "asks a Candidate, and holds nothing of its own",
    "controller._election.LeaderElection": "never changes once it is made",
    "controller._signals.Signals": "its state is the process's own table of signal handlers",
    "controller._watchdog.Watchdog": "its state is a thread's",
    "hooks._hooks.NoHooks": "holds nothing",
    "informer._lister.Lister": "reads a store and holds nothing of its own",
    "meta._events.Objects": "a tuple of records, seen as objects",
    "observe._logs.JsonFormatter": "holds nothing",
    "observe._logs.ReconcileFilter": "holds nothing",
    "observe._metrics.Metrics": "its numbers are a Tally's, and those of a report",
    "store._union.UnionStore": "reads other stores and holds nothing of its own",
}


def structures() -> set[str]:
    """The full names of all of them, without the package's."""
    found = set()
    for module in pkgutil.walk_packages(kinformer.__path__, "kinformer."):
        for name, value in vars(importlib.import_module(module.name)).items():
            is_ours = inspect.isclass(value) and value.__module__ == module.name and not name.startswith("_")
            if is_ours and not is_value(value) and not waits(value):
                found.add(f"{module.name}.{name}".removeprefix("kinformer."))
    return found


def is_value(kind: Any) -> bool:
    if issubclass(kind, BaseException | Enum | tuple | msgspec.Struct) or is_typeddict(kind):
        return True
    is_frozen = hasattr(kind, "__dataclass_params__") and kind.__dataclass_params__.frozen
    return is_frozen or getattr(kind, "_is_protocol", False)


def waits(kind: Any) -> bool:
    methods = [inspect.unwrap(method) for method in vars(kind).values() if callable(method)]
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in methods)


def test_every_structure_has_a_machine_or_a_reason_to_be_without() -> None:
    known = [*EXEMPT, *(name for names in DRIVEN.values() for name in names)]
    assert len(set(known)) == len(known), "each is named once"
    assert structures() - set(known) == set(), "give it a machine in tests/stateful, and name it above"
    assert set(known) - structures() == set(), "it is gone, or waits by now"
    assert not [name for name in DRIVEN if not (MACHINES / f"{name}.py").exists()]
