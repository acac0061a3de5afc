"""Stats: an informer in numbers, at one moment."""

import msgspec

__all__ = ["InformerStats"]


class InformerStats(msgspec.Struct, frozen=True):
    """What a metrics exporter asks an informer for when it is scraped; how its handlers do, their registrations say.

    Attributes:
        objects: How many the store holds.
        size: The length of all their JSON in bytes; compressed where the informer is compact.
        queued: How many changes, snapshots and resyncs wait to get into the store.
        queue_high_water: The most that ever waited; of several namespaces, that of one of them.
        event_age: Seconds since the last object arrived; infinite before the first.
        relists: How many snapshots came after the first one.
        watch_restarts: How many watches were opened after the first one.
    """

    objects: int
    size: int
    queued: int
    queue_high_water: int
    event_age: float
    relists: int
    watch_restarts: int
