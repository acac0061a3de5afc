"""What we hold in memory: store, indexers, delta FIFO. Pure: nothing here waits."""

from kinformer.store._delta_fifo import DeltaFIFO, Popped
from kinformer.store._deltas import Change, Delta, Tombstone
from kinformer.store._indexer import (
    BUILTIN_INDEXERS,
    NAMESPACE_INDEX,
    OWNER_INDEX,
    Indexer,
    by_namespace,
    by_owner_uid,
)
from kinformer.store._store import IndexFailure, Store, StoreWriter

__all__ = [
    "BUILTIN_INDEXERS",
    "NAMESPACE_INDEX",
    "OWNER_INDEX",
    "Change",
    "Delta",
    "DeltaFIFO",
    "IndexFailure",
    "Indexer",
    "Popped",
    "Store",
    "StoreWriter",
    "Tombstone",
    "by_namespace",
    "by_owner_uid",
]
