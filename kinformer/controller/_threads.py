"""Reconcilers of both kinds: async ones as they are, plain ones with a thread for each call."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Generic, TypeAlias, TypeVar

from anyio import from_thread, to_thread

from kinformer.controller._reconcile import Cache, Reconciler, Request, RequeueAfter
from kinformer.informer import Lister
from kinformer.meta import LabelSelector, Object, ObjectKey

__all__ = ["PlainReconciler", "name_of", "reconciler_of"]

T = TypeVar("T")
U = TypeVar("U")

PlainReconciler: TypeAlias = Callable[[Request], RequeueAfter | None]
"""A reconciler that is a plain function, for what has no async library. Each call of it has a thread of anyio's, of which
there are 40 at a time unless ``anyio.to_thread.current_default_thread_limiter()`` is told otherwise.

A thread cannot be cancelled: where its time is over, or the run, the call is waited for, with its key in hand. A long one
asks ``anyio.from_thread.check_cancelled()`` now and then, which raises when it should end. ``request.run`` calls async
functions.
"""


def reconciler_of(function: Reconciler | PlainReconciler) -> Reconciler:
    """Give ``function`` back if it is an ``async def``, else one that calls it in a thread.

    Raises:
        TypeError: It is no function, cannot be called with one request, or yields.
    """
    _check(function)
    faces = (function, getattr(function, "__call__", None))  # noqa: B004 -- an object whose call is async is as good
    if any(map(inspect.iscoroutinefunction, faces)):
        return function  # type: ignore[return-value]  # so it is one
    return _in_threads(function)  # type: ignore[arg-type]  # what is not async is plain


def name_of(function: Reconciler | PlainReconciler) -> str:
    """How a reconciler is told to people."""
    return getattr(function, "__qualname__", None) or repr(function)


def _check(function: Reconciler | PlainReconciler) -> None:
    """See a mistake where the function is given, and not with the first event."""
    if not callable(function):
        raise TypeError(f"a reconciler is a function of one request, not {function!r}")
    name = name_of(function)
    if isinstance(function, type):
        raise TypeError(f"reconciler {name} is a class: give an instance of it, or one of its methods")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"reconciler {name} yields: return None or RequeueAfter(seconds) instead")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # written in another language, which does not tell
    try:
        signature.bind(None)
    except TypeError:
        raise TypeError(
            f"reconciler {name}{signature} must take one argument, the request, and no other: what it is about is read "
            "through it, as in request.lister(RESOURCE).get(request.key)"
        ) from None


def _in_threads(function: PlainReconciler) -> Reconciler:
    @wraps(function)
    async def reconcile(request: Request) -> RequeueAfter | None:
        caches = {resource: _LoopCache(cache) for resource, cache in request.caches.items()}
        call = partial(function, request.with_caches(caches))
        return await to_thread.run_sync(call)

    return reconcile


class _LoopCache:
    """A cache whose lister may be asked in a thread."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @property
    def lister(self) -> Lister[Object]:
        return _LoopLister(self._cache.lister)


class _LoopLister(Lister[T], Generic[T]):
    """A lister that looks in the event loop, and not while the store changes."""

    def __init__(self, inner: Lister[T]) -> None:
        self.resource = inner.resource  # type: ignore[misc]  # final there, and set once here too
        self._inner = inner

    def get(self, key: ObjectKey | str) -> T | None:
        return from_thread.run_sync(self._inner.get, key)

    def list(
        self, *, namespace: str | None = None, labels: LabelSelector | str | None = None
    ) -> tuple[T, ...]:
        return from_thread.run_sync(partial(self._inner.list, namespace=namespace, labels=labels))

    def by_namespace(self, namespace: str) -> tuple[T, ...]:
        return self.list(namespace=namespace)

    def by_index(self, name: str, value: str) -> tuple[T, ...]:
        return from_thread.run_sync(self._inner.by_index, name, value)

    def by_indexes(self, values: Mapping[str, str]) -> tuple[T, ...]:
        return from_thread.run_sync(self._inner.by_indexes, values)

    def by_owner(self, uid: str) -> tuple[T, ...]:
        return from_thread.run_sync(self._inner.by_owner, uid)

    def typed(self, model: type[U]) -> Lister[U]:
        return _LoopLister(self._inner.typed(model))

    def __len__(self) -> int:
        return from_thread.run_sync(len, self._inner)

    def __contains__(self, key: object) -> bool:
        return from_thread.run_sync(self._inner.__contains__, key)
