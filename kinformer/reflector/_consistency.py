"""Consistency: compare snapshots with an exact LIST of their version (client-go's ``consistencydetector``)."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from kinformer.clock import Clock
from kinformer.errors import ExpiredError, InconsistencyError
from kinformer.meta import ANY, LATEST, Object, ObjectList, Record
from kinformer.reflector._contracts import Source
from kinformer.reflector._difference import compare

__all__ = ["ConsistencyDetector"]

_log = logging.getLogger("kinformer.reflector")

_PAUSE: Final = 1.0
"""Seconds between two tries of the LIST."""


class ConsistencyDetector:
    """Asks the server once more for what a snapshot holds, and raises where it says something else.

    Holds the newest snapshot only; one that comes before the last was compared takes its place.

    Args:
        source: Where the snapshots are from.
        admit: Waits until the server may be asked for a list.
        clock: The time.
    """

    def __init__(self, source: Source, *, admit: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._source = source
        self._admit = admit
        self._clock = clock
        self._snapshot: tuple[Sequence[Record], str] | None = None
        self._noted = anyio.Event()

    def note(self, records: Sequence[Record], version: str) -> None:
        """Have a snapshot compared; one without a version of its own cannot be asked for again."""
        if version not in (ANY, LATEST):
            self._snapshot = records, version
            self._noted.set()

    async def run(self) -> None:
        """Compare until cancelled.

        Raises:
            InconsistencyError: A snapshot is not what the server says it was at that version.
        """
        while True:
            while self._snapshot is not None:
                await self._check(*self._snapshot)
            self._noted = anyio.Event()
            await self._noted.wait()

    async def _check(self, records: Sequence[Record], version: str) -> None:
        await self._admit()
        found = await self._list(version)
        if isinstance(found, ObjectList):
            difference = compare(records, found.records)
            if difference:
                raise InconsistencyError(
                    f"the snapshot of {self._source.resource} at version {version} differs from a LIST of that version: "
                    f"{difference}"
                )
            _log.debug("%s at version %s: as the server says", self._source.resource, version)
        elif isinstance(found, ExpiredError):
            _log.warning("%s at version %s: too late to compare: %s", self._source.resource, version, found)
        else:
            await self._clock.sleep(_PAUSE)
            return
        if self._snapshot is not None and self._snapshot[1] == version:
            self._snapshot = None

    async def _list(self, version: str) -> ObjectList[Object] | Exception:
        try:
            return await self._source.list(version=version, version_match="Exact")
        except Exception as error:  # noqa: BLE001 -- a source must not end the reflector
            return error
