"""Happy eyeballs (RFC 8305): several ways to the same server, begun one after the other, and the first that works."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, zip_longest
from typing import Final, Generic, TypeVar

import anyio

from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["Race", "interleave"]

T = TypeVar("T")

_HEAD_START: Final = 0.25
"""Seconds that each attempt has for itself before the next begins (section 5)."""


class Race(Generic[T]):
    """Attempts at making one thing; ``run`` gives that of the first that succeeds.

    Each begins when the one before has failed, or has not succeeded for 250 ms. Those that are not needed any more are
    cancelled, and what one of them made all the same is given to ``discard``; so is the winner's, if ``run`` is
    cancelled.

    Args:
        attempts: At least one. They fail with ``OSError``.
        discard: Undoes an attempt.
        clock: Measures the head start.
    """

    def __init__(
        self, attempts: Sequence[Callable[[], Awaitable[T]]], *, discard: Callable[[T], None], clock: Clock
    ) -> None:
        self._attempts: Final = attempts
        self._discard: Final = discard
        self._clock: Final = clock
        self._made: list[T] = []
        self._failures: list[OSError] = []

    async def run(self) -> T:
        """Make the attempts.

        Raises:
            OSError: All of them failed; it says how.
        """
        try:
            if len(self._attempts) == 1:
                return await self._attempts[0]()
            async with open_task_group() as tasks:
                for attempt in self._attempts:
                    failed = anyio.Event()
                    tasks.start_soon(self._run, attempt, failed, tasks.cancel_scope)
                    with self._clock.move_on_after(_HEAD_START):
                        await failed.wait()
        except BaseException:
            while self._made:
                self._discard(self._made.pop())
            raise
        if not self._made:
            raise OSError("; ".join(dict.fromkeys(map(str, self._failures)))) from self._failures[0]
        return self._made[0]

    async def _run(
        self, attempt: Callable[[], Awaitable[T]], failed: anyio.Event, others: anyio.CancelScope
    ) -> None:
        try:
            made = await attempt()
        except OSError as failure:
            self._failures.append(failure)
            failed.set()
            return
        if self._made:
            self._discard(made)
        else:
            self._made.append(made)
            others.cancel()


def interleave(addresses: Sequence[tuple[int, str]]) -> list[str]:
    """The addresses of a look-up, families in turn, beginning with that of the first (section 4), each once."""
    families = dict.fromkeys(family for family, _ in addresses)
    rows = [[address for family, address in addresses if family == wanted] for wanted in families]
    return list(dict.fromkeys(address for address in chain(*zip_longest(*rows)) if address is not None))
