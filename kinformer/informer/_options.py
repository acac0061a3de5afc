"""Options: the keywords of an informer, for those who pass them on."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Literal, TypedDict

from kinformer.clock import Clock
from kinformer.hooks import Hooks
from kinformer.informer._admission import Prune, Transform
from kinformer.reflector import Source
from kinformer.store import Indexer

__all__ = ["CacheOptions", "InformerOptions"]


class CacheOptions(TypedDict, total=False):
    """What the cache is to be like; see ``SharedInformer``."""

    queue: Literal["delta", "in-order"]
    indexers: Mapping[str, Indexer] | Iterable[tuple[str, Indexer]]
    prune: Prune | None
    transform: Transform | None
    resync: float
    compact: bool
    check_snapshots: bool


class InformerOptions(CacheOptions, total=False):
    """All keywords of ``SharedInformer`` but the model."""

    name: str
    definitions: Source | None
    clock: Clock | None
    random: Random | None
    hooks: Hooks | None
