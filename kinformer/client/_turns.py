"""Turns: who waits for a token, in the order in which they came."""

from collections import deque
from typing import Final

import anyio

from kinformer.client._rate_limit import Bucket, RateLimit
from kinformer.clock import Clock

__all__ = ["Turns"]


class Turns:
    """Gives out the tokens of one bucket, first come, first served.

    Only the first in line looks at the bucket, so nobody overtakes; it takes its token as the last thing it does, so
    that whoever is cancelled while waiting has taken none, and the next in line moves up at once.
    """

    __slots__ = ("_bucket", "_clock", "_line")

    def __init__(self, limit: RateLimit, clock: Clock) -> None:
        self._bucket: Final = Bucket(limit)
        self._clock: Final = clock
        self._line: Final = deque[anyio.Event]()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._line)

    async def take(self) -> None:
        """Wait for a token and take it; at once where there is one and nobody waits for it."""
        if not self._line and self._bucket.take(self._clock.monotonic()):
            return
        place = anyio.Event()
        self._line.append(place)
        try:
            if self._line[0] is not place:
                await place.wait()
            while not self._bucket.take(now := self._clock.monotonic()):
                await self._clock.sleep(self._bucket.wait(now))
        finally:
            self._line.remove(place)
            if self._line:
                self._line[0].set()
