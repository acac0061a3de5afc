"""Failing: which keys a limiter may remember, so that those that are gone can be forgotten."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Failing"]

K = TypeVar("K", bound=Hashable)


class Failing(Generic[K]):
    """The keys that have failed, in a ring that is looked through a little at a time. Pure.

    A limiter remembers each key until somebody forgets it, and a queue whose users do not would grow with every key
    that ever failed (client-go's does). Here each failure looks at the next two keys of the ring, so that a whole
    round takes no longer than half as many failures as the ring has keys, and no single call takes long. What is
    gone when its turn comes leaves the ring; so between two failures it holds at most about twice the keys that are
    not gone.
    """

    __slots__ = ("ring",)

    def __init__(self) -> None:
        self.ring: OrderedDict[K, None] = OrderedDict()

    def add(self, key: K) -> None:
        """Have ``key`` looked at from now on."""
        self.ring[key] = None

    def discard(self, key: K) -> None:
        """Look at ``key`` no more. Harmless for an unknown one."""
        self.ring.pop(key, None)
        if not self.ring:
            self.ring.clear()  # gives the table back

    def sweep(self, count: int, is_gone: Callable[[K], bool]) -> list[K]:
        """Look at the next ``count`` keys, and remove and give those that are gone."""
        gone = []
        for _ in range(min(count, len(self.ring))):
            key = next(iter(self.ring))
            if is_gone(key):
                self.discard(key)
                gone.append(key)
            else:
                self.ring.move_to_end(key)
        return gone

    def __len__(self) -> int:
        """How many keys are looked at."""
        return len(self.ring)
