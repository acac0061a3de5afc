"""Report: say what happened, to the conditions, to the log and to the hooks, each time to all three."""

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from kinformer.clock import Clock
from kinformer.errors import DecodeError, ExpiredError, KinformerError
from kinformer.hooks import (
    Hooks,
    ObjectQuarantined,
    ReflectorFailed,
    ReflectorListed,
    ReflectorWatched,
    WatchListDelayed,
)
from kinformer.meta import WatchEvent
from kinformer.reflector._conditions import Conditions, ConditionType, condition_of
from kinformer.reflector._machine import Active, Outcome, State, Waiting

__all__ = ["Report"]

_log = logging.getLogger("kinformer.reflector")


class Report:
    """Everything that one reflector tells about itself.

    Trouble is a warning once, when it begins or changes its kind; the tries that fail after it are at debug level,
    until the recovery. A version that expired is routine.
    """

    def __init__(self, name: str, clock: Clock, hooks: Hooks) -> None:
        self.conditions: Final = Conditions(clock.monotonic())
        self._name = name
        self._clock = clock
        self._hooks = hooks
        self._warned_of: ConditionType | None = None
        self._is_delayed = False

    def moved(self, before: State, outcome: Outcome, after: State) -> None:
        """The machine made a step."""
        _log.debug(
            "%s: %s to %s, after %s", self._name, _brief(before), _brief(after), type(outcome).__name__
        )

    def listed(self, count: int, version: str, rejected: Iterable[DecodeError], *, began: float) -> None:
        """A snapshot is in the sink, without the objects that could not be read."""
        now = self._clock.monotonic()
        rejected = tuple(rejected)
        message = f"{count} objects as of version {version!r}"
        self.conditions.sync(now, message, [error.key for error in rejected])
        for error in rejected:
            self._quarantined(error)
        _log.debug("%s: listed %s", self._name, message)
        self._hooks.reflector_listed(ReflectorListed(self._name, count, version, now - began))

    def delayed(self, count: int, silence: float) -> None:
        """A watch-list is still without the bookmark that ends it, and nothing else comes either."""
        _log.log(
            logging.DEBUG if self._is_delayed else logging.WARNING,
            "%s: the bookmark that ends the watch-list is late: nothing has come for %.0f s, and %s events before",
            self._name,
            silence,
            count or "no",
        )
        self._is_delayed = True
        self._hooks.watch_list_delayed(WatchListDelayed(self._name, count, silence))

    def watched(self, count: int, version: str, *, began: float) -> None:
        """A watch came to its end in good order."""
        duration = self._clock.monotonic() - began
        self._hooks.reflector_watched(ReflectorWatched(self._name, count, version, duration))

    def applied(self, events: Sequence[WatchEvent]) -> None:
        """Events were applied, so whatever was wrong with their objects is over."""
        if self.conditions.has_unread:
            keys = {str(event.record.key) for event in events if event.record is not None}
            self.conditions.read(keys, self._clock.monotonic())

    def quarantined(self, error: DecodeError) -> None:
        """An object in a stream could not be read."""
        self.conditions.quarantine(error.key, self._clock.monotonic())
        self._quarantined(error)

    def failed(self, failed: Active, then: Active, error: Exception, delay: float) -> None:
        """A try failed; the next follows after ``delay`` seconds."""
        self.conditions.fail(error, self._clock.monotonic())
        state, next_state = type(failed).__name__, type(then).__name__
        claim = condition_of(error)
        is_news = claim is not self._warned_of and not isinstance(error, ExpiredError)
        if is_news:
            self._warned_of = claim
        _log.log(
            logging.WARNING if is_news else logging.DEBUG,
            "%s: %s; trying again in %.1f s: %s",
            self._name,
            claim.meaning,
            delay,
            error,
            exc_info=None if isinstance(error, KinformerError) else error,
        )
        self._hooks.reflector_failed(ReflectorFailed(self._name, state, next_state, error, delay))

    def recovered(self) -> None:
        """Changes are arriving, perhaps again."""
        self._is_delayed = False
        if self._warned_of is not None:
            self._warned_of = None
            _log.info("%s: recovered", self._name)
        self.conditions.succeed(self._clock.monotonic())

    def _quarantined(self, error: DecodeError) -> None:
        _log.warning("%s: cannot read %s: %s", self._name, error.key or "an object", error)
        self._hooks.object_quarantined(ObjectQuarantined(self._name, error.key, error))


def _brief(state: State) -> str:
    if isinstance(state, Waiting):
        return f"Waiting, then {_brief(state.then)}"
    return f"{type(state).__name__} at {state.version!r}"
