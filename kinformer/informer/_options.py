"""Options: the keywords of an informer, for those who pass them on."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final, Literal, TypedDict

from kinformer.clock import Clock
from kinformer.hooks import Hooks
from kinformer.informer._admission import MANAGED_FIELDS, Prune, Transform
from kinformer.reflector import Source
from kinformer.store import Indexer

__all__ = ["CacheOptions", "InformerOptions", "completed"]


class CacheOptions(TypedDict, total=False):
    """What the cache is to be like; see ``SharedInformer``."""

    queue: Literal["delta", "in-order"]
    indexers: Mapping[str, Indexer] | Iterable[tuple[str, Indexer]]
    prune: Prune | None
    transform: Transform | None
    resync: float
    compact: bool
    check_snapshots: bool


_DEFAULTS: Final[CacheOptions] = {
    "queue": "delta",
    "prune": MANAGED_FIELDS,
    "transform": None,
    "resync": 0.0,
    "compact": False,
    "check_snapshots": False,
}


def completed(options: CacheOptions) -> CacheOptions:
    """The same options with those that were left out, so that they can be compared; indexers as a dict."""
    return _DEFAULTS | options | {"indexers": dict(options.get("indexers", ()))}


class InformerOptions(CacheOptions, total=False):
    """All keywords of ``SharedInformer`` but the model."""

    name: str
    definitions: Source | None
    clock: Clock | None
    random: Random | None
    hooks: Hooks | None
