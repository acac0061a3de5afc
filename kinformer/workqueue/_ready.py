"""Ready: which keys wait for a worker, and which are in a worker's hands."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Ready"]

K = TypeVar("K", bound=Hashable)


class Ready(Generic[K]):
    """The keys that want a run, in order of asking, and those that have one. No clock, no task, no lock.

    A key asked for twice runs once; a key asked for while it runs goes to the back of the order when that run
    ends. Keys are told apart by equality, so ``1``, ``1.0`` and ``True`` are one key. The rules are those of
    client-go's ``util/workqueue/queue.go``.

    Between any two calls ``order`` holds no key twice, and ``set(order) == dirty - running``.

    Attributes:
        order: The keys that can be taken, first come first.
        dirty: The keys that want a run: all of ``order``, and those of ``running`` that were asked for again.
        running: The keys that were taken and are not done.
    """

    __slots__ = ("dirty", "order", "running")

    def __init__(self) -> None:
        self.order: deque[K] = deque()
        self.dirty: set[K] = set()
        self.running: set[K] = set()

    def add(self, key: K) -> bool:
        """Ask for a run of ``key``; gives whether that is news, which it is not where ``key`` is dirty already."""
        if key in self.dirty:
            return False
        self.dirty.add(key)
        if key not in self.running:
            self.order.append(key)
        return True

    def take(self) -> K:
        """Hand out the key that has waited longest; it stays running until ``done``.

        Raises:
            LookupError: No key is ready.
        """
        try:
            key = self.order.popleft()
        except IndexError:
            raise LookupError("no key is ready: ask len() before take()") from None
        self.dirty.remove(key)
        self.running.add(key)
        return key

    def done(self, key: K) -> None:
        """End the run of ``key``; where it was asked for meanwhile it is ready again, behind all others.

        Raises:
            ValueError: ``key`` is not running.
        """
        try:
            self.running.remove(key)
        except KeyError:
            raise ValueError(
                f"done({key!r}): nobody holds this key; call it once for each time it was taken"
            ) from None
        if key in self.dirty:
            self.order.append(key)

    def __len__(self) -> int:
        """How many keys can be taken now."""
        return len(self.order)

    @property
    def depth(self) -> int:
        """How many keys want a run: those that can be taken, and those that can be when their present run ends."""
        return len(self.dirty)

    @property
    def is_idle(self) -> bool:
        """Whether no key wants a run and none has one."""
        return not self.dirty and not self.running
