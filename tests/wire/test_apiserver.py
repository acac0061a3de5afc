import asyncio
import errno
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from kinformer.apiserver import ApiServer, Endpoint
from kinformer.system_clock import SystemClock
from tests.wire.haste import is_soon

pytestmark = pytest.mark.wire

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=true"
CLOCK = SystemClock()


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[ApiServer, Endpoint, httpx.AsyncClient]]:
    async with (
        ApiServer() as server,
        server.serve() as endpoint,
        httpx.AsyncClient(base_url=endpoint.url) as client,
    ):
        yield server, endpoint, client


async def until(claim: Any, *, timeout: float = 5.0) -> None:
    with CLOCK.move_on_after(timeout):
        while not claim():
            await CLOCK.sleep(0.005)
    assert claim()


async def create(client: httpx.AsyncClient, name: str, text: str = "") -> None:
    reply = await client.post(CONFIG_MAPS, json={"metadata": {"name": name}, "data": {"x": text}})
    assert reply.status_code == 201


async def test_an_object_is_created_read_changed_and_deleted() -> None:
    async with serving() as (_, _, client):
        await create(client, "a")
        read = (await client.get(f"{CONFIG_MAPS}/a")).json()
        changed = await client.put(f"{CONFIG_MAPS}/a", json={**read, "data": {"x": "z"}})
        assert changed.status_code == 200
        assert len((await client.get(CONFIG_MAPS)).json()["items"]) == 1
        assert (await client.delete(f"{CONFIG_MAPS}/a")).status_code == 200
        assert (await client.get(f"{CONFIG_MAPS}/a")).status_code == 404


async def test_requests_on_a_kept_connection_do_not_wait_for_acknowledgements() -> None:
    async with serving() as (_, _, client):
        await client.get("/version")
        rounds = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(10):
                await client.get("/version")
            rounds.append(time.perf_counter() - start)
        assert min(rounds) < 0.3  # 0.44 s with Nagle's algorithm, 0.01 s without


async def test_a_chunked_body_is_taken_h_2() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"metadata":'
        yield b'{"name":"a"}}'

    async with serving() as (_, _, client):
        assert (await client.post(CONFIG_MAPS, content=body())).status_code == 201


async def test_a_body_that_is_too_large_is_a_413_h_2() -> None:
    async with serving() as (_, _, client):
        reply = await client.post(CONFIG_MAPS, content=b" " * (3 * 1024 * 1024 + 1))
        assert reply.status_code == 413
        assert (await client.get("/version")).status_code == 200


async def test_head_has_no_body_h_3() -> None:
    async with serving() as (_, _, client):
        for _ in range(2):
            reply = await client.head(CONFIG_MAPS)
            assert (reply.status_code, reply.content) == (200, b"")


async def test_a_watch_is_open_before_its_first_event_and_then_live_x_5() -> None:
    async with serving() as (server, _, client):
        async with client.stream("GET", WATCH) as response:
            assert response.headers["transfer-encoding"] == "chunked"
            lines = response.aiter_lines()
            for name in ("a", "b"):
                await create(client, name)
                assert msgspec.json.decode(await anext(lines))["object"]["metadata"]["name"] == name
        await until(lambda: server.app.open_watches == 0)


async def test_a_client_that_resets_its_connection_ends_its_watch() -> None:
    async with serving() as (server, endpoint, client):
        raw = socket.create_connection((endpoint.host, endpoint.port))
        raw.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await until(lambda: server.app.open_watches == 1)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
        raw.close()
        await until(lambda: server.app.open_watches == 0)
        await create(client, "still-alive")


async def test_a_client_that_resets_in_the_middle_of_a_body_harms_nobody() -> None:
    async with serving() as (_, endpoint, client):
        raw = socket.create_connection((endpoint.host, endpoint.port))
        raw.sendall(f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode())
        await CLOCK.sleep(0.05)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        await create(client, "still-alive")
        assert len((await client.get(CONFIG_MAPS)).json()["items"]) == 1


