"""Accept: in which form the client wants its answer (rule H-8).

https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["DISCOVERY", "Form", "Media", "View", "negotiate"]


class Media(Enum):
    """How an answer is written down."""

    JSON = "application/json"
    YAML = "application/yaml"


class View(Enum):
    """What an answer shows of the objects; the value is the ``as`` parameter that asks for it."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"
    DISCOVERY = "APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Form:
    """One form of answer that a client accepts.

    Attributes:
        version: The version of the view's own API, such as ``"v1"`` of ``meta.k8s.io``; ``""`` for plain objects.
    """

    media: Media = Media.JSON
    view: View = View.OBJECT
    version: str = ""


_META: Final = "meta.k8s.io"
_GROUPS: Final = {
    View.TABLE: (_META, ("v1", "v1beta1")),
    View.METADATA: (_META, ("v1", "v1beta1")),
    View.METADATA_LIST: (_META, ("v1", "v1beta1")),
    View.DISCOVERY: ("apidiscovery.k8s.io", ("v2", "v2beta1")),
}
DISCOVERY: Final = frozenset({View.DISCOVERY})
_MEDIA: Final = {
    "application/json": Media.JSON,
    "application/yaml": Media.YAML,
    "application/*": Media.JSON,
    "*/*": Media.JSON,
}
_QUALITY: Final = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def negotiate(header: str, views: frozenset[View] = frozenset()) -> Form | None:
    """Pick the first clause of an Accept header that can be had; q-values sort clauses, ties keep their order.

    Args:
        header: The header's value; empty means JSON.
        views: What the endpoint can show besides plain objects.

    Returns:
        The form, or ``None`` where nothing is acceptable, which is a 406.
    """
    if not header.strip():
        return Form()
    for media, parameters in _clauses(header):
        form = _form(media, parameters, views)
        if form is not None:
            return form
    return None


def _clauses(header: str) -> Sequence[tuple[str, dict[str, str]]]:
    """Media types with their parameters, the most wanted first."""
    weighted: list[tuple[float, str, dict[str, str]]] = []
    for media, parameters in _parts(header):
        quality = parameters.pop("q", "1")
        weight = float(quality) if _QUALITY.fullmatch(quality) else 0.0
        if weight > 0:
            weighted.append((weight, media, parameters))
    weighted.sort(key=lambda clause: -clause[0])
    return [(media, parameters) for _, media, parameters in weighted]


def _parts(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    for clause in header.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        pairs = (parameter.partition("=") for parameter in parameters if parameter)
        yield media.lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def _form(media_type: str, parameters: dict[str, str], views: frozenset[View]) -> Form | None:
    media = _MEDIA.get(media_type)
    if media is None or parameters.get("stream", "watch") != "watch":
        return None
    wanted = parameters.get("as", "")
    if not wanted:
        return Form(media)
    view = next((view for view in views if view.value == wanted), None)
    if view is None:
        return None
    group, versions = _GROUPS[view]
    version = parameters.get("v", "")
    if parameters.get("g", "") != group or version not in versions:
        return None
    return Form(media, view, version)
