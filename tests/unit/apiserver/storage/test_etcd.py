"""A real etcd: what comes of one that is not there, and what several clients of one see. The rest is in ``test_kv``."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

pytest.importorskip("grpc", reason="needs the extra etcd")

from kinformer.apiserver.storage import KV, Batch, KeyRange, UnavailableError, WatchRequest
from kinformer.apiserver.storage.etcd import EtcdKV
from tests.etcd import free_ports, needs_grpc

pytestmark = pytest.mark.wire
needs_grpc()


def test_it_is_a_kv() -> None:
    kv: KV = EtcdKV("127.0.0.1:1")
    assert isinstance(kv, EtcdKV)


async def test_it_has_to_be_entered_once() -> None:
    kv = EtcdKV("127.0.0.1:1")
    with pytest.raises(RuntimeError, match="must be entered with 'async with'"):
        await kv.revision()
    async with kv:
        with pytest.raises(RuntimeError, match="is open"):
            await kv.__aenter__()


async def test_an_etcd_that_is_not_there_is_named() -> None:
    (port,) = free_ports(1)
    async with EtcdKV(f"127.0.0.1:{port}") as kv:
        with pytest.raises(UnavailableError, match=f"etcd at 127.0.0.1:{port}: "):
            await kv.revision()
        with pytest.raises(UnavailableError):
            async with kv.watch_stream() as stream:
                stream.create(WatchRequest(KeyRange.prefix("")))
                await anext(stream)


async def test_what_one_writes_the_other_sees(etcd: str) -> None:
    async with EtcdKV(etcd) as one, EtcdKV(etcd) as two, two.watch(KeyRange.prefix("/shared/"), 0) as watch:
        watch.request_progress()
        assert not (await anext(watch)).changes  # so that it is open
        value = await one.put("/shared/a", b"1")
        assert [change.current for change in (await anext(watch)).changes] == [value]


async def test_a_watch_goes_on_where_it_was_when_its_connection_is_cut(
    etcd: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Behind a door that is shut and opened again."""
    async with door(etcd) as (endpoint, shut), EtcdKV(etcd) as direct:
        caplog.set_level(logging.INFO, "kinformer.apiserver")
        first = await direct.put("/cut/a", b"1")
        async with (
            EtcdKV(endpoint) as kv,
            kv.watch(KeyRange.prefix("/cut/"), first.mod_revision) as watch,
        ):
            assert [change.current for change in (await anext(watch)).changes] == [first]
            shut()
            second = await direct.put("/cut/a", b"2")
            got: list[Batch] = []
            while not got or not got[-1].changes:
                got.append(await anext(watch))
            assert [(change.current, change.previous) for change in got[-1].changes] == [(second, first)]
    assert [record.message.partition(" at revision")[0][-8:] for record in caplog.records] == [
        " was cut",
        " goes on",
    ]


@asynccontextmanager
async def door(endpoint: str) -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """A way to a server, and what cuts it off from all who are in it."""
    host, _, port = endpoint.partition(":")
    scopes: list[anyio.CancelScope] = []

    async def serve(client: SocketStream) -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            async with (
                client,
                await anyio.connect_tcp(host, int(port)) as server,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(pump, client, server, scope)
                await pump(server, client, scope)

    def shut() -> None:
        for scope in scopes:
            scope.cancel()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve)
        yield f"127.0.0.1:{listener.extra(SocketAttribute.local_port)}", shut
        tasks.cancel_scope.cancel()


async def pump(source: SocketStream, target: SocketStream, scope: anyio.CancelScope) -> None:
    try:
        async for data in source:
            await target.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    scope.cancel()


async def test_closing_it_ends_what_is_open(etcd: str) -> None:
    kv = EtcdKV(etcd)
    await kv.__aenter__()
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix("/closed/")))
        assert (await anext(stream)).created
        await kv.__aexit__(None, None, None)
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await anext(stream)


@pytest.mark.parametrize("what", ["watch", "stream", "call"])
async def test_a_cancelled_wait_leaves_it_usable(etcd: str, what: str) -> None:
    async with (
        EtcdKV(etcd) as kv,
        kv.watch(KeyRange.prefix("/cancel/"), 0) as watch,
        kv.watch_stream() as stream,
    ):
        stream.create(WatchRequest(KeyRange.prefix("/cancel/")))
        assert (await anext(stream)).created
        watch.request_progress()
        await anext(watch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.__anext__ if what == "watch" else stream.__anext__)
            tasks.start_soon(kv.revision)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        value = await kv.put("/cancel/a", b"")
        assert [event.current for event in (await anext(stream)).events] == [value]
        assert [change.current for change in (await anext(watch)).changes] == [value]
