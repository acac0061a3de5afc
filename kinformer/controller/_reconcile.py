"""What a reconciler is given, and what it may say: ``Request``, ``RequeueAfter``, and the shape of the function."""

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, overload

from kinformer.client import Client
from kinformer.informer import Lister
from kinformer.meta import Object, ObjectKey, Resource

__all__ = ["Cache", "Reconciler", "Request", "RequeueAfter", "checked_reconciler"]

T = TypeVar("T")


class Cache(Protocol):
    """The part of a ``SharedInformer`` that a reconciler reads through."""

    @property
    def lister(self) -> Lister[Object]:
        """Read access to the objects."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Said by a reconciler that succeeded: look at this key again in some seconds, or earlier if something happens.

    Args:
        seconds: How long to wait; 0 means at once.

    Raises:
        TypeError: The delay is no number.
        ValueError: The delay is negative, infinite or not a number.
    """

    seconds: float

    def __post_init__(self) -> None:
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float):
            raise TypeError(f"RequeueAfter({self.seconds!r}): give the delay as a number of seconds")
        if not 0 <= self.seconds < math.inf:
            raise ValueError(f"RequeueAfter({self.seconds!r}): the delay must be zero or more, and finite")


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a reconciler: which object to look at, and the means to do so.

    It does not say what happened, so that a reconciler looks at the world as it is (level-triggered, as
    controller-runtime's ``reconcile.Request``).

    Attributes:
        cluster: Which of the manager's clients this is about; ``""`` where there is only one.
        key: The object's namespace and name. The object may be gone: then the lister says ``None``.
        client: The client of that cluster, for live reads and for writes.
        attempt: 1, or one more than the failures in a row of this key.
        caches: The caches that the controller has declared; read them through ``lister``.
    """

    cluster: str
    key: ObjectKey
    client: Client
    attempt: int = 1
    caches: Mapping[Resource, Cache] = field(default_factory=dict, repr=False, compare=False)

    @overload
    def lister(self, resource: Resource) -> Lister[Object]: ...
    @overload
    def lister(self, resource: Resource, model: type[T]) -> Lister[T]: ...
    def lister(self, resource: Resource, model: type[Any] = Object) -> Lister[Any]:
        """The cache of a resource that the controller watches, owns or reads; never a request to the server.

        Args:
            resource: What to read.
            model: What the objects are decoded into; the default gives ``Object``.

        Raises:
            LookupError: The controller has not declared the resource.
        """
        cache = self.caches.get(resource)
        if cache is None:
            declared = ", ".join(sorted(map(str, self.caches))) or "nothing"
            raise LookupError(
                f"there is no cache of {resource}: declare it with .reads({resource.kind!r} resource) on the "
                f"controller, or read live with request.client; declared: {declared}"
            )
        return cache.lister if model is Object else cache.lister.typed(model)


Reconciler: TypeAlias = Callable[[Request], Awaitable[RequeueAfter | None]]
"""The user's function. It is called for one key at a time, and for a failed key again; so it must be idempotent."""


def checked_reconciler(function: Reconciler) -> Reconciler:
    """Give ``function`` back if it is an ``async def``.

    Raises:
        TypeError: It is no function, or a plain one.
    """
    if not callable(function):
        raise TypeError(f"a reconciler is an async function of one request, not {function!r}")
    if not inspect.iscoroutinefunction(function) and not inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 -- an object whose call is async is as good as a function
    ):
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(
            f"the reconciler {name} must be an 'async def': plain functions are not supported yet"
        )
    return function
