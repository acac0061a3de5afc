"""The verbs: get, list, watch, create, update, patch, apply, delete."""

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import StatusError
from kinformer.apiserver.rest._options import (
    DeleteOptions,
    Event,
    Listing,
    ListOptions,
    PatchKind,
    Propagation,
    Target,
    WriteOptions,
)
from kinformer.apiserver.rest._verbs import Verbs

__all__ = [
    "DeleteOptions",
    "Event",
    "ListOptions",
    "Listing",
    "PatchKind",
    "Propagation",
    "StatusError",
    "StoredObject",
    "Target",
    "Verbs",
    "WriteOptions",
]
