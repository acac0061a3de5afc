"""From what happened to an object to the keys that must be looked at: scopes, rules and predicates. Pure."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import LabelSelector, Object, ObjectKey, OwnerReference, Resource
from kinformer.workqueue import LOW_PRIORITY

__all__ = [
    "EventSource",
    "KeyMap",
    "Predicate",
    "Scope",
    "checked_functions",
    "keys_of_owners",
    "own_key",
    "priority_of",
]

R = TypeVar("R")

KeyMap: TypeAlias = Callable[[Object], Iterable[ObjectKey] | ObjectKey]
"""From an object of another kind to the keys of the watched kind that depend on it."""

Predicate: TypeAlias = Callable[[Notification[Object]], bool]
"""Whether something that happened is worth a reconcile. It filters work, not memory: the cache has the object anyway."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a resource a cache holds: by namespace (none named: all), and by labels."""

    namespaces: tuple[str, ...] = ()
    labels: LabelSelector | None = None

    @classmethod
    def of(cls, namespaces: Iterable[str], labels: LabelSelector | str | None) -> "Scope":
        """Read what the user wrote.

        Raises:
            TypeError: ``namespaces`` is one text instead of a collection.
            ValueError: A namespace is empty, or the selector is not one.
        """
        if isinstance(namespaces, str):
            raise TypeError(f"namespaces={namespaces!r} must be a collection: write [{namespaces!r}]")
        names = tuple(sorted(set(namespaces)))
        if "" in names:
            raise ValueError("a namespace must not be empty: leave namespaces out to mean all of them")
        return cls(names, LabelSelector.parse(labels) if isinstance(labels, str) else labels)


@dataclass(frozen=True, slots=True)
class EventSource:
    """One enqueue rule: notifications of one resource that pass ``when`` become keys.

    Attributes:
        resource: Whose events they are.
        keys: The keys that one object concerns.
        when: All of them must agree.
    """

    resource: Resource
    keys: KeyMap
    when: tuple[Predicate, ...] = ()

    def keys_of(self, notification: Notification[Object]) -> Iterator[ObjectKey]:
        """The keys to look at, each once.

        An update concerns the keys of the old object as well as of the new one, so that whoever lost the object hears
        of it (controller-runtime's ``EnqueueRequestForOwner`` and ``EnqueueRequestsFromMapFunc`` do the same).

        Raises:
            TypeError: A mapping function gave something else than object keys.
        """
        if not all(passes(notification) for passes in self.when):
            return
        seen: set[ObjectKey] = set()
        for obj in _objects(notification):
            for key in self._mapped(obj):
                if key not in seen:
                    seen.add(key)
                    yield key

    def _mapped(self, obj: Object) -> Iterable[ObjectKey]:
        keys: object = self.keys(obj)  # users need not check types
        if isinstance(keys, ObjectKey):
            return (keys,)
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise TypeError(f"map of {self.resource} must give ObjectKeys, not {keys!r}; nothing is ()")
        found = tuple(keys)
        for key in found:
            if not isinstance(key, ObjectKey):
                raise TypeError(
                    f"map of {self.resource} must give ObjectKeys, not {key!r}: ObjectKey.parse reads text"
                )
        return found


def own_key(obj: Object) -> ObjectKey:
    """The rule of the watched kind: an object concerns itself."""
    return obj.key


def keys_of_owners(owner: Resource, *, any_owner: bool) -> KeyMap:
    """The rule of owned kinds: an object concerns its owners of the watched kind.

    Group and kind must match, the version need not, since an owner may have been written under another one. The owner
    is in the object's namespace, or in none where its kind is cluster-scoped.

    Args:
        owner: The watched kind.
        any_owner: Take every owner reference, not only the one that is marked as controller.
    """

    def keys(obj: Object) -> Iterable[ObjectKey]:
        namespace = obj.metadata.namespace if owner.namespaced else ""
        return [
            ObjectKey(namespace, reference.name)
            for reference in obj.metadata.owner_references
            if (any_owner or reference.controller) and _is_a(reference, owner)
        ]

    return keys


def priority_of(notification: Notification[Object]) -> int:
    """How urgent the keys are: low for what a first list shows, and for an update that changes nothing (a resync).

    So at a start, and at a resync of ten thousand objects, what really happens is not behind all of them. The rule is
    that of controller-runtime's stock handlers.
    """
    match notification:
        case Added(is_initial=True):
            return LOW_PRIORITY
        case Updated(old=old, new=new) if old.metadata.resource_version == new.metadata.resource_version:
            return LOW_PRIORITY
        case _:
            return 0


def checked_functions(
    what: str, functions: Callable[..., R] | Iterable[Callable[..., R]]
) -> tuple[Callable[..., R], ...]:
    """Give user code that must answer at once as a tuple of plain functions.

    Raises:
        TypeError: It is no function and no collection of them, or one is async.
    """
    if not callable(functions) and not isinstance(functions, Iterable):
        raise TypeError(f"{what}= takes functions, not {functions!r}")
    found = (functions,) if callable(functions) else tuple(functions)
    for function in found:
        if not callable(function):
            raise TypeError(f"{what}= takes functions, not {function!r}")
        faces = (function, getattr(function, "__call__", None))  # noqa: B004 -- an instance may be async too
        if any(map(inspect.iscoroutinefunction, faces)):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{what}={name} must be a plain function: it is called between two awaits")
    return found


def _objects(notification: Notification[Object]) -> tuple[Object, ...]:
    match notification:
        case Updated(old=old, new=new):
            return (old, new)
        case Added(obj=obj) | Deleted(obj=obj):
            return (obj,)


def _is_a(reference: OwnerReference, owner: Resource) -> bool:
    group = reference.api_version.rpartition("/")[0]
    return reference.kind == owner.kind and group == owner.group
