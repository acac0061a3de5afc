"""Expectations: how much of what was asked for a cache must still show before more may be asked for. Pure."""

from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

__all__ = ["Expectations"]

K = TypeVar("K", bound=Hashable)


class Expectations(Generic[K]):
    """For each key, the creations and deletions of its dependents that have not been seen yet.

    For controllers that count what they own and make up the difference, in batches, as ReplicaSet does
    (kube-controller-manager's ``UIDTrackingControllerExpectations``). Where reads see the controller's own writes, which
    they do by default, this is needed only for batches that go on while others count.

    It is fed by a predicate (``when=``) of the one source that wakes the keys, which hears of each event before the key is
    queued, as in ``examples/06_replicaset.py``. With a second source of the same objects, such as ``owns`` beside it, a key
    might run before what it waits for has been counted, and not again.

    Invariant: no count is below zero; a key of which nothing is expected is not remembered.

    Args:
        timeout: Seconds after which nothing is expected any more: an event that has not come by then will not come.
    """

    def __init__(self, *, timeout: float = 300.0) -> None:
        self._timeout: Final = timeout
        self._creations: dict[K, int] = {}
        self._deletions: dict[K, set[str]] = {}
        self._since: dict[K, float] = {}

    def __len__(self) -> int:
        return len(self._since)

    def expect_creations(self, key: K, count: int, now: float) -> None:
        """``count`` more objects are about to be created.

        Raises:
            ValueError: The count is negative.
        """
        if count < 0:
            raise ValueError(f"count={count} must be zero or more")
        if count:
            self._creations[key] = self._creations.get(key, 0) + count
            self._since[key] = now

    def expect_deletions(self, key: K, uids: Iterable[str], now: float) -> None:
        """The objects of these uids are about to be deleted."""
        if expected := set(uids):
            self._deletions.setdefault(key, set()).update(expected)
            self._since[key] = now

    def saw_creation(self, key: K) -> None:
        """One was created, or its creation has failed; harmless where none is expected."""
        if key in self._creations:
            self._creations[key] -= 1
            self._tidy(key)

    def saw_deletion(self, key: K, uid: str) -> None:
        """One was deleted, has been seen to be going, or its deletion has failed; harmless where it is not expected."""
        if key in self._deletions:
            self._deletions[key].discard(uid)
            self._tidy(key)

    def forget(self, key: K) -> None:
        """The key is gone."""
        self._creations.pop(key, None)
        self._deletions.pop(key, None)
        self._since.pop(key, None)

    def are_met(self, key: K, now: float) -> bool:
        """Whether all has been seen, or too much time has passed: then it is time to count."""
        since = self._since.get(key)
        if since is not None and now - since >= self._timeout:
            self.forget(key)
        return key not in self._since

    def _tidy(self, key: K) -> None:
        if not self._creations.get(key):
            self._creations.pop(key, None)
        if not self._deletions.get(key):
            self._deletions.pop(key, None)
        if key not in self._creations and key not in self._deletions:
            self._since.pop(key, None)
