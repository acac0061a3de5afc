"""What a Kubernetes object is, without asking a server. Pure: nothing here waits or talks."""

from kinformer.meta._builtins import BUILTINS, BuiltinRow
from kinformer.meta._events import INITIAL_EVENTS_END, EventType, ObjectList, Objects, WatchEvent
from kinformer.meta._fields import FieldRequirement, FieldSelector
from kinformer.meta._frozen import FrozenDict, FrozenList
from kinformer.meta._keys import ObjectKey
from kinformer.meta._labels import LabelOperator, LabelRequirement, LabelSelector
from kinformer.meta._metadata import ObjectMeta, OwnerReference, WireMetadata, decode_metadata
from kinformer.meta._objects import Object, Pack, Packing, Record, check_model
from kinformer.meta._openapi_models import OpenApiModel, openapi_content
from kinformer.meta._prune import prune_managed_fields
from kinformer.meta._resources import Resource
from kinformer.meta._versions import ANY, LATEST, is_at_least

__all__ = [
    "ANY",
    "BUILTINS",
    "INITIAL_EVENTS_END",
    "LATEST",
    "BuiltinRow",
    "EventType",
    "FieldRequirement",
    "FieldSelector",
    "FrozenDict",
    "FrozenList",
    "LabelOperator",
    "LabelRequirement",
    "LabelSelector",
    "Object",
    "ObjectKey",
    "ObjectList",
    "ObjectMeta",
    "Objects",
    "OpenApiModel",
    "OwnerReference",
    "Pack",
    "Packing",
    "Record",
    "Resource",
    "WatchEvent",
    "WireMetadata",
    "check_model",
    "decode_metadata",
    "is_at_least",
    "openapi_content",
    "prune_managed_fields",
]
