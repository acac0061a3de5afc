"""The documents of discovery, plain and aggregated, as a server sends them. Pure.

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from kinformer.client._catalog import ServedResource
from kinformer.errors import DecodeError, RequestError, ServerError
from kinformer.meta import Resource

__all__ = ["AGGREGATED", "Root", "read_resources", "read_root"]

_API: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
AGGREGATED: Final = ",".join((_API.format("v2"), _API.format("v2beta1"), "application/json"))
"""What to accept in order to get everything at once, and else the plain documents, which any server has."""


@dataclass(frozen=True, slots=True)
class Root:
    """What ``/api`` or ``/apis`` says: aggregated, all resources; plain, only where to ask for them."""

    resources: tuple[ServedResource, ...] = ()
    failures: Mapping[str, RequestError] = field(default_factory=dict)
    group_versions: tuple[str, ...] = ()
    """Of each group the preferred version first."""


class _Kind(msgspec.Struct):
    kind: str = ""


class _Versions(msgspec.Struct):
    versions: list[str] | None = None


class _Version(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, rename="camel"):
    versions: list[_Version] | None = None
    preferred_version: _Version | None = None


class _Groups(msgspec.Struct):
    groups: list[_Group] | None = None


class _Line(msgspec.Struct, rename="camel"):
    """One of an ``APIResourceList``; ``group`` and ``version`` are there where they are not those of the list."""

    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    group: str = ""
    version: str = ""
    short_names: list[str] | None = None
    categories: list[str] | None = None
    verbs: list[str] | None = None


class _Lines(msgspec.Struct):
    resources: list[_Line] | None = None


class _ResponseKind(msgspec.Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(msgspec.Struct):
    subresource: str


class _Entry(msgspec.Struct, rename="camel"):
    """One of an ``APIGroupDiscoveryList``."""

    resource: str
    scope: str
    response_kind: _ResponseKind | None = None
    singular_resource: str = ""
    short_names: list[str] | None = None
    categories: list[str] | None = None
    verbs: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _EntryVersion(msgspec.Struct):
    version: str
    freshness: str = "Current"
    resources: list[_Entry] | None = None


class _Metadata(msgspec.Struct):
    name: str = ""


class _EntryGroup(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    versions: list[_EntryVersion] | None = None


class _EntryGroups(msgspec.Struct):
    items: list[_EntryGroup] | None = None


_decode_kind: Final = msgspec.json.Decoder(_Kind).decode
_decode_versions: Final = msgspec.json.Decoder(_Versions).decode
_decode_groups: Final = msgspec.json.Decoder(_Groups).decode
_decode_lines: Final = msgspec.json.Decoder(_Lines).decode
_decode_aggregated: Final = msgspec.json.Decoder(_EntryGroups).decode
_UNREADABLE: Final = (msgspec.DecodeError, RecursionError)


def read_root(body: bytes) -> Root:
    """Understand the answer to ``/api`` or ``/apis``, whichever of the three documents it is.

    Raises:
        DecodeError: It is none of them.
    """
    try:
        kind = _decode_kind(body).kind
        match kind:
            case "APIGroupDiscoveryList":
                return _aggregated(_decode_aggregated(body))
            case "APIVersions":
                return Root(group_versions=tuple(_decode_versions(body).versions or ()))
            case "APIGroupList":
                return Root(group_versions=_in_order(_decode_groups(body)))
            case _:
                raise DecodeError(f"expected a discovery document, found {kind or 'no kind'}")
    except _UNREADABLE as error:
        raise DecodeError(f"the discovery document cannot be read: {error}") from error


def read_resources(body: bytes, group_version: str) -> tuple[ServedResource, ...]:
    """Understand an ``APIResourceList``: what one group version serves.

    Raises:
        DecodeError: It is none.
    """
    try:
        if (kind := _decode_kind(body).kind) != "APIResourceList":
            raise DecodeError(f"expected the resources of {group_version}, found {kind or 'no kind'}")
        lines = _decode_lines(body).resources or ()
    except _UNREADABLE as error:
        raise DecodeError(f"the resources of {group_version} cannot be read: {error}") from error
    group, _, version = group_version.rpartition("/")
    below: dict[str, list[_Subresource]] = {}
    for line in lines:
        plural, _, name = line.name.partition("/")
        if name:
            below.setdefault(plural, []).append(_Subresource(name))
    entries = [_entry(line, group, version, below.get(line.name)) for line in lines if "/" not in line.name]
    return _served(entries, group, version)


def _aggregated(document: _EntryGroups) -> Root:
    resources: list[ServedResource] = []
    failures: dict[str, RequestError] = {}
    for item in document.items or ():
        group = item.metadata.name
        for found in item.versions or ():
            resources += _served(found.resources or (), group, found.version)
            if found.freshness != "Current":
                text = f"the server behind it did not answer, so what it says is {found.freshness.lower()}"
                name = f"{group}/{found.version}" if group else found.version
                failures[name] = ServerError(503, "ServiceUnavailable", text)
    return Root(tuple(resources), failures)


def _in_order(document: _Groups) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for group in document.groups or ():
        preferred = [group.preferred_version] if group.preferred_version else []
        names |= dict.fromkeys(found.group_version for found in (*preferred, *(group.versions or ())))
    return tuple(name for name in names if name)


def _entry(line: _Line, group: str, version: str, below: list[_Subresource] | None) -> _Entry:
    """The same as the aggregated form would have it."""
    return _Entry(
        line.name,
        "Namespaced" if line.namespaced else "Cluster",
        _ResponseKind(line.group or group, line.version or version, line.kind),
        line.singular_name,
        line.short_names,
        line.categories,
        line.verbs,
        below,
    )


def _served(entries: Iterable[_Entry], group: str, version: str) -> tuple[ServedResource, ...]:
    """All that a ``Resource`` can tell: not those whose objects are of another API version than their path."""
    found = []
    for entry in entries:
        kind = entry.response_kind
        if kind is None or (kind.group, kind.version) != (group, version):
            continue
        try:
            resource = Resource(group, version, entry.resource, kind.kind, entry.scope == "Namespaced")
        except ValueError:  # a name that could stand in no path can be asked for by nobody
            continue
        found.append(
            ServedResource(
                resource,
                entry.singular_resource.lower(),
                tuple(entry.short_names or ()),
                tuple(entry.categories or ()),
                tuple(entry.verbs or ()),
                tuple(sub.subresource for sub in entry.subresources or ()),
            )
        )
    return tuple(found)
