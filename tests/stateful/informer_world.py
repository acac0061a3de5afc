"""What the machine of the informer plays with: a server with a history, and a handler with a copy of the world."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import msgspec

from kinformer.errors import ExpiredError, TransportError
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import (
    EventType,
    Object,
    ObjectKey,
    ObjectList,
    ObjectMeta,
    Record,
    Resource,
    WatchEvent,
)
from kinformer.store import Store

PODS = Resource.builtin("Pod")


class Server:
    """A whole server in a page: a history that can be watched, forgotten and cut off. A ``Source``."""

    resource = PODS

    def __init__(self, crowd: Sequence[str]) -> None:
        self.crowd = crowd
        self.version = 1
        self.content: dict[str, Record] = {}
        self.history: list[WatchEvent] = []
        self.forgotten = self.cuts = self.readers = 0
        self.gate = anyio.Event()
        """Lists wait for it, so that somebody may be there to look when one comes."""
        self.gate.set()
        self.moved = anyio.Event()

    def write(self, kind: EventType, name: str, uid: str) -> None:
        self.version += 1
        metadata = {"name": name, "namespace": "n", "uid": uid, "resourceVersion": str(self.version)}
        record = Record.decode(msgspec.json.encode({"metadata": metadata, "spec": name * 50}), PODS)
        if kind is EventType.DELETED:
            del self.content[name]
        else:
            self.content[name] = record
        self.history.append(WatchEvent(kind, record, str(self.version)))

    def stir(self) -> None:
        for name in self.crowd:
            kind = EventType.MODIFIED if name in self.content else EventType.ADDED
            self.write(kind, name, name)

    def bookmark(self) -> None:
        self.version += 1
        self.history.append(WatchEvent(EventType.BOOKMARK, version=str(self.version)))

    def publish(self) -> None:
        self.moved.set()
        self.moved = anyio.Event()

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        return ObjectList(tuple(map(Object, self.content.values())), str(self.version))

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        if not initial_events and int(version) < self.forgotten:
            raise ExpiredError(410, "Expired", "too old")
        stream = self.stream(int(version or 0), initial_events=initial_events)
        try:
            yield stream
        finally:
            await stream.aclose()

    async def stream(self, at: int, *, initial_events: bool) -> AsyncGenerator[Sequence[WatchEvent], None]:
        cuts = self.cuts
        if initial_events:
            await self.gate.wait()
            at = self.version
            yield [
                *(
                    WatchEvent(EventType.ADDED, record, record.metadata.resource_version)
                    for record in self.content.values()
                ),
                WatchEvent(EventType.BOOKMARK, version=str(at), ends_initial_events=True),
            ]
        while True:
            if events := [event for event in self.history if int(event.version) > at]:
                at = int(events[-1].version)
                yield events
            if self.cuts != cuts:
                raise TransportError("cut")
            self.readers += 1
            try:
                await self.moved.wait()
            finally:
                self.readers -= 1


class View:
    """A handler that keeps its own copy of the world; told nonsense, it fails.

    It notes what it was owed when it came, and how often it was shown each object again. It may dawdle over all that it
    is told, or be quick until it comes to the last that it is owed.
    """

    def __init__(self, store: Store, owed: set[ObjectKey], since: float, period: float) -> None:
        self.store, self.owed, self.since, self.period = store, owed, since, period
        self.content: dict[ObjectKey, Object] = {}
        self.resyncs: Counter[ObjectKey] = Counter()
        self.has_left = self.is_quick_at_first = False
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self, told: Notification[Object]) -> None:
        """Each state follows the one that it knows, once; merged ones, too, begin there."""
        assert not self.has_left, "told after it had left"
        match told:
            case Added(obj):
                assert obj.key not in self.content, "added twice"
                self.keep(obj)
            case Updated(old, new):
                known = self.content[new.key].metadata
                assert known.uid == old.metadata.uid == new.metadata.uid
                assert version(known) == version(old.metadata)
                assert old is new or version(old.metadata) < version(new.metadata)
                self.keep(new)
                self.resyncs[new.key] += old is new
            case Deleted(obj, is_tombstone):
                known = self.content.pop(obj.key).metadata
                assert known.uid == obj.metadata.uid
                assert version(known) < version(obj.metadata) + is_tombstone
        if len(self.owed) < 2 or not self.is_quick_at_first:
            await self.gate.wait()
        self.owed.discard(told.new.key if isinstance(told, Updated) else told.obj.key)

    def keep(self, obj: Object) -> None:
        stored = self.store.get(obj.key)
        assert stored is None or version(stored.metadata) >= version(obj.metadata), "told before it is stored"
        self.content[obj.key] = obj


def version(metadata: ObjectMeta) -> int:
    return int(metadata.resource_version)
