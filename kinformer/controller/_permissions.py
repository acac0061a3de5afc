"""Permissions: what a program must be allowed to do, as Roles grant it. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kinformer.meta import Resource

__all__ = ["EVENTS", "EVERYWHERE", "Permission", "least", "to_own", "to_read", "to_tell", "to_write"]

EVERYWHERE: Final = "*"
"""In place of a namespace: all of them, or the cluster."""

EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
"""What recorders write."""

_READ: Final = ("list", "watch")
_WRITE: Final = ("create", "delete", "get", "patch", "update")
_CHANGE: Final = ("get", "patch", "update")
_OTHERS: Final = {"binding": ("create",), "eviction": ("create",), "token": ("create",), "log": ("get",)}
"""Subresources that are not read and changed like ``status``."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Some verbs on one resource in one namespace; a rule of a Role, and the subject of an access review.

    Attributes:
        resource: What it is about.
        verbs: As RBAC spells them: ``get``, ``list``, ``create`` and so on.
        namespace: Where; ``""`` is the namespace that the program runs in, ``"*"`` all of them, or the cluster.
        names: Only the objects with these names; none named means all. ``create`` cannot be limited so.
        subresource: Only this part of the objects, such as ``status``.
    """

    resource: Resource
    verbs: tuple[str, ...]
    namespace: str = ""
    names: tuple[str, ...] = ()
    subresource: str = ""

    @property
    def combined(self) -> str:
        """The resource as rules name it, such as ``pods/status``."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


def to_read(resource: Resource, namespaces: Iterable[str]) -> Iterator[Permission]:
    """What a cache of ``resource`` takes."""
    for namespace in _places(resource, namespaces):
        yield Permission(resource, _READ, namespace)


def to_write(resource: Resource, namespaces: Iterable[str], *subresources: str) -> Iterator[Permission]:
    """What it takes to make, change and delete objects; or to change only these parts of them.

    ``finalizers`` stands for adding and removing them, which is a patch of the object itself.
    """
    for namespace in _places(resource, namespaces):
        if not subresources:
            yield Permission(resource, _WRITE, namespace)
        for part in subresources:
            if part == "finalizers":
                yield Permission(resource, ("get", "patch"), namespace)
                continue
            yield Permission(resource, _OTHERS.get(part, _CHANGE), namespace, subresource=part)


def to_own(owner: Resource, namespaces: Iterable[str]) -> Iterator[Permission]:
    """What it takes to name objects of ``owner`` as owners that wait for what they own.

    Clusters with the admission plugin ``OwnerReferencesPermissionEnforcement`` ask for it.
    """
    for namespace in _places(owner, namespaces):
        yield Permission(owner, ("update",), namespace, subresource="finalizers")


def to_tell(namespaces: Iterable[str]) -> Iterator[Permission]:
    """What it takes to write Events about objects."""
    for namespace in _places(EVENTS, namespaces):
        yield Permission(EVENTS, ("create", "patch"), namespace)


def least(permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """The same with nothing said twice, in order of group, resource, subresource, namespace and names.

    Versions do not matter to a Role, so of resources that differ in nothing else the first counts.
    """
    verbs: dict[Permission, set[str]] = {}
    known: dict[tuple[str, str], Resource] = {}
    for each in permissions:
        resource = known.setdefault((each.resource.group, each.resource.plural), each.resource)
        names = tuple(sorted(set(each.names)))
        verbs.setdefault(replace(each, resource=resource, verbs=(), names=names), set()).update(each.verbs)
    kept = []
    for each, found in verbs.items():
        wider = (
            replace(each, namespace=namespace, names=names)
            for namespace in (each.namespace, EVERYWHERE)
            for names in (each.names, ())
        )
        left = found.difference(*(verbs[other] for other in wider if other in verbs and other != each))
        if left:
            kept.append(replace(each, verbs=tuple(sorted(left))))
    return tuple(sorted(kept, key=_order))


def _order(permission: Permission) -> tuple[str, str, str, tuple[str, ...]]:
    return permission.resource.group, permission.combined, permission.namespace, permission.names


def _places(resource: Resource, namespaces: Iterable[str]) -> tuple[str, ...]:
    """Where: none named means all, and what lies in no namespace is everywhere."""
    return (resource.namespaced and tuple(namespaces)) or (EVERYWHERE,)
