"""DeltaFIFO: keys in the order in which they changed, each with all that happened to it since it was last taken.

Between two barriers it behaves as client-go's ``DeltaFIFO``; a snapshot is a barrier, where client-go spreads it over
the keys.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from kinformer.meta import ObjectKey
from kinformer.store._deltas import Change, Delta, fold
from kinformer.store._queue import Barrier, DeltaQueue, Replacement, Stretch
from kinformer.store._store import Store

__all__ = ["DeltaFIFO"]


class DeltaFIFO(DeltaQueue):
    """Pending deltas by key. A ``pop`` gives out the key that has waited longest, with all its deltas, oldest first.

    A deletion of a key that neither the queue nor the store knows is ignored. On a relist deletions are told last.

    Invariant: besides that of every ``DeltaQueue``, no two deletions of a key follow each other.

    Args:
        known: The store that everything goes to.
    """

    _deletes_first = False

    def __init__(self, known: Store) -> None:
        super().__init__()
        self._known = known

    def add(self, delta: Delta) -> None:
        """Take one change, without a version; a deletion of an unknown key is ignored."""
        if delta.change is Change.DELETED and not self._may_hold(delta.key):
            self._populate()
        else:
            super().add(delta)

    def _may_hold(self, key: ObjectKey) -> bool:
        """Whether the store will hold the key when its turn comes; of a snapshot that cannot be told."""
        if key in self._known or self._in_hand is not None:
            return True
        return any(
            isinstance(one.item, Replacement)
            if isinstance(one, Barrier)
            else isinstance(one, _ByKey) and key in one
            for one in self._waiting
        )

    def _stretch(self) -> Stretch:
        return _ByKey()


class _ByKey:
    """Deltas by key, keys in the order of their oldest delta."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: Final[OrderedDict[ObjectKey, _Entry]] = OrderedDict()

    @property
    def oldest(self) -> int:
        return next(iter(self._entries.values())).number

    def add(self, number: int, delta: Delta) -> bool:
        entry = self._entries.get(delta.key)
        if entry is not None:
            return fold(entry.deltas, delta)
        self._entries[delta.key] = _Entry(number, delta)
        return True

    def take(self) -> Sequence[Delta]:
        return self._entries.popitem(last=False)[1].deltas

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries


class _Entry:
    """The pending deltas of one key, and the number of the oldest."""

    __slots__ = ("deltas", "number")

    def __init__(self, number: int, delta: Delta) -> None:
        self.number = number
        self.deltas = [delta]
