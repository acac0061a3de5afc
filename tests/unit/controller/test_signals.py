import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kinformer.controller._signals import SIGNALS, Signals


class PlainLoop:
    """The running loop, as it would be on Windows."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def add_signal_handler(self, sig: int, callback: Callable[[signal.Signals], None], *args: Any) -> None:
        raise NotImplementedError

    def remove_signal_handler(self, sig: int) -> bool:
        raise NotImplementedError

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> object:
        return self._loop.call_soon_threadsafe(callback, *args)


class Heard:
    """What was heard, and a way to wait for it."""

    def __init__(self) -> None:
        self.numbers: list[signal.Signals] = []
        self.changed = anyio.Event()

    def __call__(self, number: signal.Signals) -> None:
        self.numbers.append(number)
        self.changed.set()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("is_plain", [False, True], ids=["by the loop", "as on Windows"])
async def test_a_signal_is_heard_on_the_event_loop(number: signal.Signals, is_plain: bool) -> None:
    heard = Heard()
    with Signals(heard, loop=PlainLoop() if is_plain else None):
        signal.raise_signal(number)
        await heard.changed.wait()
    assert heard.numbers == [number]


@pytest.mark.parametrize("is_plain", [False, True], ids=["by the loop", "as on Windows"])
async def test_the_handlers_of_before_come_back(is_plain: bool) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Signals(Heard(), loop=PlainLoop() if is_plain else None) as signals:
        assert [signal.getsignal(number) for number in SIGNALS] != before
        signals.release()
        assert [signal.getsignal(number) for number in SIGNALS] == before
        signals.release()
    assert [signal.getsignal(number) for number in SIGNALS] == before


async def test_another_thread_is_told_that_it_hears_nothing() -> None:
    found: list[str] = []
    loop = PlainLoop()

    def enter() -> None:
        try:
            with Signals(Heard(), loop=loop):
                pass
        except RuntimeError as error:
            found.append(str(error))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == ["only the main thread hears of signals; elsewhere, await Manager(...).run()"]
