"""A revisioned key-value store with watches."""

from kinformer.apiserver.storage._cache import Cache
from kinformer.apiserver.storage._cache_watch import CacheWatch
from kinformer.apiserver.storage._contracts import KV, Batch, Watch, WatchStream
from kinformer.apiserver.storage._demux import Demux
from kinformer.apiserver.storage._errors import (
    CacheTimeoutError,
    ClosedError,
    CompactedError,
    FutureRevisionError,
    InconsistentError,
    KeyRangeError,
    StaleError,
    TransactionError,
    UnavailableError,
    UnsupportedRequestError,
)
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._memory import MemoryKV
from kinformer.apiserver.storage._mvcc import Change, Mvcc
from kinformer.apiserver.storage._snapshots import Snapshots
from kinformer.apiserver.storage._transactions import (
    Compare,
    Delete,
    DeleteResult,
    Operation,
    Put,
    PutResult,
    Read,
    ReadResult,
    Result,
    Transaction,
    TransactionResult,
)
from kinformer.apiserver.storage._watch_messages import NO_WATCH, WatchRequest, WatchResponse
from kinformer.apiserver.storage._watcher_stream import WatcherStream
from kinformer.apiserver.storage._watchers import Watchers

__all__ = [
    "KV",
    "NO_WATCH",
    "Batch",
    "Cache",
    "CacheTimeoutError",
    "CacheWatch",
    "Change",
    "ClosedError",
    "CompactedError",
    "Compare",
    "Delete",
    "DeleteResult",
    "Demux",
    "FutureRevisionError",
    "InconsistentError",
    "KeyRange",
    "KeyRangeError",
    "KeyValue",
    "MemoryKV",
    "Mvcc",
    "Operation",
    "Put",
    "PutResult",
    "Read",
    "ReadResult",
    "Result",
    "Snapshots",
    "StaleError",
    "Transaction",
    "TransactionError",
    "TransactionResult",
    "UnavailableError",
    "UnsupportedRequestError",
    "Watch",
    "WatchRequest",
    "WatchResponse",
    "WatchStream",
    "WatcherStream",
    "Watchers",
]
