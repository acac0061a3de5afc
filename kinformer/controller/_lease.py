"""A Lease as a candidate reads and writes it: ``LeaseRecord``. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from kinformer.meta import Object, ObjectKey, Resource

__all__ = ["LEASES", "LeaseRecord", "checked_place", "checked_times", "held", "released"]

LEASES: Final = Resource.builtin("Lease")
"""``leases`` of ``coordination.k8s.io/v1``."""

_LONGEST: Final = 2**31
"""``leaseDurationSeconds`` is an int32."""

_LETTERS: Final = 63
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

_SPREAD: Final = 1.2
"""The longest pause between two tries is this much longer than the retry period, so the deadline must be longer still."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What a Lease says, as far as an election goes by it. The times in it are its holder's, and count for nothing.

    Attributes:
        holder: The identity of who holds it; ``""`` for nobody.
        duration: Seconds that it is good for after each renewal, whatever the reader's own settings are; 0 where it
            does not say, or says what cannot be.
        transitions: How often it has changed hands.
        version: Changes with each renewal.
    """

    holder: str
    duration: float
    transitions: int
    version: str

    @classmethod
    def of(cls, lease: Object) -> Self:
        """Read a Lease; what is missing or of another type counts as nothing."""
        spec = lease.at("spec", default=None)
        fields: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
        return cls(
            str(fields.get("holderIdentity") or ""),
            float(_number(fields.get("leaseDurationSeconds"))),
            _number(fields.get("leaseTransitions")),
            lease.metadata.resource_version,
        )


def held(
    lease: Object | None, key: ObjectKey, identity: str, *, duration: int, now: datetime
) -> dict[str, Any]:
    """The Lease to write in order to hold it from now on.

    Whatever else is in it stays. Its version stays too, so that the server refuses where somebody was faster.

    Args:
        lease: As it was last seen; ``None`` where there is none.
        key: Where it is.
        identity: Who is to hold it.
        duration: Whole seconds.
        now: For people who look at it.
    """
    content = _begun(key) if lease is None else lease.thaw()
    spec = content["spec"] = _spec(content)
    if spec.get("holderIdentity") != identity:
        spec["acquireTime"] = _micro_time(now)
        spec["leaseTransitions"] = 0 if lease is None else _number(spec.get("leaseTransitions")) + 1
    spec |= {
        "holderIdentity": identity,
        "leaseDurationSeconds": duration,
        "renewTime": _micro_time(now),
    }
    return content


def released(lease: Object, *, now: datetime) -> dict[str, Any]:
    """The Lease to write in order to leave it to the next; whatever else is in it stays."""
    content = lease.thaw()
    spec = content["spec"] = _spec(content)
    spec.pop("holderIdentity", None)
    spec |= {"leaseDurationSeconds": 1, "renewTime": _micro_time(now)}
    return content


def checked_times(lease_duration: float, renew_deadline: float, retry_period: float) -> None:
    """Refuse settings with which whoever holds a Lease might lose it by being well.

    Raises:
        TypeError: One is no number.
        ValueError: One is out of order.
    """
    times = {"lease_duration": lease_duration, "renew_deadline": renew_deadline, "retry_period": retry_period}
    for name, value in times.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name}={value!r} must be a number of seconds")
        if not value < _LONGEST:
            raise ValueError(f"{name}={value} must be less than {_LONGEST}, the most that a Lease can say")
    if lease_duration < 1 or lease_duration != int(lease_duration):
        raise ValueError(
            f"lease_duration={lease_duration} must be whole seconds, as a Lease has them, and at least 1"
        )
    if not lease_duration > renew_deadline:
        raise ValueError(
            f"renew_deadline={renew_deadline} must be less than lease_duration={lease_duration}: "
            "the difference is what the work has to end in before another one begins"
        )
    if not retry_period > 0:
        raise ValueError(f"retry_period={retry_period} must be more than 0")
    if not renew_deadline > _SPREAD * retry_period:
        raise ValueError(
            f"renew_deadline={renew_deadline} must be more than {_SPREAD} times retry_period={retry_period}, "
            "so that a renewal may fail once"
        )


def checked_place(namespace: str) -> str:
    """A namespace for Leases, or ``""`` for that of the pod.

    Raises:
        TypeError: It is no text.
        ValueError: No namespace can be called so.
    """
    if not isinstance(namespace, str):
        raise TypeError(f"namespace={namespace!r} must be a text")
    if namespace and (len(namespace) > _LETTERS or not _LABEL.fullmatch(namespace)):
        raise ValueError(
            f"namespace={namespace!r} must be small letters, digits and dashes, at most {_LETTERS}"
        )
    return namespace


def _begun(key: ObjectKey) -> dict[str, Any]:
    metadata = {"name": key.name, "namespace": key.namespace}
    return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _number(value: object) -> int:
    """A count; 0 for what is none, which a real server would not have stored."""
    return value if type(value) is int and 0 <= value < _LONGEST else 0


def _spec(content: Mapping[str, Any]) -> dict[str, Any]:
    spec = content.get("spec")
    return dict(spec) if isinstance(spec, Mapping) else {}
