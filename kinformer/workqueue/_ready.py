"""Ready: which keys wait for a worker, and which are in a worker's hands."""

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["Ready"]

K = TypeVar("K", bound=Hashable)


class Ready(Generic[K]):
    """The keys that want a run, in order of asking, and those that have one. No clock, no task, no lock.

    A key asked for twice runs once; a key asked for while it runs goes to the back of the order when that run
    ends. Keys are told apart by equality, so ``1``, ``1.0`` and ``True`` are one key. The rules are those of
    client-go's ``util/workqueue/queue.go``. There is one level: a priority is taken and changes nothing.

    Between any two calls ``order`` holds no key twice, and ``set(order) == dirty - running``.

    Attributes:
        order: The keys that can be taken, first come first; to be looked at only.
    """

    __slots__ = ("again", "marks", "order")

    def __init__(self) -> None:
        self.order: deque[K] = deque()
        # The two sets of client-go in one dict, since hashing a key is the larger part of what a key costs: the keys
        # of ``order`` with None, those that run with the moment they were taken. ``WorkQueue`` reaches for it too.
        self.marks: dict[K, float | None] = {}
        self.again: set[K] = set()  # the running keys that were asked for meanwhile

    def add(self, key: K, priority: int = 0, /) -> bool:  # noqa: ARG002 -- there is one level
        """Ask for a run of ``key``; gives whether that is news, which it is not where ``key`` is dirty already."""
        known = len(self.marks)
        mark = self.marks.setdefault(key, None)
        if len(self.marks) != known:
            self.order.append(key)
            return True
        if mark is None or key in self.again:
            return False
        self.again.add(key)
        return True

    def take(self, now: float = 0.0, /) -> K:
        """Hand out the key that has waited longest; it stays running, since ``now``, until ``done``.

        Raises:
            LookupError: No key is ready.
        """
        try:
            key = self.order.popleft()
        except IndexError:
            raise LookupError("no key is ready: ask len() before take()") from None
        self.marks[key] = now
        return key

    def done(self, key: K, /) -> float:
        """End the run of ``key``, and give the moment it was taken; if asked for meanwhile, it is ready, the last.

        Raises:
            ValueError: ``key`` is not running.
        """
        since = self.marks.get(key)
        if since is None:
            raise ValueError(f"done({key!r}): nobody holds this key; call it once for each time it was taken")
        if key in self.again:
            self.again.remove(key)
            self.marks[key] = None
            self.order.append(key)
        else:
            del self.marks[key]
            if not self.marks:
                self.marks.clear()  # gives the table back, which a dict that shrinks to nothing keeps
        return since

    @property
    def dirty(self) -> set[K]:
        """The keys that want a run: all of ``order``, and those of ``running`` that were asked for again."""
        return self.again.union(self.order)

    @property
    def running(self) -> dict[K, float]:
        """The keys that were taken and are not done, each with the moment at which it was taken."""
        return {key: since for key, since in self.marks.items() if since is not None}

    def waiting(self) -> Iterator[tuple[K, int]]:
        """The keys that can be taken, next one first, each with its priority, which is 0."""
        return ((key, 0) for key in self.order)

    def heads(self) -> Iterator[tuple[int, K]]:
        """Each priority at which keys can be taken, with the key there that has been ready longest."""
        return ((0, key) for key, _ in zip(self.order, range(1), strict=False))

    def wants(self, key: K, /) -> bool:
        """Whether ``key`` wants a run, now or when its present one ends."""
        return key in self.again or (key in self.marks and self.marks[key] is None)

    def priority(self, key: K, /) -> int:  # noqa: ARG002 -- there is one level
        """The priority with which ``key`` runs or waits: 0."""
        return 0

    def __contains__(self, key: K) -> bool:
        """Whether ``key`` can be taken or is running."""
        return key in self.marks

    def __len__(self) -> int:
        """How many keys can be taken now."""
        return len(self.order)

    @property
    def depth(self) -> int:
        """How many keys want a run: those that can be taken, and those that can be when their present run ends."""
        return len(self.order) + len(self.again)

    @property
    def is_idle(self) -> bool:
        """Whether no key wants a run and none has one."""
        return not self.marks
