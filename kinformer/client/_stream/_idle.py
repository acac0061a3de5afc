"""IdleConnections: those that wait for another question, for a while. Pure."""

from typing import Final, Generic, Protocol, TypeVar

__all__ = ["IdleConnections"]


class _Closable(Protocol):
    @property
    def is_open(self) -> bool: ...


K = TypeVar("K")
C = TypeVar("C", bound=_Closable)


class IdleConnections(Generic[K, C]):
    """Holds at most ``limit`` connections, each for at most ``age`` seconds; the newest is taken first.

    It closes nothing: what it no longer wants to hold it gives back.
    """

    def __init__(self, *, limit: int, age: float) -> None:
        self._limit: Final = limit
        self._age: Final = age
        self._held: list[tuple[float, K, C]] = []  # oldest first

    def put(self, key: K, connection: C, now: float) -> list[C]:
        """Hold a connection to ``key``, and give back those that are too old or too many, to be closed."""
        self._held.append((now, key, connection))
        return self._outdated(now)

    def take(self, key: K, now: float) -> tuple[C | None, list[C]]:
        """The newest open connection to ``key``, which is then no longer held; and those that are to be closed."""
        outdated = self._outdated(now)
        for place in reversed(range(len(self._held))):
            if self._held[place][1] == key:
                return self._held.pop(place)[2], outdated
        return None, outdated

    def __len__(self) -> int:
        return len(self._held)

    def _outdated(self, now: float) -> list[C]:
        fresh: list[tuple[float, K, C]] = []
        outdated: list[tuple[float, K, C]] = []
        for entry in self._held:
            is_fresh = entry[2].is_open and now - entry[0] < self._age
            (fresh if is_fresh else outdated).append(entry)
        surplus = max(0, len(fresh) - self._limit)
        self._held = fresh[surplus:]
        return [connection for _, _, connection in (*outdated, *fresh[:surplus])]
