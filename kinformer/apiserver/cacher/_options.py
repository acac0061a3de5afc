"""CacheOptions: what can be set of the watch cache."""

from dataclasses import dataclass

from kinformer.apiserver.cacher._budget import MOST_BUDGET
from kinformer.apiserver.cacher._freshness import BLOCK_TIMEOUT
from kinformer.apiserver.cacher._history import FRESH, History

__all__ = ["CacheOptions"]


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """How the caches of a server behave. The defaults are kube-apiserver's, but for those that say otherwise.

    Attributes:
        lowest: How many events the history of a resource holds at least.
        highest: How many it holds at most; ``None`` follows from ``window``.
        window: Seconds that events should be kept, at least 75.
        timeout: Seconds that a read waits for a revision.
        falls_back: Whether a consistent read that has waited in vain is answered from the storage. Otherwise it gets a
            429 (``ConsistentListFromCacheSkipTimeoutFallback``).
        compaction_period: Seconds for which the past may be read from a cache though the storage has compacted it
            away meanwhile. kube-apiserver looks every 15 seconds; with 0 each read of the past looks, at the price of
            one read of a single key.
        looks_back: Whether a cache begins with the last 10,000 revisions of the storage, as far as it knows them and can say
            how far it has come, so that a watch can begin before the cache was made. kube-apiserver makes all caches
            when it starts, and has nothing from before.
        check_period: Seconds between two comparisons of each cache with the storage; ``None`` makes none, and so sets no
            timer. kube-apiserver makes one about every five minutes.
        progress_supported: Whether the storage can say how far it has come. ``None`` asks it, and asks again every ten
            minutes while it cannot.
        queue_size: The size of a watcher's two queues, which hold twice as many events and one; ``None`` takes what comes
            in a second when the history is as full as it gets, between 10 and 100.
        dispatch_budget: The most seconds that slow watchers are waited for before they are ended; earned by 50 ms in
            each second. Whoever lags gets some turns of the event loop in any case.
        repeats_bookmarks: Whether a watch gets bookmarks though nothing has happened since it began, or though it began
            with a revision of the future. kube-apiserver sends none then, which clients cannot tell from a dead
            connection, nor from a server that was restored from a backup.
    """

    lowest: int = 100
    highest: int | None = None
    window: float = FRESH
    timeout: float = BLOCK_TIMEOUT
    falls_back: bool = True
    compaction_period: float = 0.0
    looks_back: bool = True
    check_period: float | None = None
    progress_supported: bool | None = None
    queue_size: int | None = None
    dispatch_budget: float = MOST_BUDGET
    repeats_bookmarks: bool = True

    def __post_init__(self) -> None:
        self.history()
        if self.queue_size is not None and self.queue_size < 1:
            raise ValueError(
                f"queue_size {self.queue_size} must be at least 1: nobody could be told anything"
            )
        if self.check_period is not None and self.check_period <= 0:
            raise ValueError(f"check_period {self.check_period} must be positive, or None")
        if self.dispatch_budget < 0:
            raise ValueError(f"dispatch_budget {self.dispatch_budget} must not be negative")

    def history(self) -> History:
        """A history of this size.

        Raises:
            ValueError: The numbers make no sense.
        """
        return History(lowest=self.lowest, highest=self.highest, window=self.window)
