"""Applier: make objects be as they should, and ask nothing of the server where they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from kinformer.controller._intents import Intents
from kinformer.controller._reconcile import Request
from kinformer.meta import Object, ObjectKey, Resource

__all__ = ["Applied", "Applier"]


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an object.

    Attributes:
        obj: The object as it is now.
        result: ``"created"`` where it was not there before, ``"changed"`` where something of it was, ``"unchanged"`` where
            the server found nothing to do, and ``"skipped"`` where it was not even asked.
    """

    obj: Object
    result: Literal["created", "changed", "unchanged", "skipped"]


class _Place(NamedTuple):
    cluster: str
    resource: Resource
    key: ObjectKey


class Applier:
    """Creates or changes objects by server-side apply, for one field manager; one for a controller will do.

    A request is saved where the cache shows the object with all that is wanted, and the same was wanted the last time. The
    first time after a start always asks, since only then the server can take away what is not wanted any more. What
    someone else changes in the wanted fields is put right; what the server adds to them is not a change.

    Args:
        field_manager: Who owns the wanted fields; the same name at each start.
        force: Take fields from other managers instead of failing.
        capacity: How many objects are remembered, at some hundred bytes each.

    Raises:
        ValueError: The name is empty, or the capacity is not positive.
    """

    def __init__(self, field_manager: str, *, force: bool = True, capacity: int = 10_000) -> None:
        if not field_manager:
            raise ValueError(
                "an applier needs a field_manager: a name for who applies, such as the controller's"
            )
        if capacity < 1:
            raise ValueError(f"capacity={capacity} must be at least 1")
        self.field_manager: Final = field_manager
        self.force: Final = force
        self._intents: Intents[_Place] = Intents(capacity)

    async def create_or_apply(
        self, request: Request, resource: Resource, wanted: Mapping[str, Any], *, namespace: str = ""
    ) -> Applied:
        """Make an object say what is wanted.

        Args:
            request: What is being reconciled; its lister is read, and its client writes.
            resource: The object's resource; the controller watches, owns or reads it.
            wanted: The object, with a name, and with the fields that this controller has an opinion about. Nothing else
                should be in it: not its version, nor what was read of it.
            namespace: Where it is, if it does not say so itself.

        Raises:
            LookupError: The controller has not declared the resource.
            ConflictError: Another manager owns a field, and this one does not use force.
            ValueError: It has no name, or nobody says in which namespace it is.
            ApiError: The server refuses.
        """
        place = _Place(request.cluster, resource, _key_of(resource, wanted, namespace))
        found = request.lister(resource).get(place.key)
        if found is not None and self._intents.are_met(place, wanted, found):
            return Applied(found, "skipped")
        made = await request.client.resource(resource).apply(
            wanted,
            field_manager=self.field_manager,
            force=self.force,
            namespace=place.key.namespace or None,
        )
        self._intents.note(place, wanted, made)
        if found is None:
            return Applied(made, "created")
        is_same = made.metadata.resource_version == found.metadata.resource_version
        return Applied(made, "unchanged" if is_same else "changed")


def _key_of(resource: Resource, wanted: Mapping[str, Any], namespace: str) -> ObjectKey:
    metadata = wanted.get("metadata") or {}
    name = metadata.get("name")
    if not name:
        raise ValueError(
            f"the {resource.kind} to apply needs metadata.name: apply works on one object, by its name"
        )
    if not resource.namespaced:
        return ObjectKey("", name)
    home = metadata.get("namespace") or namespace
    if not home:
        raise ValueError(f"{resource.kind} {name} needs metadata.namespace, or namespace=")
    return ObjectKey(home, name)
