"""How an operator is tested: in memory, on a clock that the test moves, with faults where they are wanted.

The controller at the top gives each Mailbox a password, in a Secret and in a mail server, and renews it every ten minutes. What
follows is its tests: ``pytest -o asyncio_mode=auto examples/07_testing_an_operator.py`` runs them. Run as a script, it plays
them one after the other.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Protocol

import anyio
import httpx

from kinformer import Client, Controller, Manager, Object, Request, RequeueAfter, Resource, owner_reference
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock
from kinformer.testing import (
    AppTransport,
    Cluster,
    FakeClock,
    custom_object,
    custom_resource_definition,
    settle,
)

MAILBOXES = Resource("example.dev", "v1", "mailboxes", "Mailbox")
SECRETS = Resource.builtin("Secret")
TERM = 600.0


class MailServer(Protocol):
    """What the controller wants of the world outside; it is given one, so that a test can give it another."""

    async def set_password(self, address: str, password: str) -> None:
        """Let the owner of an address in by this password only."""


def controller_of(mail: MailServer) -> Controller:
    """The controller; the time that it knows is that of its client."""

    async def reconcile(request: Request) -> RequeueAfter | None:
        box, secret = request.lister(MAILBOXES).get(request.key), request.lister(SECRETS).get(request.key)
        if box is None:
            return None
        now = request.client.clock.now()
        if left := time_left(secret, now):
            return RequeueAfter(left)
        password = f"secret-{now:%H%M}"  # a real one would be drawn
        await mail.set_password(box["spec"]["address"], password)
        wanted = secret_of(box, password, until=now + timedelta(seconds=TERM))
        await request.client.resource(SECRETS).apply(wanted, field_manager="mailbox", force=True)
        return RequeueAfter(TERM)

    return Controller("mailbox", reconcile).watches(MAILBOXES).owns(SECRETS)


def time_left(secret: Object | None, now: datetime) -> float:
    """Seconds until a password is to be renewed; 0 where there is none, or its time is over."""
    until = "" if secret is None else secret.metadata.annotations.get("example.dev/until", "")
    return max(0.0, (datetime.fromisoformat(until) - now).total_seconds()) if until else 0.0


def secret_of(box: Object, password: str, *, until: datetime) -> dict[str, Any]:
    metadata = {
        "name": box.metadata.name,
        "namespace": box.metadata.namespace,
        "annotations": {"example.dev/until": until.isoformat()},
        "ownerReferences": [owner_reference(box)],
    }
    return {"metadata": metadata, "stringData": {"password": password}}


class FakeMailServer:
    """A mail server that remembers when it was asked, and is down for the first few times."""

    def __init__(self, clock: Clock, *, down: int = 0) -> None:
        self.asked: list[float] = []
        self.passwords: dict[str, str] = {}
        self._clock = clock
        self._down = down

    async def set_password(self, address: str, password: str) -> None:
        """Take it, or fail."""
        self.asked.append(self._clock.monotonic())
        if len(self.asked) <= self._down:
            raise ConnectionError("the mail server is down")
        self.passwords[address] = password


DEFINITION = custom_resource_definition(MAILBOXES)
ANN = custom_object(MAILBOXES, "ann", spec={"address": "ann@example.dev"})


class Stage:
    """A cluster with one Mailbox, a mail server, and what the tests ask."""

    def __init__(self, *, down: int = 0) -> None:
        self.clock = FakeClock()
        self.mail = FakeMailServer(self.clock, down=down)
        self.controller = controller_of(self.mail)
        self.cluster = Cluster(DEFINITION, ANN, clock=self.clock)

    async def has_its_password(self) -> bool:
        """A claim for ``until``; what is not found yet is not true yet."""
        found = await self.cluster.client.resource(SECRETS).get("default/ann")
        return "data" in found and "ann@example.dev" in self.mail.passwords


# What decides is a plain function, so there is nothing to start.
async def test_a_password_lasts_until_its_time_is_over() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    box = Object.from_mapping({**ANN, "metadata": {**ANN["metadata"], "uid": "u"}}, MAILBOXES)
    secret = Object.from_mapping(secret_of(box, "x", until=now + timedelta(minutes=5)), SECRETS)
    assert time_left(secret, now) == 300
    assert time_left(secret, now + timedelta(hours=1)) == 0
    assert time_left(None, now) == 0


# The server is real, and everything runs in this event loop. "until" lets all run, and moves the time where nothing can.
async def test_a_mailbox_gets_its_password_and_gets_it_back() -> None:
    stage = Stage()
    async with stage.cluster as cluster, cluster.running(stage.controller):
        await cluster.until(stage.has_its_password)
        await cluster.client.resource(SECRETS).delete("default/ann")  # behind the controller's back
        await cluster.until(stage.has_its_password)


# Half an hour takes milliseconds, and moments are exact.
async def test_it_is_renewed_every_ten_minutes() -> None:
    stage = Stage()
    async with stage.cluster as cluster, cluster.running(stage.controller):
        await cluster.advance(3 * TERM + 1)
        assert stage.mail.asked == [0, TERM, 2 * TERM, 3 * TERM]


# A fault in the world outside is a double that fails. A failed key comes back, ever more seldom.
async def test_while_the_mail_server_is_down_it_is_asked_ever_more_seldom() -> None:
    stage = Stage(down=5)
    async with stage.cluster as cluster, cluster.running(stage.controller):
        await cluster.until(stage.has_its_password, timeout=60)
        first, *_, last = [after - before for before, after in pairwise(stage.mail.asked)]
        assert first < 0.3 < 1 < last


class Flaky(AppTransport):
    """A fault between client and server is a transport: every other write fails, half of those after it was done."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.server.app, clock=cluster.clock)
        self.requests = Counter[str]()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.requests[request.method] += 1
        if request.method == "PATCH" and self.requests["PATCH"] % 4 == 1:
            raise httpx.ConnectError("no connection", request=request)
        response = await super().handle_async_request(request)
        if request.method == "PATCH" and self.requests["PATCH"] % 4 == 3:
            raise httpx.ReadError("the answer was lost", request=request)
        return response


@asynccontextmanager
async def over_a_flaky_line(stage: Stage) -> AsyncIterator[Flaky]:
    """Run the controller with a client of its own; ``Cluster.running`` would take the cluster's."""
    async with stage.cluster as cluster, anyio.create_task_group() as tasks:
        line = Flaky(cluster)
        async with Client("http://flaky.invalid", transport=line, clock=stage.clock) as client:
            manager = Manager(stage.controller, clients=client, clock=stage.clock)
            await tasks.start(manager.run)
            yield line
            manager.stop()


async def test_over_a_flaky_line_it_converges_and_comes_to_rest() -> None:
    stage = Stage()
    async with over_a_flaky_line(stage) as line:
        await stage.cluster.until(stage.has_its_password, timeout=60)
        await settle()
        sent = line.requests["PATCH"]
        await stage.cluster.advance(TERM / 2)
        assert line.requests["PATCH"] == sent


async def main() -> None:
    clock = SystemClock()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            began = clock.monotonic()
            await test()
            print(
                f"{1000 * (clock.monotonic() - began):4.0f} ms  {name.removeprefix('test_').replace('_', ' ')}"
            )


if __name__ == "__main__":
    logging.disable(logging.ERROR)  # that the controller fails now and then is what is tested
    try:
        anyio.run(main)
    finally:
        logging.disable(logging.NOTSET)
