"""Ingest: the informer's end of the reflector. It puts what comes in into the queue."""

from collections.abc import Callable, Collection, Iterable, Sequence

from kinformer.informer._admission import Admission
from kinformer.meta import ObjectKey, Record, WatchEvent
from kinformer.store import Change, Delta, DeltaQueue

__all__ = ["Ingest"]


class Ingest:
    """A ``Sink`` in front of a delta queue.

    What an event brings is admitted here, which costs the reflector's task its time and so holds back a stream that
    is too fast. What a list brings is admitted when its turn comes, and only where it is news: a snapshot would hold
    the event loop. Of an object that cannot be admitted the last good state stays, and its deletion shows that one.

    Args:
        queue: Where everything goes.
        admit: Shapes what is kept.
        changed: Called after the queue has taken something.
        resync: Called when it is time to look who is due for a resync.
    """

    def __init__(
        self,
        queue: DeltaQueue,
        *,
        admit: Admission,
        changed: Callable[[], None],
        resync: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._admit = admit
        self._changed = changed
        self._resync = resync
        self.lists = 0
        """How many snapshots came."""

    def replace(self, records: Iterable[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        """Take a whole snapshot; what is known of ``kept`` stays."""
        self.lists += 1
        self._queue.replace(records, version, kept=kept)
        self._changed()

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        """Take changes in order."""
        for delta in [Delta.of(event) for event in events]:
            self._take(delta)
        self._queue.publish(version)
        self._changed()

    def resync(self) -> None:
        """Look who is due."""
        self._resync()

    def _take(self, delta: Delta) -> None:
        record = None if delta.record is None else self._admit(delta.record)
        if record is delta.record:
            self._queue.add(delta)
        elif record is not None or delta.change is Change.DELETED:
            self._queue.add(Delta(delta.change, delta.key, record))
