"""Conditions: keep ``status.conditions`` as the Kubernetes API conventions want them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from kinformer.system_clock import SystemClock

__all__ = ["get_condition", "set_condition"]

_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def get_condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """The condition of type ``kind``, or ``None``."""
    return next((entry for entry in status.get("conditions") or () if entry.get("type") == kind), None)


def set_condition(
    status: dict[str, Any],
    kind: str,
    value: bool | Literal["True", "False", "Unknown"],
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: datetime | None = None,
) -> bool:
    """Set one condition in a status, in place, and tell whether anything changed.

    ``lastTransitionTime`` moves only when the value does, so setting the same condition again changes nothing and
    needs no write. The rule is apimachinery's ``meta.SetStatusCondition``.

    Args:
        status: The status as a dict; ``conditions`` is made where it is missing, and other conditions are kept.
        kind: The condition's type, such as ``"Ready"``.
        value: Whether it holds; ``"Unknown"`` where that cannot be told.
        reason: One word in CamelCase for programs.
        message: A sentence for people.
        observed_generation: The ``metadata.generation`` that this was found out about; ``None`` leaves it out.
        now: The moment of the change, in UTC; ``None`` reads the real time.

    Raises:
        ValueError: The value is none of the three, or the reason is not one word.
    """
    word = str(value)
    if word not in {"True", "False", "Unknown"}:
        raise ValueError(f"condition {kind}: {value!r} is none of True, False and 'Unknown'")
    if not _REASON.fullmatch(reason):
        raise ValueError(
            f"condition {kind}: reason {reason!r} must be one word in CamelCase, such as 'AllReady'"
        )
    conditions = status.get("conditions") or []
    place = next((at for at, entry in enumerate(conditions) if entry.get("type") == kind), len(conditions))
    known = conditions[place] if place < len(conditions) else {}
    fresh: dict[str, Any] = {"type": kind, "status": word, "reason": reason, "message": message}
    if observed_generation is not None:
        fresh["observedGeneration"] = observed_generation
    has_turned = known.get("status") != word or not known.get("lastTransitionTime")
    fresh["lastTransitionTime"] = (
        _format(now or SystemClock().now()) if has_turned else known["lastTransitionTime"]
    )
    if fresh == known:
        return False
    status["conditions"] = [*conditions[:place], fresh, *conditions[place + 1 :]]
    return True


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
