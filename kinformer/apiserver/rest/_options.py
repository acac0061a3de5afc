"""What a request asks for, once HTTP has been taken away: targets, options, and what comes back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import msgspec

from kinformer.apiserver.cacher import Forms, StoredObject
from kinformer.apiserver.registry import Served
from kinformer.meta import FieldSelector, LabelSelector

__all__ = [
    "DeleteOptions",
    "Event",
    "ListOptions",
    "Listing",
    "PatchKind",
    "Propagation",
    "Target",
    "WriteOptions",
]

Propagation = Literal["Background", "Foreground", "Orphan"]


def _nobody(warning: str) -> None:
    """Where warnings go when nobody listens."""


def _anything(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
    """The check of who may store anything."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about: a collection, an object (with ``name``), or a subresource of one."""

    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects, at which version. The texts are as they came; the verbs judge them.

    Attributes:
        version: ``resourceVersion``.
        version_match: ``resourceVersionMatch``: ``""``, ``"Exact"`` or ``"NotOlderThan"``.
        limit: The most items of a page; zero or less means all. Ignored by watches.
        continue_token: ``continue`` of the page before. Ignored by watches.
    """

    version: str = ""
    version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    labels: LabelSelector = field(default_factory=LabelSelector)
    fields: FieldSelector = field(default_factory=FieldSelector)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write.

    Attributes:
        dry_run: Do everything but store it.
        field_manager: ``fieldManager``; an apply needs one.
        user_agent: The whole User-Agent; names the manager where ``field_manager`` is empty (rule W-3).
        force: Of an apply: take over fields that others own. ``None`` when the request did not say.
        field_validation: ``""``, ``"Ignore"``, ``"Warn"`` or ``"Strict"``; unset means Warn.
        warn: Called with each warning that the client is to see.
        check: Called with what is stored, or ``None``, and with what is about to be; it raises ``StatusError`` to refuse that.
    """

    dry_run: bool = False
    field_manager: str = ""
    user_agent: str = ""
    force: bool | None = None
    field_validation: str = ""
    warn: Callable[[str], None] = _nobody
    check: Callable[[Mapping[str, Any] | None, Mapping[str, Any]], None] = _anything


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete.

    Attributes:
        propagation: What becomes of the dependents; ``None`` leaves it to the kind.
        grace_period: Seconds that a pod gets to end; ``None`` takes the pod's own.
        uid: Delete only if the object has this uid; ``""`` does not ask.
        version: Delete only if the object is at this resource version; ``""`` does not ask.
        dry_run: Do everything but delete it.
        warn: Called with each warning that the client is to see.
    """

    propagation: Propagation | None = None
    grace_period: int | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False
    warn: Callable[[str], None] = _nobody


class PatchKind(StrEnum):
    """The four patch formats, by their media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list.

    Attributes:
        items: The objects, in storage order.
        version: The version of the snapshot.
        continue_token: ``""`` on the last page.
        remaining: How many objects follow; ``None`` where it is not said.
    """

    items: Sequence[StoredObject]
    version: str
    continue_token: str = ""
    remaining: int | None = None


class Event(Forms):
    """One event of a watch. All who are told the same share it, and the lines that are made of it.

    Attributes:
        obj: The object; that of an ERROR is a Status.
    """

    __slots__ = ("obj", "type")

    def __init__(
        self,
        kind: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"],
        obj: StoredObject | dict[str, Any],
    ) -> None:
        super().__init__()
        self.type = kind
        self.obj = obj

    @property
    def line(self) -> bytes:
        """The event as a line of the stream, newline included."""
        return self.form("line", _line)

    def __repr__(self) -> str:
        return f"<{self.type} {self.obj!r}>"


def _line(event: Event) -> bytes:
    body = event.obj.json if isinstance(event.obj, StoredObject) else msgspec.json.encode(event.obj)
    return b'{"type":"%s","object":%s}\n' % (event.type.encode(), body)