async def test_a_server_that_stops_ends_open_watches_properly_and_soon_x_10() -> None:
    ends: list[str] = []
    async with ApiServer() as server, httpx.AsyncClient() as client, anyio.create_task_group() as tasks:
        async with server.serve() as endpoint:

            async def read() -> None:
                async with client.stream("GET", endpoint.url + WATCH) as response:
                    ends.extend([line async for line in response.aiter_lines()] or ["end"])

            for _ in range(3):
                tasks.start_soon(read)
            await until(lambda: server.app.open_watches == 3)
            start = time.perf_counter()
        assert is_soon(time.perf_counter() - start, 1.0)
        await until(lambda: len(ends) == 3)
        assert ends == ["end"] * 3


async def test_a_server_that_stops_does_not_wait_for_a_client_that_does_not_read() -> None:
    before = asyncio.all_tasks()
    async with ApiServer() as server:
        async with server.serve() as endpoint, httpx.AsyncClient(base_url=endpoint.url) as client:
            raw = socket.create_connection((endpoint.host, endpoint.port))
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await until(lambda: server.app.open_watches == 1)
            for number in range(12):
                await create(client, f"n{number}", "x" * 500_000)
            start = time.perf_counter()
        assert is_soon(time.perf_counter() - start, 1.0)
        raw.close()
    assert asyncio.all_tasks() == before


async def test_a_server_that_stops_does_not_wait_for_a_request_that_takes_long() -> None:
    async with ApiServer() as server, anyio.create_task_group() as tasks:
        async with server.serve() as endpoint, httpx.AsyncClient(base_url=endpoint.url) as client:
            failures: list[Exception] = []

            async def wait_for_the_future() -> None:
                try:
                    await client.get(f"{CONFIG_MAPS}?resourceVersion=99999999999999")
                except httpx.TransportError as error:
                    failures.append(error)

            tasks.start_soon(wait_for_the_future)
            await CLOCK.sleep(0.1)
            start = time.perf_counter()
        assert is_soon(time.perf_counter() - start, 1.2)
        await until(lambda: len(failures) == 1)


async def test_an_application_serves_two_sockets_and_each_ends_its_own_watches() -> None:
    async with (
        ApiServer() as server,
        server.serve() as first,
        httpx.AsyncClient() as client,
        client.stream("GET", first.url + WATCH) as response,
    ):
        lines = response.aiter_lines()
        async with server.serve() as second:
            assert first.port != second.port
            await client.post(second.url + CONFIG_MAPS, json={"metadata": {"name": "a"}})
            assert "ADDED" in await anext(lines)
        assert server.app.open_watches == 1
        await client.post(first.url + CONFIG_MAPS, json={"metadata": {"name": "b"}})
        assert "ADDED" in await anext(lines)


async def test_a_port_in_use_is_told_with_advice() -> None:
    async with ApiServer() as server, server.serve() as endpoint:
        with pytest.raises(
            OSError, match=rf"cannot listen on 127\.0\.0\.1:{endpoint.port}.*port 0"
        ) as caught:
            async with server.serve(port=endpoint.port):
                raise AssertionError
        assert caught.value.errno == errno.EADDRINUSE


async def test_a_port_can_be_used_again_at_once() -> None:
    async with ApiServer() as server:
        async with server.serve() as endpoint, httpx.AsyncClient() as client:
            await client.get(endpoint.url + "/version")
        async with server.serve(port=endpoint.port) as again, httpx.AsyncClient() as client:
            assert (await client.get(again.url + "/version")).status_code == 200


async def test_ipv6_is_served_too() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 on this machine")
    async with ApiServer() as server:
        try:
            async with server.serve("::1") as endpoint, httpx.AsyncClient() as client:
                assert (await client.get(endpoint.url + "/version")).status_code == 200
        except OSError:
            pytest.skip("no IPv6 on this machine")


async def test_the_kubeconfig_leads_to_the_socket_a_6(tmp_path: Path) -> None:
    async with serving() as (_, endpoint, _):
        path = endpoint.write_kubeconfig(tmp_path / "config")
        assert endpoint.url in path.read_text()


async def test_an_error_inside_of_the_block_leaves_it_as_it_is() -> None:
    with pytest.raises(LookupError, match="mine"):
        async with serving():
            raise LookupError("mine")


async def test_a_cancelled_block_closes_its_port_and_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    ports: list[int] = []

    async def hold() -> None:
        async with serving() as (_, endpoint, client), client.stream("GET", WATCH):
            ports.append(endpoint.port)
            await anyio.Event().wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await until(lambda: bool(ports))
        tasks.cancel_scope.cancel()
    assert asyncio.all_tasks() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports[0]), timeout=1)
