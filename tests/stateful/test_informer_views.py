"""Views of one informer of two namespaces under random history: all handlers amount to what the servers hold and fits."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Literal, TypeAlias

import anyio
import msgspec
from anyio.lowlevel import checkpoint
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.errors import ExpiredError, ForbiddenError
from kinformer.hooks import HandlerFailed, NoHooks
from kinformer.informer import (
    Added,
    Deleted,
    FilteringHandler,
    InformerFactory,
    Notification,
    Registration,
    SharedInformer,
    Updated,
)
from kinformer.meta import EventType, Object, ObjectList, Record, Resource, WatchEvent
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")
NAMESPACES = st.sampled_from(["a", "b"])
Size: TypeAlias = int | str
SIZES: st.SearchStrategy[Size | None] = st.sampled_from([1, 9, 9, "many", None])
CHANGES = st.dictionaries(st.sampled_from("xyz"), SIZES, min_size=1)
"""New sizes by name; ``None`` is a deletion, and a word does not fit the model."""
Changes: TypeAlias = dict[str, Size | None]
State: TypeAlias = tuple[int, Size]


class Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    resource_version: str


class Model(msgspec.Struct):
    metadata: Metadata
    size: int


def described(obj: Object | Model) -> tuple[str, State]:
    """What a view of either kind knows of an object: its key, and then its version and size."""
    size = obj["size"] if isinstance(obj, Object) else obj.size
    return f"{obj.metadata.namespace}/{obj.metadata.name}", (int(obj.metadata.resource_version), size)


def is_large(obj: Object | Model) -> bool:
    return described(obj)[1][1] != 1


class Server:
    """The objects of one namespace, which can be watched, hidden and refused. A ``Source``."""

    resource = PODS

    def __init__(self, namespace: str, versions: "Versions") -> None:
        self.namespace, self.versions = namespace, versions
        self.content: dict[str, Record] = {}
        self.history: list[WatchEvent] = []
        self.is_forbidden = self.is_cut = False
        self.streams = 0
        self.moved = anyio.Event()

    def write(self, name: str, size: Size | None) -> None:
        """Another state of an object; ``None`` deletes it."""
        version = str(self.versions.next())
        known = self.content.get(name)
        uid = version if known is None else known.metadata.uid
        metadata = {"name": name, "namespace": self.namespace, "uid": uid, "resourceVersion": version}
        record = Record.decode(msgspec.json.encode({"metadata": metadata, "size": size or 0}), PODS)
        if size is not None:
            kind = EventType.MODIFIED if name in self.content else EventType.ADDED
            self.content[name] = record
        elif self.content.pop(name, None) is not None:
            kind = EventType.DELETED
        else:
            return
        self.history.append(WatchEvent(kind, record, version))

    def publish(self) -> None:
        self.moved.set()
        self.moved = anyio.Event()

    async def list(self, **options: Any) -> ObjectList[Object]:
        raise NotImplementedError("there is always a watch-list")

    @asynccontextmanager
    async def watch(self, **options: Any) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        if self.is_forbidden:
            raise ForbiddenError(403, "Forbidden", "no")
        if not options["initial_events"]:
            raise ExpiredError(410, "Expired", "too old")
        stream = self.stream()
        self.streams += 1
        try:
            yield stream
        finally:
            self.streams -= 1
            await stream.aclose()

    async def stream(self) -> AsyncGenerator[Sequence[WatchEvent], None]:
        self.is_cut = False
        yield [WatchEvent(EventType.ADDED, record) for record in self.content.values()]
        self.history.clear()
        yield [WatchEvent(EventType.BOOKMARK, version=str(self.versions.last), ends_initial_events=True)]
        while not self.is_cut:
            if self.history:
                events, self.history = self.history, []
                yield events
            await self.moved.wait()
        raise ExpiredError(410, "Expired", "too old")


class Versions:
    """The versions of one cluster, which are shared by all namespaces."""

    last = 1

    def next(self) -> int:
        self.last += 1
        return self.last


@dataclass
class Client:
    """Narrows a resource down to a namespace."""

    servers: dict[str, Server]
    narrowed: int = 0

    def resource(self, resource: Resource, /) -> "Client":
        return self

    def where(self, *, namespace: str | None = None, **filters: str | None) -> Server:
        self.narrowed += 1
        return self.servers[namespace or ""]


@dataclass
class Follower:
    """A handler that keeps its own copy of the world, or of what passes; told nonsense, it fails."""

    passes: bool
    content: dict[str, State] = field(default_factory=dict)
    has_left: bool = False
    gate: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, told: Notification[Any]) -> None:
        assert not self.has_left, "told after it had left"
        match told:
            case Added(obj):
                key, state = described(obj)
                assert key not in self.content
                self.content[key] = state
            case Updated(old, new):
                key, state = described(new)
                assert self.content[key] == described(old)[1]
                self.content[key] = state
            case Deleted(obj):
                del self.content[described(obj)[0]]
        await self.gate.wait()


class Failures(NoHooks):
    """What handlers have raised; an object that does not fit the model is none."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def handler_failed(self, event: HandlerFailed, /) -> None:
        self.errors.append(event.error)


