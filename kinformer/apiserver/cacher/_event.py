"""What the watch cache holds and tells: objects with their labels and fields, and changes of them.

``storeElement`` and ``watchCacheEvent`` of ``k8s.io/apiserver/pkg/storage/cacher``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kinformer.apiserver.storage import InconsistentError, KeyValue

__all__ = ["Attributes", "CacheEvent", "Element", "ReadAttributes"]


class Attributes(NamedTuple):
    """What selectors ask for.

    ``labels`` are the object's own; ``fields`` holds every field that can be selected by, under its path.
    """

    labels: Mapping[str, str]
    fields: Mapping[str, str]


ReadAttributes = Callable[[KeyValue], Attributes]
"""Reads them out of a stored object. It does not raise: what cannot be read has no labels and no fields."""


class Element:
    """A stored object in the watch cache.

    Labels and fields are read when the first selector asks for them, and then kept. Shared by lists, watches and
    events: read it, never change it.

    Args:
        value: What the storage holds.
        read: Reads its labels and fields.
    """

    __slots__ = ("_attributes", "_read", "value")

    def __init__(self, value: KeyValue, read: ReadAttributes) -> None:
        self.value = value
        self._read = read
        self._attributes: Attributes | None = None

    @property
    def key(self) -> str:
        """Its key in the storage."""
        return self.value.key

    @property
    def revision(self) -> int:
        """The revision that wrote it."""
        return self.value.mod_revision

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the object."""
        return self.attributes.labels

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields that it can be selected by."""
        return self.attributes.fields

    @property
    def attributes(self) -> Attributes:
        """Both, read once."""
        if self._attributes is None:
            self._attributes = self._read(self.value)
        return self._attributes

    def __repr__(self) -> str:
        return f"<{self.key} at {self.revision}>"


@dataclass(frozen=True, slots=True)
class CacheEvent:
    """One change of one object, as the watch cache took it in.

    Attributes:
        type: What it means to somebody who sees all objects.
        revision: The revision of the change; for a deletion that of the delete.
        key: The object's key in the storage.
        current: The object now; ``None`` when it was deleted.
        previous: The object before; ``None`` when it was created.
        time: When it was taken in, on the clock's ``monotonic``.
    """

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    revision: int
    key: str
    current: Element | None
    previous: Element | None
    time: float

    @classmethod
    def of(
        cls, revision: int, key: str, current: Element | None, previous: Element | None, *, time: float
    ) -> "CacheEvent":
        """The event of a change.

        Raises:
            InconsistentError: Nothing was there before, and nothing is there now.
        """
        if current is not None:
            return cls("MODIFIED" if previous else "ADDED", revision, key, current, previous, time)
        if previous is not None:
            return cls("DELETED", revision, key, None, previous, time)
        raise InconsistentError(f"revision {revision} deletes {key!r}, which is not there")

    @property
    def shown(self) -> Element:
        """The object that tells of the change: as it is now, or as it was before it was deleted."""
        shown = self.current or self.previous
        assert shown is not None  # noqa: S101 -- no event is made without
        return shown
