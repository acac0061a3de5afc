"""Sightings: what the definition of a custom resource says about being served. Pure."""

from enum import Enum, auto
from typing import Final

import msgspec

from kinformer.meta import EventType, Record, Resource, WatchEvent

__all__ = ["Sighting", "Sightings", "serves"]


class Sighting(Enum):
    """What an event about definitions means to somebody who waits for one kind."""

    ABSENT = auto()
    """The kind is not served, or the event is about another one."""
    NEWS = auto()
    """The kind is served, and was not when last seen."""
    KNOWN = auto()
    """The kind is served, as it was when last seen."""


class Sightings:
    """What was seen of the definition of one kind.

    A definition is news once: again only after it was seen without serving the kind, or under another uid or
    generation. So whatever else is written to it, its status for example, wakes nobody.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._name = f"{resource.plural}.{resource.group}"
        self._told: tuple[str, int] | None = None

    def see(self, event: WatchEvent) -> Sighting:
        """Take the next event of a watch of definitions."""
        if event.record is None or event.record.key.name != self._name:
            return Sighting.ABSENT
        if event.type is EventType.DELETED or not serves(event.record, self._resource):
            self._told = None
            return Sighting.ABSENT
        edition = (event.record.metadata.uid, event.record.metadata.generation)
        if edition == self._told:
            return Sighting.KNOWN
        self._told = edition
        return Sighting.NEWS


class _Version(msgspec.Struct):
    name: str
    served: bool = False


class _Spec(msgspec.Struct):
    versions: list[_Version]


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: list[_Condition]


class _Definition(msgspec.Struct):
    spec: _Spec
    status: _Status


_decode: Final = msgspec.json.Decoder(_Definition).decode


def serves(record: Record, resource: Resource) -> bool:
    """Whether a CustomResourceDefinition has the server serve a resource in its version.

    It is established, and has the version among those that are served:
    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    try:
        definition = _decode(record.raw)
    except msgspec.DecodeError:  # no status yet
        return False
    is_established = any(
        condition.type == "Established" and condition.status == "True"
        for condition in definition.status.conditions
    )
    return is_established and any(
        version.name == resource.version and version.served for version in definition.spec.versions
    )
