"""Delegation: which lists the watch cache answers, and which the storage.

The tables of ``delegator.ShouldDelegateList`` and ``CacheDelegator.GetList`` (``k8s.io/apiserver/pkg/storage/cacher``).
https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from kinformer.apiserver.cacher._continue import Position
from kinformer.apiserver.cacher._event import Element
from kinformer.apiserver.storage import KeyRange

__all__ = ["ListRequest", "Route", "delegate", "may_bypass"]

Matches = Callable[[Element], bool]


class Route(Enum):
    """Who answers a list."""

    CACHE = "cache"
    """The cache, once it is as new as what was asked for."""
    EXACT = "exact"
    """The cache, with the state at the revision that was asked for."""
    CONSISTENT = "consistent"
    """The cache, once it is as new as the storage is now."""
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A list, as far as it matters who answers it and how.

    Attributes:
        keys: Which objects.
        revision: ``resourceVersion``; ``None`` where it is not given.
        match: ``resourceVersionMatch``; ``""`` where it is not given.
        limit: The most objects; 0 means all.
        position: Where to go on, from a continue token.
        matches: Which of them; ``None`` means all.
        is_single: Whether the keys are that of one object.
    """

    keys: KeyRange
    revision: int | None = None
    match: Literal["", "Exact", "NotOlderThan"] = ""
    limit: int = 0
    position: Position | None = None
    matches: Matches | None = None
    is_single: bool = False

    @property
    def exact(self) -> int:
        """The revision of which the state is wanted, and no other; 0 where there is none."""
        if self.position is not None:
            return max(0, self.position.revision)
        if self.match == "Exact" or (not self.match and self.limit > 0):
            return self.revision or 0
        return 0

    @property
    def rest(self) -> KeyRange:
        """The keys from the position on."""
        return self.keys.behind(self.keys.start + (self.position.start if self.position else ""))

    @property
    def minimum(self) -> int:
        """The revision than which the answer must not be older; 0 where any will do."""
        return self.revision or 0

    @property
    def is_consistent(self) -> bool:
        """Whether the answer must be as new as the storage is now."""
        if self.position is not None:
            return self.position.revision <= 0
        return self.revision is None

    @property
    def most(self) -> int:
        """The most objects to give: a list of whatever is there pays no heed to its limit."""
        is_any = self.position is None and self.revision == 0
        return 0 if is_any else self.limit


def delegate(
    request: ListRequest, *, revision: int, has: Callable[[int], bool], tells_progress: bool
) -> Route:
    """Who answers a list.

    Args:
        request: The list.
        revision: How far the cache has seen.
        has: Whether the cache can show the state at a revision.
        tells_progress: Whether the storage can say how far its watches have come.
    """
    if request.is_single and (request.position is not None or request.exact):
        return Route.STORAGE
    if request.exact > revision:
        return Route.EXACT if tells_progress else Route.STORAGE
    if request.exact:
        return Route.EXACT if has(request.exact) else Route.STORAGE
    if request.is_consistent:
        return Route.CONSISTENT if tells_progress else Route.STORAGE
    return Route.CACHE


def may_bypass(request: ListRequest) -> bool:
    """Whether the storage answers while the cache is not ready: only what costs it little."""
    return request.limit > 0 and request.matches is None