@dataclass
class Holder:
    """One who has acquired a view, and the handlers that are to end with it."""

    model: type
    block: AbstractContextManager[SharedInformer[Any]]
    view: SharedInformer[Any]


class ViewsMachine(RuleBasedStateMachine):
    """Writes, relists and refusals of either namespace, and views and handlers that come and go in the middle of it."""

    queue: ClassVar[Literal["delta", "in-order"]]

    @initialize(changes=CHANGES, refused=NAMESPACES, is_slow=st.booleans(), coalesce=st.booleans())
    def start(self, changes: Changes, refused: str, is_slow: bool, coalesce: bool) -> None:
        """Two views with a handler that filters and one that does not, while one namespace cannot be read."""
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.holders: list[Holder] = []
        self.followers: dict[Registration, tuple[Follower, SharedInformer[Any]]] = {}
        self.runner.run(self.begin())
        for server in self.servers.values():
            for name in "xyz":
                server.write(name, 9)
        self.refuse(refused)
        for model in (Object, Model):
            self.acquire(model)
        for holder, passes in ((0, True), (0, False), (1, True), (1, False)):
            self.runner.run(self.add(self.holders[holder].view, coalesce, passes, is_slow))
        self.write(refused, changes)

    async def begin(self) -> None:
        versions = Versions()
        self.servers = {namespace: Server(namespace, versions) for namespace in "ab"}
        self.client = Client(self.servers)
        self.hooks = Failures()
        self.factory = InformerFactory(self.client, clock=self.clock, random=Random(1), hooks=self.hooks)
        self.task = asyncio.get_running_loop().create_task(self.factory.run())

    @rule(namespace=NAMESPACES, changes=CHANGES)
    def write(self, namespace: str, changes: Changes) -> None:
        for name, size in changes.items():
            self.servers[namespace].write(name, size)
        self.servers[namespace].publish()

    @rule(namespace=NAMESPACES, changes=CHANGES)
    def write_unseen(self, namespace: str, changes: Changes) -> None:
        self.servers[namespace].is_cut = True
        self.write(namespace, changes)

    @rule(namespace=NAMESPACES)
    def refuse(self, namespace: str) -> None:
        self.servers[namespace].is_forbidden = self.servers[namespace].is_cut = True
        self.servers[namespace].publish()

    @rule(namespace=NAMESPACES)
    def admit(self, namespace: str) -> None:
        self.servers[namespace].is_forbidden = False

    @rule(seconds=st.sampled_from([0.0, 1.0, 40.0]))
    def pass_time(self, seconds: float) -> None:
        self.runner.run(self.clock.advance(seconds) if seconds else settle())

    @rule(turns=st.integers(1, 8))
    def look(self, turns: int) -> None:
        self.runner.run(self.take_turns(turns))

    async def take_turns(self, turns: int) -> None:
        for _ in range(turns):
            await checkpoint()

    @rule(model=st.sampled_from([Object, Model]))
    def acquire(self, model: type) -> None:
        self.runner.run(self.enter(model))

    async def enter(self, model: type) -> None:
        before = self.client.narrowed
        block: AbstractContextManager[SharedInformer[Any]] = self.factory.acquire(
            PODS, model, namespaces=["a", "b"], queue=self.queue
        )
        view = block.__enter__()
        assert self.client.narrowed - before == (0 if self.holders else 2)
        for holder in self.holders:
            assert (holder.view is view) == (holder.model is model)
            assert holder.view.store is view.store
        self.holders.append(Holder(model, block, view))

    @precondition(lambda self: self.holders)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.runner.run(self.leave(data.draw(st.sampled_from(self.holders))))

    async def leave(self, holder: Holder) -> None:
        self.holders.remove(holder)
        holder.block.__exit__(None, None, None)
        if all(holder.view is not other.view for other in self.holders):
            for registration, (follower, view) in tuple(self.followers.items()):
                if view is holder.view:
                    del self.followers[registration]
                    follower.has_left = True
                    follower.gate.set()

    @precondition(lambda self: self.holders and len(self.followers) < 6)
    @rule(data=st.data(), coalesce=st.booleans(), passes=st.booleans(), is_slow=st.booleans())
    def join(self, data: st.DataObject, coalesce: bool, passes: bool, is_slow: bool) -> None:
        view = data.draw(st.sampled_from(self.holders)).view
        self.runner.run(self.add(view, coalesce, passes, is_slow))

    async def add(self, view: SharedInformer[Any], coalesce: bool, passes: bool, is_slow: bool) -> None:
        follower = Follower(passes)
        if not is_slow:
            follower.gate.set()
        handler = FilteringHandler[Any](is_large, follower) if passes else follower
        registration = view.add_handler(handler, coalesce=coalesce)
        self.followers[registration] = follower, view

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        registration = data.draw(st.sampled_from(list(self.followers)))
        follower, view = self.followers.pop(registration)
        view.remove_handler(registration)
        follower.has_left = True
        follower.gate.set()

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def hurry(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from([follower for follower, _ in self.followers.values()])).gate.set()

    @invariant()
    def nobody_was_told_nonsense(self) -> None:
        assert self.hooks.errors == []

    @invariant()
    def who_is_synced_has_heard_of_both(self) -> None:
        for registration, (_, view) in self.followers.items():
            assert view.is_synced or not registration.is_synced

    @invariant()
    def there_is_at_most_one_watch_of_each(self) -> None:
        assert all(server.streams <= 1 for server in self.servers.values())

    def teardown(self) -> None:
        """In the end everybody knows what the servers know; and of what nobody holds nothing is left."""
        try:
            for namespace in self.servers:
                self.admit(namespace)
            for follower, _ in self.followers.values():
                follower.gate.set()
            self.pass_time(300.0)
            self.nobody_was_told_nonsense()
            expected = {
                f"{namespace}/{name}": described(Object(record))[1]
                for namespace, server in self.servers.items()
                for name, record in server.content.items()
            }
            fitting = {key: state for key, state in expected.items() if isinstance(state[1], int)}
            for holder in self.holders:
                content = expected if holder.model is Object else fitting
                assert dict(map(described, holder.view.lister.list())) == content
            for registration, (follower, view) in self.followers.items():
                assert registration.is_synced
                content = dict(map(described, view.lister.list()))
                large = {key: state for key, state in content.items() if state[1] != 1}
                assert follower.content == (large if follower.passes else content)
        finally:
            self.runner.run(self.end())
            self.runner.close()

    async def end(self) -> None:
        for holder in tuple(self.holders):
            await self.leave(holder)
        await settle()
        assert [server.streams for server in self.servers.values()] == [0, 0]
        assert not self.task.done()
        self.task.cancel()
        await settle()
        assert len(anyio.get_running_tasks()) == 1


class DeltaMachine(ViewsMachine):
    queue = "delta"


class InOrderMachine(ViewsMachine):
    queue = "in-order"


TestDelta = DeltaMachine.TestCase
TestInOrder = InOrderMachine.TestCase
TestDelta.settings = settings(max_examples=12)
TestInOrder.settings = settings(max_examples=12)
