"""Moment: when something was, on both clocks of a machine. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from kinformer.clock import Clock

__all__ = ["Moment"]


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was, on both clocks of this machine."""

    monotonic: float
    wall: datetime

    @classmethod
    def now(cls, clock: Clock) -> Self:
        """Read both."""
        return cls(clock.monotonic(), clock.now())

    def since(self, earlier: "Moment") -> float:
        """Seconds since then, on the clock that shows more: a machine that is suspended has a monotonic clock that stands."""
        return max(self.monotonic - earlier.monotonic, (self.wall - earlier.wall).total_seconds())
