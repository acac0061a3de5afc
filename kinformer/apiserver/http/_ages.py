"""Ages as kubectl prints them: ``5s``, ``3m2s``, ``4h``, ``2d3h`` (rule T-5).

The steps are those of ``duration.HumanDuration`` in k8s.io/apimachinery.
"""

from datetime import UTC, datetime
from typing import Any

__all__ = ["age", "human_duration"]

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def age(since: Any, now: datetime) -> str:
    """How long ago an RFC 3339 timestamp was; ``<unknown>`` where there is none, ``<invalid>`` where it is none."""
    if not since:
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(since)
    except (TypeError, ValueError):
        return "<invalid>"
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return human_duration((now - moment).total_seconds())


def human_duration(duration: float) -> str:
    """A duration in seconds, in the two units that tell most; a slightly negative one is ``0s``."""
    seconds = int(duration)
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")
