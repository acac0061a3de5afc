"""Registration: a handler's place at an informer."""

from kinformer.informer._listener import Listener

__all__ = ["Registration"]


class Registration:
    """What ``add_handler`` gives: how the handler is doing, and what to remove it by."""

    __slots__ = ("_listener",)

    def __init__(self, listener: Listener[object]) -> None:
        self._listener: Listener[object] = listener

    @property
    def name(self) -> str:
        """The handler's name in logs and metrics."""
        return self._listener.name

    @property
    def is_synced(self) -> bool:
        """Whether the handler has been told of everything that was there when it was added; once true it stays so."""
        return self._listener.is_synced

    async def wait_synced(self) -> None:
        """Wait for ``is_synced``. A call that failed counts as told.

        Raises:
            ClosedError: The handler was removed, or the informer ended, before that.
        """
        await self._listener.wait_synced()

    async def wait_ended(self) -> None:
        """Wait until the handler has been removed, or the informer has ended, and its last call is over.

        So ``remove_handler`` and then this is a removal that waits. The call may take as long as it likes.

        Raises:
            RuntimeError: The handler itself asks; it would wait for its own call.
        """
        await self._listener.wait_ended()

    @property
    def backlog(self) -> int:
        """How many notifications wait for the handler."""
        return self._listener.backlog

    @property
    def high_water(self) -> int:
        """The largest backlog so far."""
        return self._listener.high_water

    @property
    def oldest_age(self) -> float:
        """For how many seconds the next notification has waited; 0 when none waits."""
        return self._listener.oldest_age

    @property
    def delivered(self) -> int:
        """How many calls have come to a good end."""
        return self._listener.delivered

    @property
    def failures(self) -> int:
        """How many notifications were lost: the call raised, or the object did not fit the model."""
        return self._listener.failures

    def __repr__(self) -> str:
        return f"<handler {self.name}: {self.backlog} waiting, {self.delivered} told, {self.failures} lost>"
