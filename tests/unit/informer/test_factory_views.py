"""Several models of one cache: one watch, one store, and each view's handlers are its own."""

import gc
import weakref
from typing import Any

import anyio
import msgspec
import pytest

from kinformer.errors import ClosedError
from kinformer.informer import Added, InformerFactory, Notification
from kinformer.meta import Object, Record, Resource
from kinformer.testing import HOLD, FakeClock, ScriptedSource, added, settle
from tests.unit.informer.stage import PODS, pod, snapshot


class Metadata(msgspec.Struct):
    name: str


class Named(msgspec.Struct):
    metadata: Metadata


class Spec(msgspec.Struct):
    replicas: int


class Sized(msgspec.Struct):
    spec: Spec


class Traced(Record, frozen=True, gc=True, weakref=True):
    """A record that can be seen to be gone."""


class Client:
    """Serves one watch of two pods, and a third one after a second."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.sources: list[ScriptedSource] = []
        self.made: list[weakref.ref[Traced]] = []

    def resource(self, resource: Resource, /) -> "Client":
        return self

    def where(self, **filters: str | None) -> ScriptedSource:
        objects = [self.traced(pod(name, version)) for version, name in enumerate("abc", start=1)]
        script = [*snapshot(9, *objects[:2]), 1.0, added(objects[2]), HOLD]
        self.sources.append(ScriptedSource(PODS, watches=[script], clock=self.clock))
        return self.sources[-1]

    def traced(self, obj: Object) -> Object:
        record = obj.record
        traced = Traced(record.resource, record.key, record.metadata, record.raw)
        self.made.append(weakref.ref(traced))
        return Object(traced)

    @property
    def requests(self) -> int:
        return sum(len(source.requests) for source in self.sources)

    @property
    def pending(self) -> list[int]:
        return [source.pending for source in self.sources]


async def test_another_model_is_a_view_of_the_same_watch() -> None:
    client = Client()
    factory = InformerFactory(client, clock=client.clock)
    told: list[object] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        with factory.acquire(PODS) as pods, factory.acquire(PODS, Named) as named:
            named.add_handler(told.append)
            await named.wait_synced()
            with factory.acquire(PODS, Sized) as sized:
                sized.add_handler(told.append)
                await settle()
                assert pods.store is named.store is sized.store
                assert named.lister.get("default/a") == Named(Metadata("a"))
                assert sized.lister.get("default/a") == Sized(Spec(1))
                assert pods.is_synced
                assert pods.stats == sized.stats
                await client.clock.advance(1)
        assert client.requests == 1
        tasks.cancel_scope.cancel()
    assert [notification for notification in told if isinstance(notification, Added)] == told
    assert [notification.obj for notification in told if isinstance(notification, Added)] == [
        Named(Metadata("a")),
        Named(Metadata("b")),
        Sized(Spec(1)),
        Sized(Spec(1)),
        Named(Metadata("c")),
        Sized(Spec(1)),
    ]


async def test_a_view_ends_with_its_last_holder_and_so_do_its_handlers_and_nobody_elses() -> None:
    client = Client()
    factory = InformerFactory(client, clock=client.clock)
    kept: list[Notification[Object]] = []
    lost: list[Notification[Named]] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        with factory.acquire(PODS) as pods:
            pods.add_handler(kept.append)
            with factory.acquire(PODS, Named) as named:
                with factory.acquire(PODS, Named) as again:
                    assert again is named
                    registration = again.add_handler(lost.append)
                    await registration.wait_synced()
                open_views = [not named.is_closed]
            open_views += [not named.is_closed, not pods.is_closed]
            assert open_views == [True, False, True]
            await registration.wait_ended()
            with pytest.raises(ClosedError):
                named.add_handler(lost.append)
            named.close()  # has no say any more
            await client.clock.advance(1)
            assert client.pending == [1]
            assert (len(kept), len(lost)) == (3, 2)
            assert named.lister.get("default/c") == Named(Metadata("c"))
            with factory.acquire(PODS, Named) as another:
                assert another is not named
            pods.add_handler(kept.append)
        await settle()
        assert client.pending == [0]
        tasks.cancel_scope.cancel()
    assert client.requests == 1


async def test_the_watch_ends_with_the_last_view_whichever_that_is() -> None:
    client = Client()
    factory = InformerFactory(client, clock=client.clock)
    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        pods, named = factory.acquire(PODS), factory.acquire(PODS, Named)
        pods.__enter__()
        view = named.__enter__()
        pods.__exit__(None, None, None)
        await client.clock.advance(1)
        assert len(view.lister) == 3
        assert client.pending == [1]
        named.__exit__(None, None, None)
        await settle()
        assert client.pending == [0]
        tasks.cancel_scope.cancel()


async def test_a_registration_of_another_view_is_no_matter() -> None:
    client = Client()
    factory = InformerFactory(client, clock=client.clock)
    told: list[Notification[Named]] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        with factory.acquire(PODS) as pods, factory.acquire(PODS, Named) as named:
            pods.remove_handler(named.add_handler(told.append))
            await settle()
        tasks.cancel_scope.cancel()
    assert len(told) == 2


async def test_other_options_are_refused_in_another_model_too() -> None:
    client = Client()
    factory = InformerFactory(client, clock=client.clock)
    with (
        factory.acquire(PODS, resync=10),
        pytest.raises(ValueError, match=r"resync=0.0 is asked for"),
        factory.acquire(PODS, Named),
    ):
        pass


async def test_when_nobody_holds_it_nothing_of_it_is_left() -> None:
    """No task, no connection, and no object."""
    client = Client()
    factory = InformerFactory(client, clock=client.clock)
    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        before = len(anyio.get_running_tasks())
        with factory.acquire(PODS) as pods, factory.acquire(PODS, Named) as named:
            pods.add_handler(lambda told: None)
            named.add_handler(lambda told: None, coalesce=True)
            await client.clock.advance(1)
            assert len(pods.lister) == 3
            views: list[weakref.ref[Any]] = [weakref.ref(pods), weakref.ref(named)]
        del pods, named
        await settle()
        assert client.pending == [0]
        client.sources.clear()
        gc.collect()
        assert len(anyio.get_running_tasks()) == before
        assert [made() for made in client.made] == [None] * 3
        assert [view() for view in views] == [None] * 2
        tasks.cancel_scope.cancel()


async def test_a_view_is_not_for_its_holder_to_run_or_to_close() -> None:
    factory = InformerFactory(client := Client(), clock=client.clock)
    with factory.acquire(PODS) as pods, factory.acquire(PODS, Named) as named:
        with pytest.raises(RuntimeError, match="belongs to a factory: leave the block"):
            named.close()
        with pytest.raises(RuntimeError, match="belongs to a factory: run that"):
            await named.run()
        assert (named.is_closed, pods.is_closed) == (False, False)
