"""ProgressSupport: whether the storage can say how far its watches have come, on which consistent reads depend.

The part of ``feature.FeatureSupportChecker`` (``k8s.io/apiserver/pkg/storage/feature``) that has something to ask here.
"""

import math
from typing import Final

from kinformer.apiserver.storage import KV, UnavailableError
from kinformer.clock import Clock

__all__ = ["ProgressSupport"]

_RECHECK: Final = 600.0
"""Seconds until a storage that could not is asked again: it may have been upgraded meanwhile."""


class ProgressSupport:
    """Asks a storage until it can, and then no more.

    Args:
        kv: The storage.
        clock: What the time between two questions is measured on.
        known: The answer, where it is known; ``None`` asks.
    """

    def __init__(self, kv: KV, *, clock: Clock, known: bool | None = None) -> None:
        self._kv = kv
        self._clock = clock
        self._is_there = bool(known)
        self._ask_at = -math.inf if known is None else math.inf

    async def is_there(self) -> bool:
        """Whether it can. Nobody is asked again within ten minutes; but one that cannot be reached is, each time."""
        if not self._is_there and self._clock.monotonic() >= self._ask_at:
            try:
                self._is_there = await self._kv.tells_progress()
            except UnavailableError:
                return False
            self._ask_at = self._clock.monotonic() + _RECHECK
        return self._is_there
