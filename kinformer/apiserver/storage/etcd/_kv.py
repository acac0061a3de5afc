"""EtcdKV: the storage in a real etcd."""

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, Self

from kinformer.apiserver.storage._errors import FutureRevisionError, StaleError
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._mvcc import Change
from kinformer.apiserver.storage._transactions import (
    Compare,
    Delete,
    DeleteResult,
    Put,
    PutResult,
    Read,
    ReadResult,
    Transaction,
    TransactionResult,
)
from kinformer.apiserver.storage.etcd._access import EtcdTls, EtcdUser
from kinformer.apiserver.storage.etcd._calls import Calls
from kinformer.apiserver.storage.etcd._messages import MESSAGES
from kinformer.apiserver.storage.etcd._stream import EtcdStream, open_stream
from kinformer.apiserver.storage.etcd._watch import EtcdWatch, open_watch, tells_progress
from kinformer.apiserver.storage.etcd._wire import (
    read_request,
    read_result,
    transaction_request,
    transaction_result,
)
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock

__all__ = ["EtcdKV"]

_ANYTHING: Final = KeyRange.key("\0")
_LARGEST: Final = 2**63 - 1


class EtcdKV:
    """A ``KV`` in an etcd. An async context manager, which owns the connection and the tasks of its watches.

    Several processes may share one: what is written through one is seen by the watches of all. Reads are linearizable.

    ```python
    async with EtcdKV("127.0.0.1:2379") as kv, ApiServer(storage=kv) as server:
        ...
    ```

    Everything raises ``UnavailableError`` where etcd cannot be reached or refuses for a reason of its own, but for
    watches, which wait and go on where they were. A call that is cancelled may have been carried out.

    Args:
        endpoint: ``host:port``.
        tls: How to trust it; ``None`` speaks without TLS.
        user: Whom to log in as, where etcd demands it.
        clock: What the pauses between two attempts are measured on.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        tls: EtcdTls | None = None,
        user: EtcdUser | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._calls = Calls(endpoint, tls=tls, user=user)
        self._clock = clock or SystemClock()
        self._version = ""

    async def version(self) -> str:
        """The version of the etcd, as in ``3.4.23``."""
        if not self._version:
            self._version = (await self._calls.unary("Status")).version
        return self._version

    async def revision(self) -> int:
        """The revision of the last change."""
        return (await self.range(_ANYTHING, count_only=True)).revision

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """Read one key; see ``KV.get``."""
        found = await self.range(KeyRange.key(key), revision=revision)
        return found.items[0] if found.items else None

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        """Read the keys of a range; see ``KV.range``."""
        if revision > _LARGEST:
            raise FutureRevisionError(revision, await self.revision())
        request = read_request(Read(keys, revision, limit, count_only))
        try:
            return read_result(await self._calls.unary("Range", request, revision=revision))
        except FutureRevisionError as error:  # of which etcd does not say how far it is
            raise FutureRevisionError(revision, await self.revision()) from error

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        """Write a key; see ``KV.put``."""
        result = await self._write(key, Put(key, value), expected)
        (put,) = result.results
        assert isinstance(put, PutResult)  # noqa: S101 -- it answers a put
        revision, before = result.revision, put.previous
        if before is None:
            return KeyValue(key, value, revision, revision, 1)
        return KeyValue(key, value, before.create_revision, revision, before.version + 1)

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        """Remove a key; see ``KV.delete``."""
        result = await self._write(key, Delete(KeyRange.key(key)), expected)
        (gone,) = result.results
        assert isinstance(gone, DeleteResult)  # noqa: S101 -- it answers a delete
        return Change(result.revision, key, None, gone.previous[0]) if gone.previous else None

    async def transact(self, transaction: Transaction) -> TransactionResult:
        """Do several things as one revision; see ``KV.transact``."""
        return transaction_result(await self._calls.unary("Txn", transaction_request(transaction)))

    def watch(self, keys: KeyRange, from_revision: int) -> AbstractAsyncContextManager[EtcdWatch]:
        """Follow the changes of a range; see ``KV.watch``."""
        return open_watch(self, self._calls, keys, from_revision, clock=self._clock)

    def watch_stream(self) -> AbstractAsyncContextManager[EtcdStream]:
        """Open a stream for watches; see ``KV.watch_stream``. It ends with ``UnavailableError`` when it is cut."""
        return open_stream(self._calls)

    async def tells_progress(self) -> bool:
        """See ``KV.tells_progress``: from 3.4.31, 3.5.13 and 3.6 on, as kube-apiserver counts."""
        return tells_progress(await self.version())

    async def compact(self, revision: int) -> None:
        """Forget what is older than a revision; see ``KV.compact``."""
        request = MESSAGES["CompactionRequest"](revision=revision)
        await self._calls.unary("Compact", request, revision=revision)

    async def __aenter__(self) -> Self:
        self._calls.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._calls.close()

    async def _write(self, key: str, write: Put | Delete, expected: int | None) -> TransactionResult:
        one = KeyRange.key(key)
        compares = [] if expected is None else [Compare(one, "mod_revision", "=", expected)]
        result = await self.transact(Transaction(compares, [write], [Read(one)]))
        if not result.is_met:
            (found,) = result.results
            assert isinstance(found, ReadResult)  # noqa: S101 -- it answers a read
            raise StaleError(key, expected or 0, found.items[0] if found.items else None)
        return result
