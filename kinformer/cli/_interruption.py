"""How a command ends from outside, and how it says something."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from signal import Signals as Number

import anyio

from kinformer.cli._complaint import Complaint
from kinformer.controller import Signals

__all__ = ["interruptible", "say", "written"]


@contextmanager
def interruptible() -> Iterator[anyio.CancelScope]:
    """Cancel the block at the first signal, so that it cleans up; a third one ends the process at once."""
    has_heard = False

    def hear(_: Number) -> None:
        nonlocal has_heard
        if has_heard:
            signals.resign()
        has_heard = True
        scope.cancel()

    with anyio.CancelScope() as scope, Signals(hear) as signals:
        yield scope


def say(text: str) -> None:
    """Write to stdout, at once.

    Raises:
        Complaint: That cannot be written to, as on a full disk.
        BrokenPipeError: Nobody reads it.
    """
    with written():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def written() -> Iterator[None]:
    """Make complaints of the block's errors of the system, which are those of stdout."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Complaint(f"stdout cannot be written to: {error.strerror}") from error
