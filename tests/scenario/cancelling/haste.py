"""An event loop whose timers run faster than the world, so that what ticks and waits in real time costs less of it."""

import asyncio
from selectors import DefaultSelector, SelectorKey
from typing import Final

__all__ = ["HastyLoop"]

HASTE: Final = 10
"""How many seconds its timers count in one."""


class HastyLoop(asyncio.SelectorEventLoop):
    """uvicorn looks ten times a second whether it is to stop; here it is a hundred times."""

    def __init__(self) -> None:
        super().__init__(_Selector())

    def time(self) -> float:
        return super().time() * HASTE


class _Selector(DefaultSelector):
    """Waits in the seconds of the world."""

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / HASTE)
