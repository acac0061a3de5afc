"""Feed: one source on its way into one store."""

import logging
import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from random import Random
from typing import Any, Final, Literal

from kinformer.client import ResourceClient
from kinformer.clock import Clock
from kinformer.hooks import Hooks, ObjectQuarantined
from kinformer.informer._admission import Admission
from kinformer.informer._compact_source import CompactSource
from kinformer.informer._ingest import Ingest
from kinformer.informer._listener import Listener
from kinformer.informer._pace import PacedSource
from kinformer.informer._pump import Pump
from kinformer.informer._stats import InformerStats
from kinformer.meta import Record
from kinformer.reflector import Ages, Condition, Reflector, Source
from kinformer.store import BUILTIN_INDEXERS, DeltaFIFO, Indexer, InOrderFIFO, Store, StoreWriter
from kinformer.tasks import open_task_group

__all__ = ["Feed"]

_log: Final = logging.getLogger("kinformer.informer")


class Feed:
    """A reflector, the queue that it fills, the store, and the pump from the one to the other.

    Args:
        source: What to read.
        listeners: Who is told, at any time.
        name: For logs and hooks.
        queue: See ``SharedInformer``; so are the other options.
        indexers: Besides the built-in ones.
        admit: Shapes what is kept.
        resync: Called when it is time to look who is due for a resync.
        check_snapshots: For the reflector.
        definitions: For the reflector.
        clock: The time.
        random: Chance.
        hooks: Who hears of what happens.
    """

    def __init__(
        self,
        source: Source,
        *,
        listeners: Collection[Listener[Any]],
        name: str,
        queue: Literal["delta", "in-order"],
        indexers: Mapping[str, Indexer],
        admit: Admission,
        resync: Callable[[], None],
        check_snapshots: bool,
        definitions: Source | None,
        clock: Clock,
        random: Random | None,
        hooks: Hooks,
    ) -> None:
        self.name: Final = name
        # Nothing here refers back to what it is part of: the store is free as soon as nobody has it any more.
        self._writer = StoreWriter(BUILTIN_INDEXERS, index_failed=partial(_index_failed, name, hooks))
        self._writer.add_indexers(indexers)
        self.store: Final[Store] = self._writer.store
        self._queue = InOrderFIFO() if queue == "in-order" else DeltaFIFO(self.store)
        self.pump: Final = Pump(self._queue, self._writer, listeners, admit=admit, name=name, clock=clock)
        # The reflector has rules of its own for what is tried again; a client that retries too would break its budget.
        source = source.without_retries() if isinstance(source, ResourceClient) else source
        self._source = PacedSource(CompactSource(source, admit.shorten), self.pump.wait_room)
        self._ingest = Ingest(self._queue, admit=admit, changed=self.pump.wake, resync=resync)
        self._make_reflector = partial(
            Reflector,
            self._source,
            self._ingest,
            name=name,
            check_snapshots=check_snapshots,
            definitions=definitions,
            clock=clock,
            random=random,
            hooks=hooks,
        )
        self._reflector: Reflector | None = None

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """The reflector's health by name; empty before ``run``."""
        return {} if self._reflector is None else self._reflector.conditions

    @property
    def ages(self) -> Ages:
        """How long ago an object and a bookmark last arrived; infinite before ``run``."""
        return Ages(math.inf, math.inf) if self._reflector is None else self._reflector.ages

    @property
    def stats(self) -> InformerStats:
        """Its numbers at this moment."""
        return InformerStats(
            objects=len(self.store),
            size=self.store.size,
            queued=len(self._queue),
            queue_high_water=self._queue.high_water,
            event_age=self.ages.event,
            relists=max(self._ingest.lists - 1, 0),
            watch_restarts=max(self._source.watches - 1, 0),
        )

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Add indexes at any time; see ``StoreWriter``."""
        self._writer.add_indexers(indexers)

    def forget(self) -> None:
        """Let go of all that has been read."""
        self._writer.clear()

    async def run(self, check: float) -> None:
        """Run until cancelled; ask who is due for a resync every ``check`` seconds."""
        self._reflector = self._make_reflector(resync=check)
        async with open_task_group() as tasks:
            tasks.start_soon(self.pump.run)
            tasks.start_soon(self._reflector.run)


def _index_failed(name: str, hooks: Hooks, index: str, record: Record, error: Exception) -> None:
    _log.error("%s: index %r failed for %s", name, index, record.key, exc_info=error)
    hooks.object_quarantined(ObjectQuarantined(name, str(record.key), error))
