"""Failures: hooks that keep the last things that went wrong, in words. Pure but for the clock."""

from collections import OrderedDict
from typing import Final

import msgspec

from kinformer.clock import Clock
from kinformer.hooks import (
    EventDropped,
    HandlerFailed,
    HookFailed,
    LeaderSeen,
    LoopBlocked,
    NoHooks,
    ObjectQuarantined,
    ReconcileFinished,
    ReflectorFailed,
    WarningReceived,
    WriteUnseen,
)

__all__ = ["Failure", "Failures"]

_LENGTH: Final = 500
"""Letters of a message; errors of servers may hold whole objects."""


class Failure(msgspec.Struct, frozen=True, rename="camel"):
    """Something that went wrong, once or more often.

    Attributes:
        source: What kind of part it was.
        subject: Which one.
        message: What it said.
        count: How often it was the same.
        age: Seconds since it was last so.
    """

    source: str
    subject: str
    message: str
    count: int
    age: float


class Failures(NoHooks):
    """Remembers errors, each different one once; no exception, since that would keep all that it has seen alive.

    Args:
        most: How many different ones; the one that is longest over goes first.
        clock: Tells how long ago one was.
    """

    def __init__(self, most: int, *, clock: Clock) -> None:
        self._most: Final = most
        self._clock = clock
        self.holders: Final[dict[str, str]] = {}
        """Who was last seen to lead, by the Lease's name."""
        self._known: OrderedDict[tuple[str, str, str], tuple[int, float]] = OrderedDict()

    def shown(self) -> tuple[Failure, ...]:
        """All of them, the last first."""
        now = self._clock.monotonic()
        return tuple(
            Failure(*known, count, now - when) for known, (count, when) in reversed(self._known.items())
        )

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        """Keep its error."""
        if event.error is not None:
            self._add("reconcile", f"{event.controller}: {event.key}", repr(event.error))

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        """Keep its error."""
        self._add("cache", event.reflector, str(event.error) or repr(event.error))

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        """Keep its error."""
        self._add(
            "object", f"{event.reflector}: {event.key or 'an object'}", str(event.error) or repr(event.error)
        )

    def handler_failed(self, event: HandlerFailed, /) -> None:
        """Keep its error."""
        self._add("handler", f"{event.informer}: {event.handler}", repr(event.error))

    def loop_blocked(self, event: LoopBlocked, /) -> None:
        """Keep what held it up."""
        self._add("event loop", event.task, f"it stood still for {event.duration:.1f} s")

    def write_unseen(self, event: WriteUnseen, /) -> None:
        """Keep what was not seen."""
        self._add(
            "consistency",
            f"{event.controller}: {event.key}",
            f"the cache of {event.resource} did not show an own write for {event.waited:.0f} s",
        )

    def event_dropped(self, event: EventDropped, /) -> None:
        """Keep whose it was."""
        self._add("event", event.controller, f"the event {event.reason} was not written")

    def warning_received(self, event: WarningReceived, /) -> None:
        """Keep what the server said."""
        self._add("warning", event.path, event.text)

    def hook_failed(self, event: HookFailed, /) -> None:
        """Keep its error."""
        self._add("hook", event.hook, repr(event.error))

    def leader_seen(self, event: LeaderSeen, /) -> None:
        """Keep who leads, which explains why nothing is done here."""
        self.holders[event.name] = event.holder

    def _add(self, source: str, subject: str, message: str) -> None:
        what = source, subject[:_LENGTH], message[:_LENGTH]
        count, _ = self._known.pop(what, (0, 0.0))
        self._known[what] = count + 1, self._clock.monotonic()
        if len(self._known) > self._most:
            self._known.popitem(last=False)
