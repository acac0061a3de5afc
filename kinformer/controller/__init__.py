"""Make the world match the spec: sources, workers, a manager, and what reconcilers need at hand."""

from kinformer.controller._conditions import get_condition, set_condition
from kinformer.controller._finalizers import FinalizerClient, add_finalizer, remove_finalizer
from kinformer.controller._owners import owner_reference, set_owner

__all__ = [
    "FinalizerClient",
    "add_finalizer",
    "get_condition",
    "owner_reference",
    "remove_finalizer",
    "set_condition",
    "set_owner",
]
