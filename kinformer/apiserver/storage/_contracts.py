"""KV: what the apiserver needs from its storage, in etcd's terms.

One counter, the revision, grows by one with each transaction that changes something. Reads and watches may name a past
revision until it is compacted. The semantics are etcd's v3 API: https://etcd.io/docs/v3.5/learning/api/
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, Self

from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._mvcc import Change
from kinformer.apiserver.storage._transactions import ReadResult, Transaction, TransactionResult
from kinformer.apiserver.storage._watch_messages import WatchRequest, WatchResponse

__all__ = ["KV", "Batch", "Watch", "WatchStream"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a watch has to tell: changes in order of revision, and how far it has come.

    Attributes:
        changes: Whole revisions. May be empty, when progress was asked for.
        revision: Every matching change up to this revision has been delivered, this batch included.
    """

    changes: Sequence[Change]
    revision: int


class Watch(Protocol):
    """The changes of a range of keys from some revision on, with what was there before, and without gaps.

    It never ends by itself. A cancelled ``__anext__`` loses nothing. ``CompactedError`` is raised by it once what it
    would have to deliver, or what was there before that, is no longer kept.
    """

    def __aiter__(self) -> Self:
        """It is its own iterator."""

    async def __anext__(self) -> Batch:
        """Wait for the next batch."""

    def request_progress(self) -> None:
        """Ask for a batch, be it empty, as soon as everything so far has been delivered."""


class WatchStream(Protocol):
    """Any number of watches with one line of responses, as etcd serves them.

    Requests are made at once and answered in the line. It never ends by itself; a cancelled ``__anext__`` loses nothing.
    """

    def create(self, request: WatchRequest) -> None:
        """Open a watch. The answer is ``created``, and ``canceled`` too where it is refused."""

    def cancel(self, watch_id: int) -> None:
        """End a watch: nothing of it comes behind the answer. One that does not exist gets none."""

    def request_progress(self) -> None:
        """Ask how far the whole stream has come: an answer for ``NO_WATCH``, behind everything up to its revision.

        There is none where a watch of the stream is not in step: it catches up, waits for a future revision, was
        compacted, or is blocked. So ask again.
        """

    def __aiter__(self) -> Self:
        """It is its own iterator."""

    async def __anext__(self) -> WatchResponse:
        """Wait for the next response."""


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

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        """Read the keys of a range.

        Args:
            keys: Which keys; an empty range has none.
            revision: Read the past; 0 means now.
            limit: At most so many items; 0 means all.
            count_only: No items, just how many there are.

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

    async def transact(self, transaction: Transaction) -> TransactionResult:
        """Do several things as one revision, if some conditions hold.

        Raises:
            TransactionError: It can never be carried out.
            CompactedError: What it would do reads a revision that is too old.
            FutureRevisionError: What it would do reads a revision that is yet to come.
        """

    def watch(self, keys: KeyRange, from_revision: int) -> AbstractAsyncContextManager[Watch]:
        """Follow the changes of a range, the first being ``from_revision`` or a later one.

        A revision in the future is waited for. ``CompactedError`` is raised where the start is no longer kept, on
        entering or by the first ``__anext__``; ``ValueError`` on entering where the range is empty.
        """

    def watch_stream(self) -> AbstractAsyncContextManager[WatchStream]:
        """Open a stream for watches."""

    async def tells_progress(self) -> bool:
        """Whether progress that a watch is asked for can be believed, and always comes."""

    async def compact(self, revision: int) -> None:
        """Forget what is older than ``revision``; what was true at ``revision`` can still be read.

        Raises:
            CompactedError: That was done already.
            FutureRevisionError: The revision is yet to come.
        """
