import signal
import threading

import anyio
import pytest

from kinformer.controller import Signals
from kinformer.controller._signals import SIGNALS


class Heard:
    """What was heard, and a way to wait for it."""

    def __init__(self) -> None:
        self.numbers: list[signal.Signals] = []
        self.changed = anyio.Event()

    def __call__(self, number: signal.Signals) -> None:
        self.numbers.append(number)
        self.changed.set()


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_is_heard_on_the_event_loop(number: signal.Signals) -> None:
    heard = Heard()
    with Signals(heard):
        signal.raise_signal(number)
        assert heard.numbers == []
        await heard.changed.wait()
    assert heard.numbers == [number]


async def test_the_handlers_of_before_come_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Signals(Heard()) as signals:
        assert [signal.getsignal(number) for number in SIGNALS] != before
        signals.release()
        assert [signal.getsignal(number) for number in SIGNALS] == before
        signals.release()
    assert [signal.getsignal(number) for number in SIGNALS] == before


async def test_the_innermost_hears_and_the_outer_one_hears_again_after_it() -> None:
    outer, inner = Heard(), Heard()
    with Signals(outer):
        with Signals(inner):
            signal.raise_signal(signal.SIGTERM)
            await inner.changed.wait()
        assert outer.numbers == []
        signal.raise_signal(signal.SIGINT)
        await outer.changed.wait()
    assert (outer.numbers, inner.numbers) == ([signal.SIGINT], [signal.SIGTERM])


async def test_who_resigns_leaves_the_next_signal_to_the_system() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Signals(Heard()) as signals:
        signals.resign()
        assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_DFL}
    assert [signal.getsignal(number) for number in SIGNALS] == before


async def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals(Heard()):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_another_thread_is_told_that_it_hears_nothing() -> None:
    found: list[str] = []
    signals = Signals(Heard())

    def enter() -> None:
        try:
            with signals:
                pass
        except RuntimeError as error:
            found.append(str(error))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == ["only the main thread hears of signals; elsewhere, await Manager(...).run()"]
