"""Conditions: what there is to know about a reflector's health, as named claims that are true or not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from kinformer.errors import (
    DecodeError,
    ForbiddenError,
    NotFoundError,
    ThrottledError,
    UnauthorizedError,
)

__all__ = ["Condition", "ConditionType", "Conditions", "condition_of"]


class ConditionType(StrEnum):
    """The claims. ``SYNCED`` is good news, each other one is trouble."""

    SYNCED = "Synced"
    """A complete snapshot is in the sink; once true it stays so."""
    FORBIDDEN = "Forbidden"
    """The last try was refused for lack of credentials or permission (401, 403)."""
    KIND_MISSING = "KindMissing"
    """The server does not know the resource (404): probably a CRD that is not installed yet."""
    THROTTLED = "Throttled"
    """The last try was refused because there are too many requests (429)."""
    DECODING = "Decoding"
    """Some object, or a whole answer, cannot be read; what the sink holds of such an object is out of date."""
    DISCONNECTED = "Disconnected"
    """Changes are not arriving, for any reason that is not one of the above."""

    @property
    def meaning(self) -> str:
        """What it means, and what might help, in words for a log."""
        return _MEANINGS[self]


_MEANINGS: Final = {
    ConditionType.SYNCED: "a complete list has arrived",
    ConditionType.FORBIDDEN: "the server refuses to show it: check credentials and permissions",
    ConditionType.KIND_MISSING: "the server does not serve it: is its CustomResourceDefinition applied?",
    ConditionType.THROTTLED: "the server asks to slow down",
    ConditionType.DECODING: "something cannot be read",
    ConditionType.DISCONNECTED: "no changes are arriving",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One claim."""

    status: bool
    since: float
    """When ``status`` last changed, in the clock's monotonic seconds."""
    message: str = ""
    """The last thing that was said of it, for people. May change while ``status`` does not, and outlives the trouble."""


_OF_THE_LAST_TRY: Final = (
    ConditionType.FORBIDDEN,
    ConditionType.KIND_MISSING,
    ConditionType.THROTTLED,
    ConditionType.DISCONNECTED,
)


class Conditions:
    """The present conditions.

    Invariant: of the four conditions about the last try at most one is true, and none after a success.
    """

    def __init__(self, now: float) -> None:
        self._conditions: dict[str, Condition] = {name: Condition(False, now) for name in ConditionType}
        self._unread: dict[str, None] = {}
        self.view: Final[Mapping[str, Condition]] = MappingProxyType(self._conditions)

    @property
    def has_unread(self) -> bool:
        """Whether an object is known that could not be read."""
        return bool(self._unread)

    def sync(self, now: float, message: str, unread: Iterable[str]) -> None:
        """A snapshot is in the sink, from which the objects with these keys are missing."""
        self._set(ConditionType.SYNCED, True, now, message)
        self._unread = dict.fromkeys(unread)
        self._show_unread(now)

    def quarantine(self, key: str, now: float) -> None:
        """An object could not be read; ``""`` is an unknown key, which only a snapshot can clear."""
        self._unread[key] = None
        self._show_unread(now)

    def read(self, keys: set[str], now: float) -> None:
        """Objects could be read, or are gone."""
        for key in self._unread.keys() & keys:
            del self._unread[key]
        self._show_unread(now)

    def succeed(self, now: float) -> None:
        """Changes are arriving."""
        for name in _OF_THE_LAST_TRY:
            self._set(name, False, now)
        self._show_unread(now)

    def fail(self, error: Exception, now: float) -> None:
        """A try failed."""
        claim = condition_of(error)
        for name in (*_OF_THE_LAST_TRY, ConditionType.DECODING):
            if name is claim:
                self._set(name, True, now, str(error))
            elif name is not ConditionType.DECODING:
                self._set(name, False, now)

    def _show_unread(self, now: float) -> None:
        keys = [key or "an object without a legible name" for key in self._unread]
        message = f"{len(keys)} cannot be read: {', '.join(keys[:3])}{', ...' if len(keys) > 3 else ''}"
        self._set(ConditionType.DECODING, bool(keys), now, message if keys else "")

    def _set(self, name: ConditionType, status: bool, now: float, message: str = "") -> None:
        before = self._conditions[name]
        since = before.since if before.status == status else now
        self._conditions[name] = Condition(status, since, message or before.message)


def condition_of(error: Exception) -> ConditionType:
    """Which condition an error makes true."""
    match error:
        case UnauthorizedError() | ForbiddenError():
            return ConditionType.FORBIDDEN
        case NotFoundError():
            return ConditionType.KIND_MISSING
        case ThrottledError():
            return ConditionType.THROTTLED
        case DecodeError():
            return ConditionType.DECODING
        case _:
            return ConditionType.DISCONNECTED
