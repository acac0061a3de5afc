"""Ring: which of several members a key belongs to, by consistent hashing. Pure."""

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

__all__ = ["Member", "Ring", "point_of"]

_NODES: Final = 128
"""Places of each member. All members of a group must have the same number, so it belongs to the protocol."""


class Member(NamedTuple):
    """Somebody who shares keys with others.

    Attributes:
        name: Unique, also among all that there were.
        identity: Decides where it is on the ring, so that who comes again has the keys that it had before.
    """

    name: str
    identity: str


class Ring:
    """A circle of 64-bit points, on which each member has many places; a key is its next member's.

    For each key the members are in an order that no other member has a part in. So of any two members, the same one
    has the key in each ring that both are in: that is what makes a hand-over safe. And a member that comes or goes
    moves no key between two others.

    Args:
        members: Who is there. Two of one identity are in the same places, where the one has all whose name is less.
    """

    def __init__(self, members: Iterable[Member]) -> None:
        self.members: Final = tuple(sorted(members))
        places = sorted((point, name) for name, identity in self.members for point in _points_of(identity))
        self._points: Final = [point for point, _ in places]
        self._names: Final = [name for _, name in places]

    def owner(self, point: int) -> str:
        """The name of the member that a key at this point belongs to; ``""`` where there is none."""
        if not self._names:
            return ""
        index = bisect_left(self._points, point)
        return self._names[index] if index < len(self._names) else self._names[0]


@lru_cache(maxsize=1024)
def _points_of(identity: str) -> tuple[int, ...]:
    return tuple(point_of(f"{identity}/{number}") for number in range(_NODES))


def point_of(text: str) -> int:
    """Where something is on the circle: the same in each process and on each machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
