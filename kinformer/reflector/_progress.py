"""Progress: the version that a stream has earned so far. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from kinformer.meta import ANY, LATEST, EventType, WatchEvent

__all__ = ["Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a watch has come: what may be published, and where the next watch may start. One value for both.

    A watch that was opened at no concrete version starts with made-up ``ADDED`` events for what exists, in no order.
    To resume from the version of one of them would lose the others, so versions do not count until the first
    event of another type; from then on each does, and the last one seen wins
    (client-go's ``eventReceivedBesidesAdded``). Versions are never compared.
    """

    version: str
    is_earned: bool
    """Whether the versions of events count."""

    @classmethod
    def start(cls, version: str) -> Self:
        """The progress of a watch that is opened at ``version``."""
        return cls(version, version not in (ANY, LATEST))

    def after(self, events: Sequence[WatchEvent]) -> "Progress":
        """The progress after more events, which have come in this order. A missing version is passed over."""
        version, is_earned = self.version, self.is_earned
        for event in events:
            if event.type is EventType.ERROR:
                continue
            is_earned = is_earned or event.type is not EventType.ADDED
            if is_earned and event.version:
                version = event.version
        if version == self.version and is_earned == self.is_earned:
            return self
        return Progress(version, is_earned)
