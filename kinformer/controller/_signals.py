"""Signals: hear of SIGINT and SIGTERM on the event loop, on Windows too."""

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Final, Protocol, Self

__all__ = ["SIGNALS", "SignalLoop", "Signals"]

SIGNALS: Final = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGBREAK") if name in signal.Signals.__members__
)
"""What asks a program to end; SIGBREAK is Ctrl-Break on Windows."""


class SignalLoop(Protocol):
    """The part of an event loop that hears of signals."""

    def add_signal_handler(self, sig: int, callback: Callable[[signal.Signals], None], *args: Any) -> None:
        """Call ``callback`` from the loop; raises ``NotImplementedError`` where that cannot be done."""

    def remove_signal_handler(self, sig: int) -> bool:
        """Take the handler away, and give whether there was one; may raise ``NotImplementedError`` too."""

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> object:
        """Call ``callback`` from the loop, and wake it up."""


class Signals:
    """A context manager that calls ``heard(number)`` from the event loop for each of ``SIGNALS``.

    Leaving it, or ``release``, puts back the handlers that were there before.

    Args:
        heard: Called on the event loop.
        loop: The running loop, which is also the default.
    """

    def __init__(self, heard: Callable[[signal.Signals], None], *, loop: SignalLoop | None = None) -> None:
        self._heard = heard
        self._loop: SignalLoop = asyncio.get_running_loop() if loop is None else loop
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("only the main thread hears of signals; elsewhere, await Manager(...).run()")
        for number in SIGNALS:
            self._before[number] = signal.getsignal(number)
            try:
                self._loop.add_signal_handler(number, self._heard, number)
            except NotImplementedError:  # the loops of Windows
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
            with suppress(NotImplementedError):
                self._loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _hand_over(self, number: int, _frame: FrameType | None) -> None:
        """A plain handler runs between any two instructions of the main thread, so it does next to nothing."""
        self._loop.call_soon_threadsafe(self._heard, signal.Signals(number))
