"""Takeover: looks at the keys that come to be ours when another member has gone."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import anyio

from kinformer.controller._ring import Ring
from kinformer.controller._shard import Shard
from kinformer.controller._sources import EventSource
from kinformer.errors import ClosedError
from kinformer.informer import Added, Notification, SharedInformer
from kinformer.meta import Object, ObjectKey

__all__ = ["Spring", "Takeover"]


class Spring(NamedTuple):
    """Where keys come from: an enqueue rule and the cache that it goes by, in one cluster."""

    cluster: str
    source: EventSource
    informer: SharedInformer[Object]


class Takeover:
    """Gives each key that comes to be ours, from what the caches hold, as a start does.

    What another member has heard of a key, and not done yet, it forgets when the key is not its own any more; and until
    then we have heard of the key and forgotten it as well. So all objects are looked at again, once for each time that a
    member is gone, and the keys that were not ours all the time are given.

    Invariant: whatever was ours in each ring of ``_rings`` has been given, or was given from the start.

    Args:
        shard: What is ours.
        springs: What there is to look at.
        give: Called with a cluster and a key.
    """

    def __init__(
        self, shard: Shard, springs: Sequence[Spring], give: Callable[[str, ObjectKey], None]
    ) -> None:
        self._shard = shard
        self._springs = springs
        self._give = give
        self._rings: list[Ring] = [shard.ring]
        self._changed = anyio.Event()
        shard.heed(self._note)

    async def run(self) -> None:
        """Look around each time that a member is gone; for ever."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            known = len(self._rings)
            if any(set(ring.members) - set(self._shard.ring.members) for ring in self._rings):
                await self._look_around()
            del self._rings[: known - 1]

    def _note(self) -> None:
        self._rings.append(self._shard.ring)
        self._changed.set()

    async def _look_around(self) -> None:
        for spring in self._springs:
            with suppress(ClosedError):  # an informer has failed; its own error, which is on its way, ends us
                registration = spring.informer.add_handler(self._taker(spring), name="takeover")
                try:
                    await registration.wait_synced()
                finally:
                    spring.informer.remove_handler(registration)

    def _taker(self, spring: Spring) -> Callable[[Notification[Object]], None]:
        def take(notification: Notification[Object]) -> None:
            if isinstance(notification, Added):
                for key in spring.source.keys_of(notification):
                    if self._shard.owns(key) and not all(self._shard.owns(key, ring) for ring in self._rings):
                        self._give(spring.cluster, key)

        return take
