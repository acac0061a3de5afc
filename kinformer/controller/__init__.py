"""Make the world match the spec: sources, workers, a manager, and what reconcilers need at hand."""

from kinformer.controller._conditions import get_condition, set_condition
from kinformer.controller._controller import Controller, Written
from kinformer.controller._election import LeaderElection
from kinformer.controller._finalizers import FinalizerClient, add_finalizer, remove_finalizer
from kinformer.controller._leadership import Leadership
from kinformer.controller._manager import Manager
from kinformer.controller._owners import owner_reference, set_owner
from kinformer.controller._reconcile import Cache, Reconciler, Request, RequeueAfter
from kinformer.controller._run import run, serve
from kinformer.controller._signals import Signals
from kinformer.controller._sources import KeyMap, Predicate, generation_changed
from kinformer.controller._worker import Item

__all__ = [
    "Cache",
    "Controller",
    "FinalizerClient",
    "Item",
    "KeyMap",
    "LeaderElection",
    "Leadership",
    "Manager",
    "Predicate",
    "Reconciler",
    "Request",
    "RequeueAfter",
    "Signals",
    "Written",
    "add_finalizer",
    "generation_changed",
    "get_condition",
    "owner_reference",
    "remove_finalizer",
    "run",
    "serve",
    "set_condition",
    "set_owner",
]
