"""Paths: what a URL of the Kubernetes API means.

Pure, and ignorant of what is served: whether a group or a resource exists is asked later.
The grammar: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
"""

from dataclasses import dataclass
from urllib.parse import unquote

__all__ = ["GroupPath", "OtherPath", "Path", "ResourcePath", "RootPath", "VersionPath", "parse_path"]


@dataclass(frozen=True, slots=True)
class RootPath:
    """``/api`` or ``/apis``: where discovery begins."""

    is_core: bool


@dataclass(frozen=True, slots=True)
class GroupPath:
    """``/apis/<group>``."""

    group: str


@dataclass(frozen=True, slots=True)
class VersionPath:
    """``/api/v1`` or ``/apis/<group>/<version>``; ``group`` is ``""`` for the first."""

    group: str
    version: str


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """A collection, an object in it, or a subresource of that; what is not in the path is ``""``.

    Attributes:
        rest: What follows the subresource, as in ``.../proxy/metrics/x``: ``("metrics", "x")``.
    """

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherPath:
    """Anything outside of ``/api`` and ``/apis``, without a trailing slash: ``/version``, ``/healthz``, ``/``."""

    path: str


Path = RootPath | GroupPath | VersionPath | ResourcePath | OtherPath


def parse_path(raw: str) -> Path | None:
    """Read a path as it stands in the request line, percent signs and all; ``None`` where it can mean nothing.

    A trailing slash never matters. Segments are decoded after they were split, so that an encoded slash stays in its
    name.
    """
    segments = [unquote(segment) for segment in raw.strip("/").split("/")]
    match segments:
        case ["api" | "apis" as root]:
            return RootPath(is_core=root == "api")
        case _ if "" in segments[1:]:
            return None
        case ["api", version, *rest]:
            return _below("", version, rest)
        case ["apis", group]:
            return GroupPath(group)
        case ["apis", group, version, *rest]:
            return _below(group, version, rest)
        case _:
            return OtherPath("/" + "/".join(segments))


def _below(group: str, version: str, segments: list[str]) -> Path:
    match segments:
        case []:
            return VersionPath(group, version)
        case ["namespaces", name]:  # the Namespace itself
            return ResourcePath(group, version, "namespaces", "", name)
        case ["namespaces", name, "status" | "finalize" as subresource]:
            return ResourcePath(group, version, "namespaces", "", name, subresource)
        case ["namespaces", namespace, plural, *rest]:
            return _object(ResourcePath(group, version, plural, namespace), rest)
        case [plural, *rest]:
            return _object(ResourcePath(group, version, plural), rest)
        case _:
            raise AssertionError(segments)  # the cases above cover every list


def _object(collection: ResourcePath, segments: list[str]) -> ResourcePath:
    name, subresource, *rest = *segments, *[""] * (2 - len(segments))
    return ResourcePath(
        collection.group,
        collection.version,
        collection.plural,
        collection.namespace,
        name,
        subresource,
        tuple(rest),
    )
