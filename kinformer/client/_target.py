"""Target: where the requests of one resource client go, and which keys fit there. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from kinformer.client._body import EncodedBody
from kinformer.client._filters import EVERYTHING, Fields, Filters, Labels
from kinformer.meta import ObjectKey, Resource

__all__ = ["Target"]

_KINDS: Final[Mapping[str, Resource]] = {
    "scale": Resource("autoscaling", "v1", "scales", "Scale"),
    "eviction": Resource("policy", "v1", "evictions", "Eviction"),
    "binding": Resource("", "v1", "bindings", "Binding"),
    "token": Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest"),
}
"""Subresources whose objects are of a kind of their own. Those of all others are the resource's."""


@dataclass(frozen=True, slots=True)
class Target:
    """A resource, or a subresource of its objects, and the filters that hold where none are given."""

    resource: Resource
    filters: Filters = EVERYTHING
    subresource: str = ""
    exchanged: Resource | None = None
    """What the objects of the subresource are, where that is neither the resource nor known."""

    @property
    def objects(self) -> Resource:
        """What the objects call themselves, which for ``scale`` is not what the path says."""
        return self.exchanged or _KINDS.get(self.subresource, self.resource)

    def where(self, namespace: str | None, labels: Labels | None, fields: Fields | None) -> Self:
        """The same with other filters.

        Raises:
            ValueError: A selector does not follow its grammar, or a cluster-scoped resource is given a namespace.
        """
        filters = self.filters.but(namespace, labels, fields)
        self.resource.path(filters.namespace)
        return replace(self, filters=filters)

    def below(self, subresource: str, objects: Resource | None = None) -> Self:
        """A subresource of the same objects, whose own objects may be of another kind.

        Raises:
            ValueError: This is one already, or it has no name.
        """
        if self.subresource:
            raise ValueError(f"the subresource {self.subresource!r} has no subresources")
        if not subresource or "/" in subresource:
            raise ValueError(f"subresource {subresource!r} must be a name such as 'status'")
        return replace(self, subresource=subresource, exchanged=objects)

    def collection(self) -> str:
        """The path of all objects in the namespace of the filters.

        Raises:
            ValueError: A subresource belongs to one object.
        """
        if self.subresource:
            raise ValueError(
                f"the subresource {self.subresource!r} has no collection: it belongs to one object"
            )
        return self.resource.path(self.filters.namespace)

    def item(self, key: ObjectKey | str) -> str:
        """The path of one object; a bare name is taken to be in the namespace of the filters.

        Raises:
            ValueError: The key does not fit the scope of the resource.
        """
        found = self.key(key)
        return self.resource.path(found.namespace, found.name, self.subresource)

    def key(self, key: ObjectKey | str) -> ObjectKey:
        """Read a key as ``item`` does.

        Raises:
            ValueError: As for ``item``.
        """
        found = ObjectKey.parse(key) if isinstance(key, str) else key
        if not found.namespace and self.resource.namespaced:
            found = ObjectKey(self.filters.namespace, found.name)
        return self.resource.key(found)

    def item_of(self, body: EncodedBody, namespace: str | None) -> str:
        """The path of the object that has this body.

        Raises:
            ValueError: It has no name, or see ``home_of``.
        """
        if not body.key.name:
            raise ValueError(f"this {self.objects.kind} has no metadata.name: give it one")
        return self.item(ObjectKey(self.home_of(body, namespace), body.key.name))

    def home_of(self, body: EncodedBody, namespace: str | None) -> str:
        """The namespace of an object: what it says itself, what the caller says, what the filters say.

        Raises:
            ValueError: The first two disagree, or a namespaced resource is told by none.
        """
        own = body.key.namespace
        if own and namespace and own != namespace:
            raise ValueError(
                f"the object has metadata.namespace {own!r}, and namespace={namespace!r} says otherwise"
            )
        found = own or namespace or self.filters.namespace
        if self.resource.namespaced and not found:
            raise ValueError(
                f"{self.resource} is namespaced: set metadata.namespace of the object, or give namespace="
            )
        return found

    def __str__(self) -> str:
        filters = self.filters
        named = (("namespace", filters.namespace), ("labels", filters.labels), ("fields", filters.fields))
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.resource}{below}" + "".join(f" {name}={value}" for name, value in named if value)
