"""A revisioned key-value store with watches."""

from kinformer.apiserver.storage._contracts import (
    KV,
    Batch,
    Change,
    CompactedError,
    FutureRevisionError,
    KeyValue,
    RangeResult,
    StaleError,
    Watch,
)
from kinformer.apiserver.storage._memory import MemoryKV
from kinformer.apiserver.storage._mvcc import Mvcc

__all__ = [
    "KV",
    "Batch",
    "Change",
    "CompactedError",
    "FutureRevisionError",
    "KeyValue",
    "MemoryKV",
    "Mvcc",
    "RangeResult",
    "StaleError",
    "Watch",
]
