"""Parking: the keys that failed too often and wait for something to happen to them."""

import logging
from collections.abc import Hashable
from typing import Generic, TypeVar

from kinformer.workqueue._meter import Meter
from kinformer.workqueue._snapshot import ParkedKey

__all__ = ["Parking"]

K = TypeVar("K", bound=Hashable)

logger = logging.getLogger("kinformer.workqueue")


class Parking(Generic[K]):
    """Keeps parked keys, and tells the log and the hooks of each that comes or goes.

    Attributes:
        keys: The parked keys, in the order in which they were parked; to be looked at only.
    """

    __slots__ = ("_meter", "_name", "keys")

    def __init__(self, name: str, meter: Meter[K] | None) -> None:
        self._name = name
        self._meter = meter
        self.keys: dict[K, ParkedKey[K]] = {}

    def park(self, key: K, now: float, attempts: int, error: Exception | None) -> None:
        """Park ``key``, which has failed ``attempts`` times, lastly with ``error``."""
        words = _words(error)
        self.keys[key] = ParkedKey(key, now, attempts, words)
        logger.warning(
            "%s: %s failed %d times and is parked until something happens to it: %s",
            self._name,
            key,
            attempts,
            words or "no error was told",
            extra={"queue": self._name, "key": str(key), "attempt": attempts},
        )
        if self._meter is not None:
            self._meter.parked(len(self.keys), attempts, words)

    def resume(self, key: K) -> None:
        """Park ``key`` no more. Harmless where it is not parked."""
        if self.keys.pop(key, None) is None:
            return
        if not self.keys:
            self.keys.clear()  # gives the table back, which a dict that shrinks to nothing keeps
        if self._meter is not None:
            self._meter.resumed(len(self.keys))


def _words(error: Exception | None) -> str:
    if error is None:
        return ""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 -- the text of an error is the user's code; its key must not be lost for it
        return f"{type(error).__name__}, whose text failed"
