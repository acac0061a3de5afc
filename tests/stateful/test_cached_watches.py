"""Watches over the watch cache and a storage in memory, whatever happens to either.

Objects come, change and go, one by one and in transactions, here and elsewhere; the storage is compacted; the cache is held
back, or loses its watch; clients read, are slow, break off a read, come back with their last version, and go.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

import anyio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.apiserver.cacher import CacheOptions, Cacher
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Event, ListOptions, StoredObject, Target, Verbs
from kinformer.apiserver.storage import CompactedError, Delete, KeyRange, MemoryKV, Put, Transaction
from kinformer.meta import FieldSelector, LabelSelector
from kinformer.testing import FakeClock, settle

T = TypeVar("T")

KEYS = ("m/a", "n/a", "n/b", "n/c")
COLORS = ("red", "blue")
STEPS = (
    *(
        "put",
        "put",
        "put",
        "put",
        "put many",
        "delete",
        "delete",
        "transact",
        "write elsewhere",
        "compact",
        "rest",
    ),
    *("pass time", "hold back", "lose the watch", "come", "come", "come", "go", "read", "read", "read all"),
)
State = dict[str, tuple[int, str]]
"""Keys with the version and the color of what they hold."""


@dataclass
class Client:
    """Somebody who watches, and what it has made of what it was told."""

    namespace: str
    color: str
    name: str
    known: State = field(default_factory=dict)
    version: int = 0
    """Up to where it knows everything, except for the rest of that revision; 0 until it has a whole state."""
    watch: AbstractAsyncContextManager[AsyncIterator[Sequence[Event]]] | None = None
    stream: AsyncIterator[Sequence[Event]] | None = None

    def sees(self, key: str, color: str) -> bool:
        namespace, _, name = key.partition("/")
        return self.namespace in {"", namespace} and self.name in {"", name} and self.color in {"", color}


class WatchesMachine(RuleBasedStateMachine):
    """The model holds every state that there was."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.kv = MemoryKV(history=200, queue=2)
        registry = Registry()
        served = registry.find("", "v1", "configmaps")
        assert served is not None
        self.served = served
        self.verbs = Verbs(
            self.kv,
            registry,
            clock=self.clock,
            random=Random(1),
            cache=CacheOptions(lowest=2, highest=16, queue_size=1),
        )
        self.task = self.runner.get_loop().create_task(self.verbs.run())
        self.cacher = self.run(self.begin())
        self.states: dict[int, State] = {self.run(self.kv.revision()): {}}
        self.is_paused = False
        self.clients = [
            Client("", "", ""),
            Client("n", "", ""),
            Client("", "red", ""),
            Client("n", "red", "a"),
        ]

    async def begin(self) -> Cacher:
        await settle()
        cacher = self.verbs.cacher(self.served)
        await cacher.begin()
        return cacher

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self.runner.run(wait())

    @rule(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), min_size=20, max_size=60))
    def go_on(self, steps: list[tuple[str, int]]) -> None:
        for step, number in steps:
            self.run(self.do(step, number))

    async def do(self, step: str, number: int) -> None:
        key, color, client = KEYS[number % 4], COLORS[number % 2], self.clients[number % 4]
        match step:
            case "put":
                await self.put(key, color)
            case "put many":
                for _ in range(5):
                    await self.put(key, color)
            case "delete":
                if (change := await self.kv.delete(self.place(key))) is not None:
                    self.remember(change.revision, {key: ""})
            case "transact":
                await self.transact({key: color, KEYS[(number + 1) % 4]: "", KEYS[(number + 2) % 4]: color})
            case "write elsewhere":
                await self.kv.put("/registry/core/secrets/n/s", b"{}")
            case "compact":
                with suppress(CompactedError):
                    await self.kv.compact(await self.kv.revision() - number % 4)
            case "rest":
                await settle()
            case "pass time":
                await self.clock.advance((0.05, 1.3, 61.5)[number % 3])
            case "hold back":
                self.is_paused = number % 4 == 0
                (self.cacher.pause if self.is_paused else self.cacher.resume)()
            case "lose the watch":
                if number % 4 == 0:
                    self.cacher.break_watch(CompactedError(1, 2))
                    await self.clock.advance(1.1)
            case "come":
                for each in (client, self.clients[(number + 1) % 4]):
                    await self.come(each)
            case "go":
                await self.close(client)
            case "read":
                await self.take(client)
            case _:
                for each in self.clients:
                    for _ in range(4):
                        await self.take(each)

    async def come(self, client: Client) -> None:
        """With what it knows, if it knows anything."""
        can_open = self.cacher.readiness.is_ready and (client.version or not self.is_paused)
        if client.stream is None and can_open:
            await self.open(client)

    async def put(self, key: str, color: str) -> None:
        written = await self.kv.put(self.place(key), self.value(key, color))
        self.remember(written.mod_revision, {key: color})

    async def transact(self, colors: dict[str, str]) -> None:
        writes = [
            Put(self.place(key), self.value(key, color)) if color else Delete(KeyRange.key(self.place(key)))
            for key, color in colors.items()
        ]
        result = await self.kv.transact(Transaction(then=writes))
        self.remember(result.revision, colors)

    def place(self, key: str) -> str:
        namespace, _, name = key.partition("/")
        return self.served.key(namespace, name)

    def value(self, key: str, color: str) -> bytes:
        namespace, _, name = key.partition("/")
        metadata = {"name": name, "namespace": namespace, "labels": {"color": color}}
        return StoredObject.encode({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})

    def remember(self, revision: int, colors: dict[str, str]) -> None:
        state = dict(self.states[max(self.states)])
        for key, color in colors.items():
            if color:
                state[key] = (revision, color)
            else:
                state.pop(key, None)
        self.states[revision] = state

    def visible(self, client: Client, revision: int) -> State:
        """What a client had to know at a revision."""
        state = self.states[max(known for known in self.states if known <= revision)]
        return {key: held for key, held in state.items() if client.sees(key, held[1])}

    async def open(self, client: Client) -> None:
        options = ListOptions(
            version=str(client.version or ""),
            labels=LabelSelector.parse(f"color={client.color}" if client.color else ""),
            fields=FieldSelector.parse(f"metadata.name={client.name}" if client.name else ""),
        )
        if not client.version:
            client.known = {}
        client.watch = self.verbs.watch(
            Target(self.served, client.namespace), options, bookmarks=True, timeout=3600
        )
        client.stream = await client.watch.__aenter__()

    async def close(self, client: Client) -> None:
        if client.watch is not None:
            await client.watch.__aexit__(None, None, None)
        client.watch = client.stream = None

    async def take(self, client: Client) -> None:
        """Read what there is; a read that finds nothing is broken off, and loses nothing."""
        if client.stream is None:
            return
        batches: list[Sequence[Event] | None] = []

        async def read_one(stream: AsyncIterator[Sequence[Event]]) -> None:
            batches.append(await anext(stream, None))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_one, client.stream)
            await settle()
            tasks.cancel_scope.cancel()
        for batch in batches:
            if batch is None:
                await self.close(client)
            for event in batch or ():
                self.hear(client, event)

    def hear(self, client: Client, event: Event) -> None:
        if event.type == "ERROR":
            assert isinstance(event.obj, dict)
            assert event.obj["code"] == 410
            assert client.version < self.cacher.history.oldest - 1, "it could have been told"
            client.version = 0
            return
        assert isinstance(event.obj, StoredObject)
        metadata = event.obj.content["metadata"]
        version = int(metadata["resourceVersion"])
        if event.type == "BOOKMARK":
            is_end = "annotations" in metadata
            assert is_end == (client.version == 0), "one bookmark ends the initial events"
            assert version >= client.version
            client.version = version
            assert client.known == self.visible(client, version), "a bookmark says that it knows everything"
            return
        key = f"{metadata['namespace']}/{metadata['name']}"
        if client.version:
            assert version >= client.version, "versions increase"
            if version > client.version:
                assert client.known == self.visible(client, version - 1), "there is a gap"
            client.version = version
        if event.type == "DELETED":
            del client.known[key]
        else:
            assert (key in client.known) == (event.type == "MODIFIED"), "nothing comes twice"
            client.known[key] = (version, metadata["labels"]["color"])

    def teardown(self) -> None:
        self.run(self.do("hold back", 1))
        self.run(self.clock.advance(1.1))
        self.run(self.do("read all", 0))  # a bookmark does not press into a full queue
        self.run(self.clock.advance(62))
        now = self.run(self.kv.revision())
        for client in self.clients:
            was_open = client.stream is not None
            for _ in range(6):
                self.run(self.take(client))
            if was_open and client.stream is not None:
                assert (client.known, client.version) == (self.visible(client, now), now)
            self.run(self.close(client))
        assert self.clock.next_timer is None
        self.task.cancel()
        self.run(settle())
        assert self.kv.watches == 0
        self.runner.close()


TestCachedWatches = WatchesMachine.TestCase
TestCachedWatches.settings = settings(max_examples=12, stateful_step_count=3)
