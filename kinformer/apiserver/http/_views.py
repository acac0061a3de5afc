"""Views: tables and metadata-only forms of objects (section 4 of the wire rules, T-1 to T-6).

https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kinformer.apiserver.http._columns import Column

__all__ = ["INCLUDES", "metadata_list", "metadata_only", "table"]

Content = Mapping[str, Any]

INCLUDES: Final = ("", "Metadata", "Object", "None")
"""The values of ``includeObject``: what a row of a table holds besides its cells."""


def table(
    objects: Iterable[Content],
    columns: Sequence[Column],
    *,
    version: str,
    now: datetime,
    include: str = "",
    metadata: Mapping[str, Any],
    with_columns: bool = True,
) -> dict[str, Any]:
    """A ``Table`` of ``meta.k8s.io/<version>`` with one row for each object.

    ``include`` is one of ``INCLUDES``; ``metadata`` is the list's own: resourceVersion, continue, remainingItemCount;
    ``with_columns`` is false for the later events of a watch (T-4).
    """
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": dict(metadata),
        "columnDefinitions": [column.definition() for column in columns] if with_columns else None,
        "rows": [_row(content, columns, version=version, now=now, include=include) for content in objects],
    }


def metadata_only(content: Content, *, version: str) -> dict[str, Any]:
    """A ``PartialObjectMetadata`` of ``meta.k8s.io/<version>``: the whole metadata, and nothing else."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": content.get("metadata", {}),
    }


def metadata_list(objects: Iterable[Content], *, version: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A ``PartialObjectMetadataList`` of them."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": dict(metadata),
        "items": [metadata_only(content, version=version) for content in objects],
    }


def _row(
    content: Content, columns: Sequence[Column], *, version: str, now: datetime, include: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [column.cell(content, now) for column in columns]}
    if include == "Object":
        row["object"] = content
    elif include != "None":
        row["object"] = metadata_only(content, version=version)
    return row
