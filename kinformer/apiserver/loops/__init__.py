"""What a cluster does by itself: namespace lifecycle, garbage collection."""

from kinformer.apiserver.loops._actions import (
    Action,
    CreateAccount,
    Delete,
    Detach,
    FinalizeNamespace,
    ReleaseFinalizer,
    Unblock,
)
from kinformer.apiserver.loops._housekeeping import Housekeeping
from kinformer.apiserver.loops._namespaces import NamespaceLedger
from kinformer.apiserver.loops._nodes import Node, read_node
from kinformer.apiserver.loops._owners import OwnerGraph, Scope

__all__ = [
    "Action",
    "CreateAccount",
    "Delete",
    "Detach",
    "FinalizeNamespace",
    "Housekeeping",
    "NamespaceLedger",
    "Node",
    "OwnerGraph",
    "ReleaseFinalizer",
    "Scope",
    "Unblock",
    "read_node",
]
