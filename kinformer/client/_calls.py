"""Calls: what is asked of a server, as method, path, parameters and body. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import msgspec

__all__ = [
    "PATCHES",
    "Call",
    "FieldValidation",
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

FieldValidation = Literal["Ignore", "Warn", "Strict"]
"""What a server does about fields that it does not know, and about those given twice: drop them, warn, or refuse."""

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
    """The parameters of a LIST, apart from the selectors.

    Raises:
        ValueError: The limit is negative, ``version_match`` is no such word, or there is a token and a version.
    """
    if limit < 0:
        raise ValueError(f"limit {limit} must be 0 for no limit, or positive")
    _check("version_match", version_match, ("", "Exact", "NotOlderThan"))
    if continue_token and (version or version_match):
        raise ValueError(
            f"version {version!r} and version_match {version_match!r} must be left out where continue_token "
            "is given: it has a version of its own"
        )
    return {
        "resourceVersion": version,
        "resourceVersionMatch": version_match,
        "limit": str(limit) if limit else "",
        "continue": continue_token,
    }


def watch_params(version: str, timeout: int, *, bookmarks: bool, initial_events: bool) -> dict[str, str]:
    """The parameters of a WATCH, apart from the selectors.

    Raises:
        ValueError: The timeout is negative.
    """
    if timeout < 0:
        raise ValueError(f"timeout {timeout} must be 0 to leave it to the server, or positive seconds")
    return {
        "watch": "true",
        "resourceVersion": version,
        "allowWatchBookmarks": "true" if bookmarks else "",
        "timeoutSeconds": str(timeout) if timeout else "",
        "sendInitialEvents": "true" if initial_events else "",
        "resourceVersionMatch": "NotOlderThan" if initial_events else "",
    }


def write_params(
    field_manager: str, field_validation: FieldValidation | None, *, dry_run: bool, force: bool = False
) -> dict[str, str]:
    """The parameters of whatever writes, deletions excepted.

    Raises:
        ValueError: ``field_validation`` is no such word.
    """
    if field_validation is not None:
        _check("field_validation", field_validation, get_args(FieldValidation))
    return {
        "fieldManager": field_manager,
        "fieldValidation": field_validation or "",
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
    """``metav1.DeleteOptions`` as a body; nothing at all where nothing is asked for.

    Raises:
        ValueError: A precondition is empty, ``propagation`` is no such word, or ``grace_period`` is negative.
    """
    for name, value in (("uid", uid), ("version", version)):
        if value == "":
            raise ValueError(f"{name} is '', which no object has: give None to delete whatever is there")
    if propagation is not None:
        _check("propagation", propagation, get_args(Propagation))
    if grace_period is not None and grace_period < 0:
        raise ValueError(f"grace_period {grace_period} must be 0 for now, or positive seconds")
    preconditions = {"uid": uid, "resourceVersion": version}
    options: dict[str, object] = {
        "preconditions": {name: value for name, value in preconditions.items() if value} or None,
        "propagationPolicy": propagation,
        "gracePeriodSeconds": grace_period,
        "dryRun": ["All"] if dry_run else None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions"} | given) if given else b""


def _check(field: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that a type checker would have refused."""
    if value not in allowed:
        raise ValueError(f"{field} {value!r} must be one of {', '.join(filter(None, allowed))}")
