"""A revisioned key-value store with watches."""

from kinformer.apiserver.storage._contracts import KV, Batch, Watch, WatchStream
from kinformer.apiserver.storage._errors import (
    CompactedError,
    FutureRevisionError,
    StaleError,
    TransactionError,
    UnavailableError,
)
from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._memory import MemoryKV
from kinformer.apiserver.storage._mvcc import Change, Mvcc
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
    "Change",
    "CompactedError",
    "Compare",
    "Delete",
    "DeleteResult",
    "FutureRevisionError",
    "KeyRange",
    "KeyValue",
    "MemoryKV",
    "Mvcc",
    "Operation",
    "Put",
    "PutResult",
    "Read",
    "ReadResult",
    "Result",
    "StaleError",
    "Transaction",
    "TransactionError",
    "TransactionResult",
    "UnavailableError",
    "Watch",
    "WatchRequest",
    "WatchResponse",
    "WatchStream",
    "WatcherStream",
    "Watchers",
]
