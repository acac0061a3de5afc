"""kinformer: the SDK for Kubernetes controllers in Python.

The names that most programs need are here; each is documented in the room that it comes from. Imported from
their rooms: ``kinformer.apiserver`` (an apiserver to embed), ``kinformer.testing`` (``Cluster``, ``FakeClock``),
``kinformer.errors`` (what can go wrong), ``kinformer.reflector`` and ``kinformer.store`` (the parts of an informer).
"""

from kinformer.client import Client, Config, ResourceClient, load_config, retry_on_conflict, wait_for
from kinformer.controller import (
    Controller,
    Manager,
    Request,
    RequeueAfter,
    add_finalizer,
    generation_changed,
    get_condition,
    owner_reference,
    remove_finalizer,
    run,
    set_condition,
    set_owner,
)
from kinformer.errors import KinformerError, NotFoundError, TerminalError
from kinformer.informer import (
    Added,
    Deleted,
    FilteringHandler,
    Handlers,
    InformerFactory,
    Lister,
    Notification,
    SharedInformer,
    Updated,
)
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.workqueue import WorkQueue

__all__ = [
    "Added",
    "Client",
    "Config",
    "Controller",
    "Deleted",
    "FilteringHandler",
    "Handlers",
    "InformerFactory",
    "KinformerError",
    "Lister",
    "Manager",
    "NotFoundError",
    "Notification",
    "Object",
    "ObjectKey",
    "Request",
    "RequeueAfter",
    "Resource",
    "ResourceClient",
    "SharedInformer",
    "TerminalError",
    "Updated",
    "WorkQueue",
    "add_finalizer",
    "generation_changed",
    "get_condition",
    "load_config",
    "owner_reference",
    "remove_finalizer",
    "retry_on_conflict",
    "run",
    "set_condition",
    "set_owner",
    "wait_for",
]
