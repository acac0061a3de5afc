import logging
from typing import Any

import pytest

from kinformer.hooks import (
    EventDropped,
    HookFailed,
    Hooks,
    KeyDone,
    NoHooks,
    ReconcileFinished,
    guarded,
    together,
)

EVENT = EventDropped("c", "Seen")
METHODS = sorted(name for name in vars(Hooks) if not name.startswith("_"))


class Memory(NoHooks):
    """Remembers what failed, and each method that it has not may fail."""

    def __init__(self) -> None:
        self.failed: list[HookFailed] = []
        self.heard: list[object] = []

    def hook_failed(self, event: HookFailed, /) -> None:
        self.failed.append(event)


class Flawed(Memory):
    """Fails in the methods that it names."""

    def event_dropped(self, event: EventDropped, /) -> None:
        self.heard.append(event)
        raise LookupError("a bug")


def test_nobody_who_hears_is_no_hooks() -> None:
    assert type(guarded(None)) is NoHooks


def test_no_hooks_has_each_of_the_calls() -> None:
    assert sorted(name for name in vars(NoHooks) if not name.startswith("_")) == METHODS


@pytest.mark.parametrize("name", METHODS)
def test_each_call_reaches_the_hooks(name: str) -> None:
    heard: list[object] = []
    hooks: Any = NoHooks.__new__(type("Hearing", (NoHooks,), {name: lambda _, event: heard.append(event)}))
    getattr(guarded(hooks), name)(EVENT)
    assert heard == [EVENT]


def test_what_a_hook_raises_is_logged_and_told_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    flawed = Flawed()
    hooks = guarded(flawed)
    for _ in range(2):
        hooks.event_dropped(EVENT)
    assert flawed.heard == [EVENT, EVENT]
    assert [(failed.hook, repr(failed.error)) for failed in flawed.failed] == [
        ("event_dropped", "LookupError('a bug')")
    ] * 2
    assert [(record.name, record.levelno) for record in caplog.records] == [
        ("kinformer.hooks", logging.ERROR)
    ] * 2
    assert "event_dropped" in caplog.messages[0]


def test_an_error_of_the_hook_that_hears_of_errors_is_logged_only(caplog: pytest.LogCaptureFixture) -> None:
    class Hopeless(Flawed):
        def hook_failed(self, event: HookFailed, /) -> None:
            super().hook_failed(event)
            raise RuntimeError("another bug")

    flawed = Hopeless()
    guarded(flawed).event_dropped(EVENT)
    assert len(flawed.failed) == 1
    assert ["event_dropped" in line or "hook_failed" in line for line in caplog.messages] == [True, True]


def test_what_is_no_error_passes() -> None:
    class Exiting(NoHooks):
        def event_dropped(self, event: EventDropped, /) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(Exiting()).event_dropped(EVENT)


def test_guarding_twice_and_guarding_nothing_change_nothing() -> None:
    for hooks in (guarded(Flawed()), NoHooks()):
        assert guarded(hooks) is hooks


def test_hooks_of_an_earlier_version_hear_nothing_of_what_they_do_not_know() -> None:
    class Old:
        def key_done(self, event: KeyDone, /) -> None:
            heard.append(event)

    heard: list[KeyDone] = []
    old: Any = Old()
    hooks = guarded(old)
    hooks.key_done(KeyDone("q", 1.0))
    hooks.event_dropped(EVENT)
    assert heard == [KeyDone("q", 1.0)]


def test_a_call_that_nobody_makes_is_not_there() -> None:
    hooks: Any = guarded(Flawed())
    with pytest.raises(AttributeError, match="key_eaten"):
        hooks.key_eaten(EVENT)


def test_hooks_that_raise_are_asked_again_each_time() -> None:
    class Once(Memory):
        def reconcile_finished(self, event: ReconcileFinished, /) -> None:
            self.heard.append(event)
            if len(self.heard) == 1:
                raise RuntimeError("only once")

    once: Any = Once()
    hooks: Any = guarded(once)
    for number in range(3):
        hooks.reconcile_finished(number)
    assert once.heard == [0, 1, 2]
    assert len(once.failed) == 1


def test_several_hooks_hear_of_everything_in_their_order() -> None:
    heard: list[tuple[str, object]] = []

    class Hearing(NoHooks):
        def __init__(self, name: str) -> None:
            self.name = name

        def event_dropped(self, event: EventDropped, /) -> None:
            heard.append((self.name, event))

    class Deaf(NoHooks):
        def key_done(self, event: KeyDone, /) -> None:
            heard.append(("deaf", event))

    hooks = together(Hearing("a"), None, Deaf(), together(Hearing("b"), Hearing("c")))
    hooks.event_dropped(EVENT)
    hooks.key_done(KeyDone("q", 1.0))
    hooks.hook_failed(HookFailed("x", ValueError()))
    assert heard == [("a", EVENT), ("b", EVENT), ("c", EVENT), ("deaf", KeyDone("q", 1.0))]


def test_what_one_of_several_raises_is_lost_to_that_one_alone() -> None:
    flawed, other = Flawed(), Flawed()
    together(flawed, other).event_dropped(EVENT)
    assert flawed.heard == other.heard == [EVENT]
    assert len(flawed.failed) == len(other.failed) == 1


def test_one_of_several_is_itself_and_none_is_nobody() -> None:
    hooks = guarded(Flawed())
    assert together(None, hooks, NoHooks()) is hooks
    assert type(together(None, NoHooks())) is NoHooks
    assert guarded(together(hooks, Flawed())) is not hooks
