"""Which changes a selector shows, and as what: an object may enter and leave a selection without coming or going.

The rule is that of ``cacheWatcher.convertToWatchEvent`` (apiserver): X-6 and X-7 of our specification.
"""

from collections.abc import Callable
from typing import Literal, Protocol, TypeVar

__all__ = ["EventType", "select"]

EventType = Literal["ADDED", "MODIFIED", "DELETED"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Transition(Protocol[T_co]):
    """What was there, and what is there now; one of them may be missing."""

    @property
    def current(self) -> T_co | None:
        """What is there now."""

    @property
    def previous(self) -> T_co | None:
        """What was there before."""


def select(change: Transition[T], matches: Callable[[T], bool]) -> EventType | None:
    """As what a watcher whose selectors are ``matches`` sees a change; ``None`` when it sees nothing.

    A DELETED shows what was there before, the others what is there now; the version is always that of the change.
    """
    was = change.previous is not None and matches(change.previous)
    if change.current is not None and matches(change.current):
        return "MODIFIED" if was else "ADDED"
    return "DELETED" if was else None
