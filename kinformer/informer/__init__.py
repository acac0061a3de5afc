"""One cache and many handlers for each resource."""

from kinformer.informer._admission import MANAGED_FIELDS, Prune, Transform
from kinformer.informer._factory import Filterable, InformerFactory, Sources
from kinformer.informer._handlers import FilteringHandler, Handler, HandlerFunction, Handlers
from kinformer.informer._informer import SharedInformer
from kinformer.informer._lister import Lister
from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.informer._options import CacheOptions, InformerOptions
from kinformer.informer._registration import Registration
from kinformer.informer._stats import InformerStats

__all__ = [
    "MANAGED_FIELDS",
    "Added",
    "CacheOptions",
    "Deleted",
    "Filterable",
    "FilteringHandler",
    "Handler",
    "HandlerFunction",
    "Handlers",
    "InformerFactory",
    "InformerOptions",
    "InformerStats",
    "Lister",
    "Notification",
    "Prune",
    "Registration",
    "SharedInformer",
    "Sources",
    "Transform",
    "Updated",
]
