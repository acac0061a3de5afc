"""Make the world match the spec: sources, workers, a manager, and what reconcilers need at hand."""

from kinformer.controller._applier import Applied, Applier
from kinformer.controller._conditions import get_condition, set_condition
from kinformer.controller._consistency import Consistency
from kinformer.controller._controller import Controller, Written
from kinformer.controller._election import LeaderElection
from kinformer.controller._event_series import EventType
from kinformer.controller._expectations import Expectations
from kinformer.controller._finalizers import FinalizerClient, add_finalizer, remove_finalizer
from kinformer.controller._history import Cause, Reason
from kinformer.controller._leadership import Leadership
from kinformer.controller._manager import Manager
from kinformer.controller._membership import Admission
from kinformer.controller._owners import owner_reference, set_owner
from kinformer.controller._permissions import EVERYWHERE, Permission
from kinformer.controller._predicates import (
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
)
from kinformer.controller._preflight_report import Forecast, Preflight, Review
from kinformer.controller._reconcile import Cache, Reconciler, Request, RequeueAfter
from kinformer.controller._recorder import EventRecorder
from kinformer.controller._run import run, serve
from kinformer.controller._runnables import Runnable
from kinformer.controller._shard import Shard
from kinformer.controller._sharding import Sharding
from kinformer.controller._signals import Signals
from kinformer.controller._sources import KeyMap, Predicate
from kinformer.controller._threads import PlainReconciler
from kinformer.controller._triggers import Events, Trigger
from kinformer.controller._worker import Item

__all__ = [
    "EVERYWHERE",
    "Admission",
    "Applied",
    "Applier",
    "Cache",
    "Cause",
    "Consistency",
    "Controller",
    "EventRecorder",
    "EventType",
    "Events",
    "Expectations",
    "FinalizerClient",
    "Forecast",
    "Item",
    "KeyMap",
    "LeaderElection",
    "Leadership",
    "Manager",
    "Permission",
    "PlainReconciler",
    "Predicate",
    "Preflight",
    "Reason",
    "Reconciler",
    "Request",
    "RequeueAfter",
    "Review",
    "Runnable",
    "Shard",
    "Sharding",
    "Signals",
    "Trigger",
    "Written",
    "add_finalizer",
    "annotations_changed",
    "any_of",
    "generation_changed",
    "get_condition",
    "labels_changed",
    "owner_reference",
    "remove_finalizer",
    "run",
    "serve",
    "set_condition",
    "set_owner",
]
