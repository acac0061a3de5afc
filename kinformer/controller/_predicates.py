"""Predicates: which notifications are worth a reconcile. Pure.

All of them pass additions and deletions, and updates in which nothing differs, which are resyncs: what is dropped is
only ever an update that changes other things.
"""

from collections.abc import Callable

from kinformer.controller._sources import Predicate
from kinformer.informer import Notification, Updated
from kinformer.meta import Object, ObjectMeta

__all__ = ["annotations_changed", "any_of", "generation_changed", "labels_changed"]


def generation_changed(notification: Notification[Object]) -> bool:
    """A predicate: pass updates that change what is wanted, and drop those that only report, such as of status.

    An update passes where the generation, the finalizers or the deletion timestamp differ; where the kind has no
    generation, as ConfigMap and Secret have none; and where nothing differs at all, which is a resync. Additions and
    deletions always pass. Changes of labels and annotations alone do not.
    """
    if not isinstance(notification, Updated):
        return True
    old, new = notification.old.metadata, notification.new.metadata
    return not new.generation or old.resource_version == new.resource_version or _wish(old) != _wish(new)


def labels_changed(notification: Notification[Object]) -> bool:
    """A predicate: pass updates that change labels."""
    return _differs(notification, lambda metadata: metadata.labels)


def annotations_changed(notification: Notification[Object]) -> bool:
    """A predicate: pass updates that change annotations."""
    return _differs(notification, lambda metadata: metadata.annotations)


def any_of(*predicates: Predicate) -> Predicate:
    """A predicate that passes what one of these passes; several in ``when=`` must all pass.

    ``when=any_of(generation_changed, labels_changed)``

    Raises:
        TypeError: One cannot be called.
        ValueError: There is none, so that nothing would pass.
    """
    if not predicates:
        raise ValueError("any_of() needs at least one predicate: without any, nothing would pass")
    for predicate in predicates:
        if not callable(predicate):
            raise TypeError(f"any_of() takes functions, not {predicate!r}")

    def passes(notification: Notification[Object]) -> bool:
        return any(predicate(notification) for predicate in predicates)

    return passes


def _differs(notification: Notification[Object], what: Callable[[ObjectMeta], object]) -> bool:
    if not isinstance(notification, Updated):
        return True
    old, new = notification.old.metadata, notification.new.metadata
    return old.resource_version == new.resource_version or what(old) != what(new)


def _wish(metadata: ObjectMeta) -> tuple[object, ...]:
    return metadata.uid, metadata.generation, metadata.finalizers, metadata.deletion_timestamp
