"""Changes for the tests of watchers: objects whose label is their value."""

from kinformer.apiserver.cacher import Attributes, CacheEvent, Element
from kinformer.apiserver.cacher._encoded import Bookmark, Encoded, Selected
from kinformer.apiserver.storage import KeyValue

PREFIX = "/registry/core/pods/"


def element(revision: int, label: str = "x", key: str = "default/a") -> Element:
    value = KeyValue(PREFIX + key, label.encode(), revision, revision, 1)
    return Element(value, lambda value: Attributes({"on": value.value.decode()}, {}))


def change(
    revision: int, label: str | None = "x", before: str | None = None, *, key: str = "default/a"
) -> CacheEvent:
    """A change of an object from one label to another; ``None`` where there is none."""
    current = None if label is None else element(revision, label, key)
    previous = None if before is None else element(revision - 1, before, key)
    return CacheEvent.of(revision, PREFIX + key, current, previous, time=0.0)


def encoded(revision: int, label: str | None = "x", before: str | None = None) -> Encoded:
    return Encoded(change(revision, label, before))


def is_on(element: Element) -> bool:
    return element.labels["on"] == "yes"


def told(items: list[Selected | Bookmark]) -> list[tuple[str, int]]:
    """What a watcher was told: types and versions; ``END`` for the bookmark that ends initial events."""
    return [
        (
            item.type if isinstance(item, Selected) else "END" if item.ends_initial_events else "BOOKMARK",
            item.version,
        )
        for item in items
    ]
