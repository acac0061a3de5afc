"""Pulse: when a reflector last heard of anything. Pure; the time is a parameter."""

import math
from dataclasses import dataclass

__all__ = ["Ages", "Pulse"]


@dataclass(frozen=True, slots=True)
class Ages:
    """How long ago something last arrived, in seconds; infinite where it never did."""

    event: float
    """Since the last object: in a list, or as an event of a watch."""
    bookmark: float
    """Since the last bookmark. Servers send one about every minute, so this tells a quiet stream from a dead one."""


class Pulse:
    """The moments of the last object and of the last bookmark."""

    def __init__(self) -> None:
        self._event = -math.inf
        self._bookmark = -math.inf

    def beat(self, now: float, *, events: int, bookmarks: int) -> None:
        """Something arrived: so many objects and so many bookmarks."""
        if events:
            self._event = now
        if bookmarks:
            self._bookmark = now

    def ages(self, now: float) -> Ages:
        """How old the last ones are."""
        return Ages(now - self._event, now - self._bookmark)
