"""Signals: hear of what asks a program to end on the event loop, on Windows too."""

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final, Self

__all__ = ["SIGNALS", "Signals"]

SIGNALS: Final = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if name in signal.Signals.__members__
)
"""What asks a program to end; SIGHUP is a terminal that is closed, SIGBREAK is Ctrl-Break on Windows."""


class Signals:
    """A context manager that calls ``heard(number)`` from the running event loop for each of ``SIGNALS``.

    Leaving it, or ``release``, puts back the handlers that were there before, so that one may be used inside another:
    the innermost hears. A SIGHUP that is ignored, as under ``nohup``, stays ignored.

    These are plain handlers, and not the loop's own: they can be put back, and every platform has them. The loop wakes
    up for them too, since they write to it.

    Args:
        heard: Called on the event loop.
    """

    def __init__(self, heard: Callable[[signal.Signals], None]) -> None:
        self._heard = heard
        self._loop: Final = asyncio.get_running_loop()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("only the main thread hears of signals; elsewhere, await Manager(...).run()")
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before is signal.SIG_IGN and number.name == "SIGHUP":
                continue
            self._before[number] = before
            signal.signal(number, self._hand_over)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Put back what was there before; again is harmless."""
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def resign(self) -> None:
        """Let the next signal end the process, as if no Python were there to hear it; leaving still puts all back.

        Python's own handler, and asyncio's, would interrupt or cancel what does not heed a cancellation anyway.
        """
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)

    def _hand_over(self, number: int, _frame: FrameType | None) -> None:
        """A plain handler runs between any two instructions of the main thread, so it does next to nothing."""
        self._loop.call_soon_threadsafe(self._heard, signal.Signals(number))
