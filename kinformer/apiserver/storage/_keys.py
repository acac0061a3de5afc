"""Keys and what they hold.

Keys are text and ordered by code point, which is the order of their UTF-8 bytes, etcd's own.
"""

from dataclasses import dataclass
from sys import maxunicode
from typing import Final, Self

__all__ = ["KeyRange", "KeyValue"]

_BEFORE_SURROGATES: Final = 0xD7FF
_BEHIND_SURROGATES: Final = 0xE000


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys from ``start`` on that come before ``end``; ``None`` means no end. Empty where they are not in order.

    A single key is a range too: nothing comes between a key and itself followed by a NUL.
    """

    start: str
    end: str | None

    @classmethod
    def key(cls, key: str) -> Self:
        """One key and no other."""
        return cls(key, f"{key}\0")

    @classmethod
    def prefix(cls, prefix: str) -> Self:
        """The keys that begin with a prefix; the empty one means every key."""
        return cls(prefix, _successor(prefix))

    def behind(self, start: str) -> "KeyRange":
        """The part of the range that is at or behind ``start``."""
        return KeyRange(max(self.start, start), self.end)

    @property
    def is_empty(self) -> bool:
        """Whether no key is in it."""
        return self.end is not None and self.end <= self.start

    @property
    def single(self) -> str | None:
        """Its key, where it is the range of a single one."""
        return self.start if self.end == f"{self.start}\0" else None

    def covers(self, other: "KeyRange") -> bool:
        """Whether every key of ``other`` is in it too."""
        ends_before = self.end is None or (other.end is not None and other.end <= self.end)
        return self.start <= other.start and ends_before

    def __contains__(self, key: str) -> bool:
        return self.start <= key and (self.end is None or key < self.end)

    def __str__(self) -> str:
        return f"[{self.start!r}, {'' if self.end is None else repr(self.end)})"


@dataclass(frozen=True, slots=True)
class KeyValue:
    """What a key held from one revision on.

    Attributes:
        create_revision: The revision that created the key, since it last did not exist.
        mod_revision: The revision that wrote this value.
        version: How often the key has been written since it was created; 1 for a new one.
    """

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    version: int


def _successor(prefix: str) -> str | None:
    """The first text behind all that begin with a prefix."""
    while prefix:
        last = ord(prefix[-1])
        prefix = prefix[:-1]
        if last != maxunicode:
            return prefix + chr(_BEHIND_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
    return None
