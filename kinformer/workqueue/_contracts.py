"""What a ``WorkQueue`` needs from the structure that decides which key is next."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Protocol, TypeVar

__all__ = ["ReadyKeys"]

K = TypeVar("K", bound=Hashable)


class ReadyKeys(Protocol[K]):
    """The order of a ``WorkQueue``: ``Ready`` is the usual one, ``PriorityReady`` the one with levels.

    Another one may choose another order, and nothing else: what was asked for and is not running can be taken, and a
    key asked for while it runs can be taken when that run ends. It is called from one thread and never waits. A
    priority is any number, and more is more urgent; whoever has no levels may ignore it.
    """

    def add(self, key: K, priority: int = 0, /) -> bool:
        """Ask for a run of ``key``; gives whether that is news."""

    def take(self, now: float = 0.0, /) -> K:
        """Hand out the next key, running since ``now``; raises ``LookupError`` where ``len()`` is 0."""

    def done(self, key: K, /) -> float:
        """End the run of ``key`` and give its ``now``; raises ``ValueError`` where it has none."""

    def wants(self, key: K, /) -> bool:
        """Whether ``key`` was asked for and not taken since."""

    def priority(self, key: K, /) -> int:
        """The priority with which ``key`` was taken, or waits; 0 where neither."""

    def waiting(self) -> Iterator[tuple[K, int]]:
        """The keys that can be taken, in their order, each with its priority."""

    def heads(self) -> Iterator[tuple[int, K]]:
        """Each priority at which keys can be taken, with the key, or keys, there that have been ready longest."""

    @property
    def running(self) -> Mapping[K, float]:
        """The keys that have a run, each with the moment at which it was taken."""

    def __contains__(self, key: K) -> bool:
        """Whether ``key`` wants a run or has one."""

    def __len__(self) -> int:
        """How many keys can be taken now."""

    @property
    def depth(self) -> int:
        """How many keys want a run, whether they can be taken now or not."""

    @property
    def is_idle(self) -> bool:
        """Whether no key wants a run and none has one."""
