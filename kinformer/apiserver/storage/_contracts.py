"""KV: what the apiserver needs from its storage, in etcd's terms.

One counter, the revision, grows by one with each put or delete. Reads and watches may name a past revision until it is
compacted. The semantics are etcd's v3 API: https://etcd.io/docs/v3.5/learning/api/
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, Self

__all__ = [
    "KV",
    "Batch",
    "Change",
    "CompactedError",
    "FutureRevisionError",
    "KeyValue",
    "RangeResult",
    "StaleError",
    "Watch",
]


class CompactedError(Exception):
    """The revision is older than what is kept.

    Attributes:
        revision: What was asked for.
        compacted: The oldest revision that can still be read.
    """

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest is {compacted}")
        self.revision = revision
        self.compacted = compacted


class FutureRevisionError(Exception):
    """The revision has not come up yet.

    Attributes:
        revision: What was asked for.
        current: The revision of the last change.
    """

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the current one is {current}")
        self.revision = revision
        self.current = current


class StaleError(Exception):
    """A put or delete found the key at another revision than expected; nothing was changed.

    Attributes:
        current: What the key holds, ``None`` where it does not exist.
    """

    def __init__(self, key: str, expected: int, current: "KeyValue | None") -> None:
        found = f"is at revision {current.mod_revision}" if current else "does not exist"
        super().__init__(f"key {key!r} was expected at revision {expected}, but {found}")
        self.current = current


@dataclass(frozen=True, slots=True)
class KeyValue:
    """What a key held from one revision on.

    Attributes:
        create_revision: The revision that created the key, since it last did not exist.
        mod_revision: The revision that wrote this value.
    """

    key: str
    value: bytes
    create_revision: int
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Change:
    """One put or delete.

    Attributes:
        revision: The revision that the change made.
        current: What was put, ``None`` for a delete.
        previous: What the key held before, ``None`` where it did not exist.
    """

    revision: int
    key: str
    current: KeyValue | None
    previous: KeyValue | None


@dataclass(frozen=True, slots=True)
class RangeResult:
    """A piece of the key space at one revision.

    Attributes:
        items: In order of keys, compared as text.
        revision: The revision of the last change of the whole storage, not the one that was asked for.
        remaining: How many keys of the range follow the last item.
    """

    items: tuple[KeyValue, ...]
    revision: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What a watch has to tell: changes in order of revision, and how far it has come.

    Attributes:
        changes: May be empty, when progress was asked for.
        revision: Every matching change up to this revision has been delivered, this batch included.
    """

    changes: Sequence[Change]
    revision: int


class Watch(Protocol):
    """The changes of a prefix from some revision on, without gaps; it never ends by itself.

    A cancelled ``__anext__`` loses nothing. ``CompactedError`` is raised by it once what it would have to deliver is
    no longer kept.
    """

    def __aiter__(self) -> Self:
        """It is its own iterator."""

    async def __anext__(self) -> Batch:
        """Wait for the next batch."""

    def request_progress(self) -> None:
        """Ask for a batch, be it empty, as soon as everything so far has been delivered."""


class KV(Protocol):
    """A revisioned key-value store with watches."""

    async def revision(self) -> int:
        """The revision of the last change; at least 1."""

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """Read one key, at a revision, or now where that is 0.

        Raises:
            CompactedError: The revision is too old.
            FutureRevisionError: The revision is yet to come.
        """

    async def range(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Read the keys with a prefix.

        Args:
            prefix: What the keys begin with.
            start: Only keys at or behind this one.
            revision: Read the past; 0 means now.
            limit: At most so many items; 0 means all.

        Raises:
            CompactedError: The revision is too old.
            FutureRevisionError: The revision is yet to come.
        """

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        """Write a key. Equal values make a new revision all the same.

        Args:
            key: The key.
            value: The new value.
            expected: Only if the key's ``mod_revision`` is this; 0 means that the key must not exist, ``None`` does
                not ask.

        Raises:
            StaleError: The key is at another revision.
        """

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        """Remove a key; ``None``, and no new revision, where it does not exist and nothing was expected.

        Raises:
            StaleError: The key is not at the expected revision.
        """

    def watch(self, prefix: str, from_revision: int) -> AbstractAsyncContextManager[Watch]:
        """Follow the changes of the keys with a prefix, the first being ``from_revision`` or a later one.

        A revision in the future is waited for. Entering raises ``CompactedError`` where the start is no longer kept.
        """

    async def compact(self, revision: int) -> None:
        """Forget what is older than ``revision``; what was true at ``revision`` can still be read.

        Raises:
            CompactedError: That was done already.
            FutureRevisionError: The revision is yet to come.
        """
