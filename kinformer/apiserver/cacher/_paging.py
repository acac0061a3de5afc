"""Paging: a piece of a list, from what is held or from what is read bit by bit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kinformer.apiserver.cacher._delegation import Matches
from kinformer.apiserver.cacher._event import Element

__all__ = ["Cut", "Page", "next_step"]

_MOST_KEYS: Final = 10_000
"""The most keys that one read of the storage takes because the read before did not find enough."""


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a list.

    Attributes:
        items: The objects, in order of their keys.
        revision: That of the state which they show.
        start: The key at which the rest begins; ``""`` where nothing is left.
        remaining: How many objects the rest has; ``None`` where that is not said: with a selector it is not known.
    """

    items: Sequence[Element]
    revision: int
    start: str = ""
    remaining: int | None = None


class Cut:
    """The first objects of a list that match, from its pieces.

    Args:
        limit: How many; 0 means all.
        matches: Which; ``None`` means all.

    Attributes:
        evaluated: How many objects were looked at.
    """

    def __init__(self, limit: int, matches: Matches | None) -> None:
        self._limit = limit
        self._matches = matches
        self._items: list[Element] = []
        self._start = ""
        self._remaining: int | None = None
        self.evaluated = 0

    def take(self, elements: Iterable[Element], count: int) -> bool:
        """Look at the next objects; whether that is enough.

        Args:
            elements: The objects.
            count: How many there are from the first of them to the end of the list.
        """
        for seen, element in enumerate(elements, 1):
            self.evaluated += 1
            if self._matches is not None and not self._matches(element):
                continue
            self._items.append(element)
            if len(self._items) == self._limit:
                if seen < count:  # matching or not: what follows was not looked at
                    self._start = f"{element.key}\0"
                    self._remaining = count - seen if self._matches is None else None
                return True
        return False

    def page(self, revision: int) -> Page:
        """What was found, as part of the state at a revision."""
        return Page(self._items, revision, self._start, self._remaining)


def next_step(step: int) -> int:
    """How many keys to read next, when the last ``step`` did not hold enough that match.

    It doubles up to 10,000, so that a match far behind costs few reads; who asks for more than that gets no more.
    """
    return max(step, min(2 * step, _MOST_KEYS))
