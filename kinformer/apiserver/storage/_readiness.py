"""Readiness: whether something is ready, with waits in both directions."""

import anyio

__all__ = ["Readiness"]


class Readiness:
    """Ready or not, as often as it changes.

    A wait is over when the state was reached, even if it has changed again since.

    Attributes:
        generation: How often it has become ready.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._is_ready = False
        self._changed = anyio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether it is."""
        return self._is_ready

    def set(self) -> None:
        """Be ready; harmless when it is."""
        if not self._is_ready:
            self.generation += 1
            self._change(is_ready=True)

    def reset(self) -> None:
        """Be ready no more; harmless when it is not."""
        if self._is_ready:
            self._change(is_ready=False)

    async def wait_ready(self) -> None:
        """Wait until it is ready; returns at once when it is."""
        generation = self.generation
        while not self._is_ready and self.generation == generation:
            await self._changed.wait()

    async def wait_not_ready(self) -> None:
        """Wait until it is not ready; returns at once when it is not."""
        generation = self.generation
        while self._is_ready and self.generation == generation:
            await self._changed.wait()

    def _change(self, *, is_ready: bool) -> None:
        self._is_ready = is_ready
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
