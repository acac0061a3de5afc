"""A Lease as a member of a group reads and writes it: ``MemberRecord``. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from kinformer.controller._lease import LeaseRecord, held
from kinformer.controller._ring import Member
from kinformer.meta import Object, ObjectKey

__all__ = ["LABEL", "MemberRecord", "lease_of_member"]

LABEL: Final = "kinformer.dev/sharding"
"""The label of each member's Lease; its value is the group's name."""

_MEMBERS: Final = "kinformer.dev/members"
_FINISHING: Final = "kinformer.dev/finishing"
_RETIRING: Final = "kinformer.dev/retiring"


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """What the Lease of a member says.

    Attributes:
        member: Whose it is. The identity is ``""`` where the member has left.
        duration: Seconds that the Lease is good for after each renewal; 0 where it does not say.
        version: Changes with each renewal.
        members: The names of all that this member respects, so that it takes up none of their keys.
        finishing: The points of keys which it works on still, though they are another's by now.
        is_retiring: Whether it takes up nothing any more, so that all keys are the others'.
    """

    member: Member
    duration: float
    version: str
    members: frozenset[str] = field(default=frozenset())
    finishing: frozenset[int] = field(default=frozenset())
    is_retiring: bool = False

    @classmethod
    def of(cls, lease: Object) -> Self:
        """Read a Lease; what is missing or cannot be read counts as nothing."""
        record, annotations = LeaseRecord.of(lease), lease.metadata.annotations
        return cls(
            Member(lease.metadata.name, record.holder),
            record.duration,
            record.version,
            frozenset(filter(None, annotations.get(_MEMBERS, "").split(","))),
            frozenset(_points(annotations.get(_FINISHING, ""))),
            annotations.get(_RETIRING) == "true",
        )


def lease_of_member(
    lease: Object | None,
    key: ObjectKey,
    group: str,
    identity: str,
    *,
    members: Iterable[str],
    finishing: Iterable[int],
    is_retiring: bool,
    duration: int,
    now: datetime,
) -> dict[str, Any]:
    """The Lease to write in order to be a member from now on; whatever else is in it stays.

    Args:
        lease: As it was last seen; ``None`` where there is none.
        key: Where it is.
        group: The group's name.
        identity: Who we are.
        members: See ``MemberRecord``.
        finishing: See ``MemberRecord``.
        is_retiring: See ``MemberRecord``.
        duration: Whole seconds.
        now: For people who look at it.
    """
    content = held(lease, key, identity, duration=duration, now=now)
    metadata = content["metadata"] = dict(content["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), LABEL: group}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        _MEMBERS: ",".join(sorted(members)),
        _FINISHING: ",".join(f"{point:016x}" for point in sorted(finishing)),
    }
    if is_retiring:
        metadata["annotations"][_RETIRING] = "true"
    return content


def _points(text: str) -> Iterable[int]:
    for word in text.split(","):
        try:
            yield int(word, 16)
        except ValueError:
            continue
