"""Lease: a key in a worker's hands, to be put down at the end of a block."""

from collections.abc import Hashable
from types import TracebackType
from typing import Generic, Protocol, TypeVar

import msgspec

__all__ = ["Lease"]

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class _Queue(Protocol[K_contra]):
    def done(self, key: K_contra) -> None: ...


class Lease(msgspec.Struct, Generic[K], eq=False):
    """A key in a worker's hands: ``with lease as key:``. Leaving the block puts it down, whatever happened inside.

    The key was taken when the lease was made, so enter it at once, and once.
    """

    _queue: _Queue[K]
    _key: K

    def __enter__(self) -> K:
        return self._key

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue.done(self._key)
