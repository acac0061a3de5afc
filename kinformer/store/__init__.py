"""What we hold in memory: store, indexers, delta queues. Pure: nothing here waits."""

from kinformer.store._content import IndexFailure
from kinformer.store._delta_fifo import DeltaFIFO
from kinformer.store._deltas import Change, Delta, Difference, Removed, Stored, Tombstone
from kinformer.store._in_order_fifo import InOrderFIFO
from kinformer.store._indexer import (
    BUILTIN_INDEXERS,
    NAMESPACE_INDEX,
    OWNER_INDEX,
    Indexer,
    by_namespace,
    by_owner_uid,
)
from kinformer.store._queue import DeltaQueue, Item, Replacement, Resync
from kinformer.store._relist import Relist
from kinformer.store._store import Store
from kinformer.store._union import UnionStore
from kinformer.store._writer import StoreWriter

__all__ = [
    "BUILTIN_INDEXERS",
    "NAMESPACE_INDEX",
    "OWNER_INDEX",
    "Change",
    "Delta",
    "DeltaFIFO",
    "DeltaQueue",
    "Difference",
    "InOrderFIFO",
    "IndexFailure",
    "Indexer",
    "Item",
    "Relist",
    "Removed",
    "Replacement",
    "Resync",
    "Store",
    "StoreWriter",
    "Stored",
    "Tombstone",
    "UnionStore",
    "by_namespace",
    "by_owner_uid",
]
