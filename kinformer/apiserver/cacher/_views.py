"""Views: one object made for all who look, so that a change is decoded and serialised once."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from kinformer.apiserver.cacher._stored import StoredObject

__all__ = ["Views"]

_SIZE: Final = 4096


class Views:
    """The objects that were shown last, bounded by number; what fell out is simply made again.

    Args:
        size: How many to keep. They are held with their decoded body where somebody asked for it.
    """

    def __init__(self, size: int = _SIZE) -> None:
        self._size = size
        self._views: OrderedDict[Hashable, StoredObject] = OrderedDict()

    def __len__(self) -> int:
        return len(self._views)

    def get(self, key: Hashable, make: Callable[[], StoredObject]) -> StoredObject:
        """The view under a key that never means two things, made by ``make()`` where there is none."""
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = make()
            if len(self._views) > self._size:
                self._views.popitem(last=False)
        else:
            self._views.move_to_end(key)
        return view
