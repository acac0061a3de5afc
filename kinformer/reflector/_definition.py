"""Definition: hear of it when a kind that the server does not know is defined."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from kinformer.clock import Clock
from kinformer.meta import Resource
from kinformer.reflector._contracts import Source
from kinformer.reflector._sightings import Sighting, Sightings
from kinformer.reflector._stream import Stream

__all__ = ["Definition"]

_log = logging.getLogger("kinformer.reflector")

_TIMEOUT: Final = 60
"""``timeoutSeconds`` of a watch, which whoever waits for a kind gives up sooner."""

_PATIENCE: Final = 10.0
"""How long it takes to return where there is nothing to hear of."""

_BLIND: Final = 300.0
"""How long a watch that was refused, or broke, is not tried again."""

_LAG: Final = 2.0
"""Seconds for which a server may say that it serves a kind before it does."""

_FIRST_LAG: Final = 0.25


class Definition:
    """The definition of one kind, for somebody who waits for that kind to be served.

    There is a watch only while somebody is in ``arrive``. It begins with what there is, so nothing is missed between
    two calls. A watch that cannot be had is no failure of anything: it is not tried again for five minutes.

    Args:
        source: The CustomResourceDefinitions, or only the one.
        resource: The kind.
        admit: Waits until the server may be asked to open a watch.
        clock: The time.
    """

    def __init__(
        self, source: Source, resource: Resource, *, admit: Callable[[], Awaitable[None]], clock: Clock
    ) -> None:
        self._source = source
        self._resource = resource
        self._admit = admit
        self._clock = clock
        self._sightings = Sightings(resource)
        self._heard: float | None = None
        self._blind_until = clock.monotonic()

    @property
    def is_visible(self) -> bool:
        """Whether it is worth while to watch it now."""
        return self._clock.monotonic() >= self._blind_until

    async def arrive(self) -> None:
        """Return when the server may have begun to serve the kind.

        That is at once when its definition turns out to be established; then, while the server nevertheless says that
        there is no such kind, a few times in the next two seconds. Where there is nothing to hear of, after ten
        seconds or more. Cancelling it closes the watch.
        """
        lag = self._clock.monotonic() - self._heard if self._heard is not None else _LAG
        if lag < _LAG:
            await self._clock.sleep(max(lag, _FIRST_LAG))
            return
        await self._admit()
        async with Stream(self._source.watch(timeout=_TIMEOUT, bookmarks=False)) as stream:
            async for batch in stream:
                seen = [self._sightings.see(event) for event in batch]
                if Sighting.NEWS in seen:
                    self._heard = self._clock.monotonic()
                    return
                if Sighting.KNOWN in seen:
                    break
        if stream.failure is not None:
            self._blind_until = self._clock.monotonic() + _BLIND
            _log.debug("the definition of %s cannot be watched: %s", self._resource, stream.failure)
        await self._clock.sleep(_PATIENCE)
