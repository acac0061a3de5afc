"""Scenario 36 of the public reports: the token file is replaced, and the server knows the old one no more."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.apiserver.http import serve
from kinformer.client import Client, Config, TokenFile
from kinformer.errors import UnauthorizedError
from kinformer.informer import SharedInformer
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock

pytestmark = pytest.mark.wire

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Gate:
    """An ASGI application that lets those in who have the right token, and counts what they open."""

    def __init__(self, app: Any, token: str) -> None:
        self.app = app
        self.token = token
        self.watches = 0
        self.refused = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if dict(scope["headers"]).get(b"authorization", b"").decode() != f"Bearer {self.token}":
            self.refused += 1
            status = {"kind": "Status", "apiVersion": "v1", "code": 401, "reason": "Unauthorized"}
            head = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": json.dumps(status).encode()})
            return
        self.watches += b"watch=true" in scope["query_string"]
        await self.app(scope, receive, send)


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}}


async def eventually(claim: Any) -> None:
    while not claim():
        await SystemClock().sleep(0.01)


async def test_a_token_that_was_replaced_is_used_at_once_and_a_running_watch_goes_on(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    async with ApiServer() as server:
        gate = Gate(server.app, "one")
        async with serve(gate) as endpoint, Client(Config(endpoint.url, TokenFile(token))) as client:
            maps = client.resource(CONFIG_MAPS)
            informer = SharedInformer(maps.without_retries())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(informer.run)
                await informer.wait_synced()
                await maps.create(named("before"))
                token.write_text("two")
                gate.token = "two"
                await maps.create(named("after"))
                await eventually(lambda: informer.lister.get("default/after"))
                tasks.cancel_scope.cancel()
            assert informer.lister.get("default/before")
            assert (gate.watches, gate.refused) == (1, 0)


async def test_a_token_that_is_refused_before_its_file_was_replaced_is_read_again_by_itself(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    async with ApiServer() as server:
        gate = Gate(server.app, "two")
        async with serve(gate) as endpoint, Client(Config(endpoint.url, TokenFile(token))) as client:
            maps = client.resource(CONFIG_MAPS)
            with pytest.raises(UnauthorizedError):
                await maps.create(named("a"))
            assert gate.refused == 1
            token.write_text("two")
            await maps.create(named("a"))
            assert gate.refused == 1
