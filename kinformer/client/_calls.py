"""Calls: what is asked of a server, as method, path, parameters and body. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

__all__ = [
    "PATCHES",
    "Call",
    "PatchKind",
    "Propagation",
    "delete_options",
    "list_params",
    "watch_params",
    "write_params",
]

PatchKind = Literal["merge", "json", "strategic"]
"""RFC 7386, RFC 6902, or Kubernetes' own, which knows the lists of built-in kinds and no custom resource."""

Propagation = Literal["Background", "Foreground", "Orphan"]
"""What happens to the objects that an object owns (``metav1.DeletionPropagation``)."""

PATCHES: Final[Mapping[str, str]] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
"""The content type of each kind of patch."""


@dataclass(frozen=True, slots=True)
class Call:
    """One thing to ask of the server; parameters that are ``""`` are left out."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def list_params(version: str, version_match: str, limit: int, continue_token: str) -> dict[str, str]:
    """The parameters of a LIST, apart from the selectors."""
    return {
        "resourceVersion": version,
        "resourceVersionMatch": version_match,
        "limit": str(limit) if limit else "",
        "continue": continue_token,
    }


def watch_params(version: str, timeout: int, *, bookmarks: bool, initial_events: bool) -> dict[str, str]:
    """The parameters of a WATCH, apart from the selectors."""
    return {
        "watch": "true",
        "resourceVersion": version,
        "allowWatchBookmarks": "true" if bookmarks else "",
        "timeoutSeconds": str(timeout) if timeout else "",
        "sendInitialEvents": "true" if initial_events else "",
        "resourceVersionMatch": "NotOlderThan" if initial_events else "",
    }


def write_params(field_manager: str, *, dry_run: bool, force: bool = False) -> dict[str, str]:
    """The parameters of whatever writes."""
    return {
        "fieldManager": field_manager,
        "dryRun": "All" if dry_run else "",
        "force": "true" if force else "",
    }


def delete_options(
    *,
    uid: str | None = None,
    version: str | None = None,
    propagation: Propagation | None = None,
    grace_period: int | None = None,
    dry_run: bool = False,
) -> bytes:
    """``metav1.DeleteOptions`` as a body; nothing at all where nothing is asked for."""
    preconditions = {name: value for name, value in (("uid", uid), ("resourceVersion", version)) if value}
    options: dict[str, object] = {
        "preconditions": preconditions or None,
        "propagationPolicy": propagation,
        "gracePeriodSeconds": grace_period,
        "dryRun": ["All"] if dry_run else None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions"} | given) if given else b""
