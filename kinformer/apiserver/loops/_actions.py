"""Actions: what the loops decide to do, as data."""

from dataclasses import dataclass

from kinformer.apiserver.loops._nodes import Node
from kinformer.apiserver.rest import Propagation

__all__ = [
    "Action",
    "CreateAccount",
    "Delete",
    "Detach",
    "FinalizeNamespace",
    "ReleaseFinalizer",
    "Unblock",
]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object, if it is still the same one."""

    node: Node
    propagation: Propagation


@dataclass(frozen=True, slots=True)
class Detach:
    """Take the owners with these uids out of the object's owner references."""

    node: Node
    owners: frozenset[str]


@dataclass(frozen=True, slots=True)
class Unblock:
    """Let the object's owner references no longer block the deletion of its owners."""

    node: Node


@dataclass(frozen=True, slots=True)
class ReleaseFinalizer:
    """Take a finalizer off the object."""

    node: Node
    finalizer: str


@dataclass(frozen=True, slots=True)
class FinalizeNamespace:
    """Take ``kubernetes`` off the finalizers in the spec of an empty namespace, so that it goes."""

    node: Node


@dataclass(frozen=True, slots=True)
class CreateAccount:
    """Create the ServiceAccount ``default`` in a namespace, which is the node."""

    node: Node


Action = CreateAccount | Delete | Detach | Unblock | ReleaseFinalizer | FinalizeNamespace
