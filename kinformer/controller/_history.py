"""History: what is known of keys between their runs, for logs: what woke them, and how they failed last. Pure."""

from collections.abc import Hashable
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import Object, ObjectKey, Resource

__all__ = ["Cause", "History", "Reason", "reason_of"]

K = TypeVar("K", bound=Hashable)

_REASONS: Final = 8
"""How many different reasons a key remembers; more would tell nobody more."""

Cause: TypeAlias = Literal[
    "listed", "added", "updated", "resynced", "deleted", "triggered", "retried", "requeued", "taken over"
]
"""What happened."""


class Reason(NamedTuple):
    """Why a key is looked at: for people who read logs, not for decisions, since not every reason is remembered.

    Attributes:
        cause: What happened: to an object, or to the key itself.
        resource: The object's resource; ``None`` where it was no object.
        key: The object's key, likewise.
    """

    cause: Cause
    resource: Resource | None = None
    key: ObjectKey | None = None

    def __str__(self) -> str:
        return self.cause if self.resource is None else f"{self.resource.kind} {self.key} {self.cause}"


class History(Generic[K]):
    """The reasons of each key that waits for a run, and the last error of each that has not succeeded since.

    Invariant: a key is in it only while it waits, or fails; so it is as large as the queue and the trouble are.
    """

    def __init__(self) -> None:
        self._reasons: dict[K, tuple[Reason, ...]] = {}
        self._errors: dict[K, str] = {}

    def add(self, key: K, reason: Reason) -> None:
        """Note one more reason for the next run; the first of them are kept, each once."""
        known = self._reasons.get(key, ())
        if len(known) < _REASONS and reason not in known:
            self._reasons[key] = (*known, reason)

    def take(self, key: K) -> tuple[Reason, ...]:
        """The reasons for the run that begins now; those to come are the next one's."""
        return self._reasons.pop(key, ())

    def failed(self, key: K, error: Exception) -> None:
        """Note an error, in words: the exception would keep all objects of its run alive."""
        self._errors[key] = repr(error)

    def succeeded(self, key: K) -> None:
        """Forget the error."""
        self._errors.pop(key, None)

    def last_error(self, key: K) -> str:
        """The last error in words, ``""`` where there is none, or a success since."""
        return self._errors.get(key, "")

    def __len__(self) -> int:
        return len(self._reasons) + len(self._errors)


def reason_of(resource: Resource, notification: Notification[Object]) -> Reason:
    """Say what a notification tells."""
    match notification:
        case Added(obj=obj, is_initial=is_initial):
            return Reason("listed" if is_initial else "added", resource, obj.key)
        case Updated(old=old, new=new):
            is_same = old.metadata.resource_version == new.metadata.resource_version
            return Reason("resynced" if is_same else "updated", resource, new.key)
        case Deleted(obj=obj):
            return Reason("deleted", resource, obj.key)
