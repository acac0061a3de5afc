"""What a reconciler is given, and what it may say: ``Request``, ``RequeueAfter``, and the shape of the function."""

import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ParamSpec, Protocol, Self, TypeAlias, TypeVar, overload

from anyio import from_thread

from kinformer.client import Client
from kinformer.controller._event_series import EventType
from kinformer.controller._history import Reason
from kinformer.controller._recorder import EventRecorder
from kinformer.informer import Lister
from kinformer.meta import Object, ObjectKey, Resource

__all__ = ["Cache", "Reconciler", "Request", "RequeueAfter"]

T = TypeVar("T")
P = ParamSpec("P")


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
        last_error: What the call before failed with, in words; ``""`` where it did not.
        reasons: What has made the key run, the first few of it: for logs, not for decisions.
        reconcile_id: Of this call and no other, for logs and traces; ``""`` where nobody gave it one.
        caches: The caches that the controller has declared; read them through ``lister``.
        recorder: Writes events; tell it something through ``event``.
    """

    cluster: str
    key: ObjectKey
    client: Client
    attempt: int = 1
    last_error: str = ""
    reasons: tuple[Reason, ...] = ()
    reconcile_id: str = ""
    caches: Mapping[Resource, Cache] = field(default_factory=dict, repr=False, compare=False)
    recorder: EventRecorder | None = field(default=None, repr=False, compare=False)

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
                f"there is no cache of {resource}: declare it with .reads(resource) on the controller, "
                f"or read live with request.client; declared: {declared}"
            )
        return cache.lister if model is Object else cache.lister.typed(model)

    def event(
        self,
        regarding: Object,
        reason: str,
        note: str = "",
        *,
        type: EventType = "Normal",  # noqa: A002 -- the field's word, and a keyword
        action: str = "Reconcile",
        related: Object | None = None,
    ) -> None:
        """Tell people something about an object, by an Event that ``kubectl describe`` shows; see ``EventRecorder.event``.

        Raises:
            RuntimeError: Nobody records events for this request, as where a test has made it.
            ValueError: See there.
        """
        if self.recorder is None:
            raise RuntimeError("nobody records events here: a manager gives its requests a recorder")
        self.recorder.event(regarding, reason, note, type=type, action=action, related=related)

    def run(self, function: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """In a plain reconciler, which has a thread to itself: call an async function in the event loop, and wait for it.

        ``request.run(request.client.resource(PODS).delete, request.key, uid=uid)``

        Raises:
            RuntimeError: This is no such thread: write ``await function(...)`` instead.
        """
        return from_thread.run(partial(function, *args, **kwargs))

    def with_caches(self, caches: Mapping[Resource, Cache]) -> Self:
        """The same request with other caches in the place of its own."""
        return replace(self, caches=caches)


Reconciler: TypeAlias = Callable[[Request], Awaitable[RequeueAfter | None]]
"""The user's function. It is called for one key at a time, and for a failed key again; so it must be idempotent."""
