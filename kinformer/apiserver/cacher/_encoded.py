"""Encoded: a change on its way to those who watch, made once for each form in which somebody wants it.

``cachingObject`` of ``k8s.io/apiserver/pkg/storage/cacher``. The history keeps the change alone: what was made of it is
let go of with the last reader, and somebody who replays the past makes it anew.
"""

from collections.abc import Callable, Hashable
from typing import Any, Self, TypeVar

from kinformer.apiserver.cacher._event import CacheEvent, Element
from kinformer.apiserver.cacher._selection import EventType, select

__all__ = ["Bookmark", "Encoded", "Forms", "Matches", "Selected"]

T = TypeVar("T")

Matches = Callable[[Element], bool]
"""Whether an object is selected. It does not raise."""


class Forms:
    """What was made of something, each form when the first asks for it.

    A failure is not kept: whoever asks next meets it again.
    """

    __slots__ = ("_forms",)

    def __init__(self) -> None:
        self._forms: dict[Hashable, Any] = {}  # who asks for a name knows what it means

    def form(self, name: Hashable, make: Callable[[Self], T]) -> T:
        """The form of a name that never means two things, made of this by ``make`` where there is none."""
        try:
            made: T = self._forms[name]
        except KeyError:
            made = self._forms[name] = make(self)
        return made


class Selected(Forms):
    """A change as all those see it whom it shows the same.

    Attributes:
        type: What it means to them.
        element: The object to show: for a DELETED the last state that was part of the selection.
        version: The revision to stamp on it, always that of the change.
    """

    __slots__ = ("element", "type", "version")

    def __init__(self, kind: EventType, element: Element, version: int) -> None:
        super().__init__()
        self.type = kind
        self.element = element
        self.version = version

    def __repr__(self) -> str:
        return f"<{self.type} {self.element.key} at {self.version}>"


class Bookmark(Forms):
    """That all changes up to a revision have been told.

    Attributes:
        version: The revision.
        ends_initial_events: Whether it is the one that ends the initial events of a watch-list.
    """

    __slots__ = ("ends_initial_events", "version")

    def __init__(self, version: int, *, ends_initial_events: bool = False) -> None:
        super().__init__()
        self.version = version
        self.ends_initial_events = ends_initial_events

    def __repr__(self) -> str:
        return f"<BOOKMARK at {self.version}{', of initial events' if self.ends_initial_events else ''}>"


class Encoded:
    """A change under way: all who see it as the same share one ``Selected``, and so its forms."""

    __slots__ = ("_selected", "event")

    def __init__(self, event: CacheEvent) -> None:
        self.event = event
        self._selected: dict[EventType | None, Selected] = {}

    def select(self, matches: Matches | None) -> Selected | None:
        """What a watcher with these selectors sees of it; ``None`` when it sees nothing. No selectors see all."""
        event = self.event
        kind = event.type if matches is None else select(event, matches)
        found = self._selected.get(kind)
        if found is None and kind is not None:
            element = event.previous if kind == "DELETED" else event.current
            assert element is not None  # noqa: S101 -- select() has looked at it
            found = self._selected[kind] = Selected(kind, element, event.revision)
        return found
