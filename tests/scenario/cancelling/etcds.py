"""The storage in etcd, over calls that say what a script says; skipped without the extra."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver.storage import (
    CompactedError,
    FutureRevisionError,
    KeyRange,
    UnavailableError,
    WatchRequest,
)
from kinformer.system_clock import SystemClock
from kinformer.testing import settle
from tests.etcd import needs_grpc
from tests.scenario.cancelling.sweep import Sweep

ALL = KeyRange.prefix("")
FUTURE = 99
LONG = 30
"""Responses, of which not all can be read ahead."""


async def etcds(sweep: Sweep) -> None:
    """Calls of each kind, and a watch that is cut, opened again, and in the end too late."""
    needs_grpc()
    await sweep.of(calls)
    await sweep.of(watch)
    await sweep.of(a_watch_that_etcd_tells_little)


async def calls() -> None:
    from kinformer.apiserver.storage.etcd import EtcdKV, EtcdUser

    kv = EtcdKV("127.0.0.1:1", user=EtcdUser("root", "secret"))
    async with kv:
        await kv._calls._channel.close()
        kv._calls._channel = Channel()
        kv._calls._unary = {name: answer(name) for name in kv._calls._unary}
        kv._calls._unary["Compact"] = once_logged_out(kv._calls._unary["Compact"])
        await kv.version()
        await kv.tells_progress()
        await kv.revision()
        await kv.get("a")
        for future in (FUTURE, 2**63):
            with suppress(FutureRevisionError):
                await kv.get("a", revision=future)
        await kv.put("a", b"")
        await kv.delete("a")
        await kv.compact(2)


class Channel:
    async def close(self) -> None:
        await checkpoint()


def answer(name: str) -> Any:
    from kinformer.apiserver.storage.etcd._messages import MESSAGES

    messages = {
        "Range": "RangeResponse",
        "Txn": "TxnResponse",
        "Compact": "CompactionResponse",
        "Status": "StatusResponse",
        "Authenticate": "AuthenticateResponse",
    }

    async def ask(request: Any, **options: object) -> Any:
        await checkpoint()
        if name == "Range" and request.revision == FUTURE:
            raise refusal("required revision is a future revision")
        message = MESSAGES[messages[name]]()
        if name == "Authenticate":
            message.token = "a token"
        if name == "Txn":
            message.succeeded = True
            kind = "delete" if request.success[0].HasField("delete") else "put"
            message.responses.add(**{kind: {}})
        return message

    return ask


def refusal(text: str) -> Exception:
    import grpc
    import grpc.aio

    metadata = grpc.aio.Metadata()
    error: Exception = grpc.aio.AioRpcError(grpc.StatusCode.UNKNOWN, metadata, metadata, text)
    return error


def once_logged_out(ask: Any) -> Any:
    """The first call finds that its token is too old."""
    errors = iter([refusal("invalid auth token")])

    async def refuse(request: Any, **options: object) -> Any:
        answer = await ask(request, **options)
        for first in errors:
            raise first
        return answer

    return refuse


class Scripted:
    """In place of ``Calls`` and of the server: each stream says what its script says, and then nothing."""

    def __init__(self, *scripts: list[Any], version: str = "3.6.0") -> None:
        self.scripts: Iterator[list[Any]] = iter(scripts)
        self.script: Iterator[Any] = iter(())
        self.text = version
        self.asked = 0

    @contextmanager
    def watch(self) -> Iterator[Any]:
        self.script = iter(next(self.scripts, []))
        yield self

    async def read(self) -> Any:
        await checkpoint()
        said = next(self.script, None)
        if said is None:
            await anyio.Event().wait()
        if isinstance(said, Exception):
            raise said
        return said

    async def write(self, message: Any) -> None:
        await checkpoint()

    async def details(self) -> str:
        await checkpoint()
        return "that was all"

    async def log_in(self) -> None:
        await checkpoint()

    def failure(self, text: str) -> Exception:
        return UnavailableError(text)

    async def version(self) -> str:
        await checkpoint()
        return self.text

    async def revision(self) -> int:
        await checkpoint()
        self.asked += 1
        if self.asked == 1:
            raise UnavailableError("not now")
        return 1 if self.asked == 2 else 1000


async def watch() -> None:
    import grpc
    import grpc.aio

    from kinformer.apiserver.storage.etcd._messages import MESSAGES
    from kinformer.apiserver.storage.etcd._watch import open_watch

    response, event, pair, header = (
        MESSAGES[name] for name in ("WatchResponse", "Event", "KeyValue", "Header")
    )

    def put(revision: int, created: int) -> Any:
        return response(events=[event(kv=pair(key=b"a", create_revision=created, mod_revision=revision))])

    cut = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "cut")
    progress = response(watch_id=-1, header=header(revision=100))
    server = Scripted(
        [*(put(revision, revision) for revision in range(2, 2 + LONG)), progress, cut],
        [grpc.aio.EOF],
        [put(200, 200), put(201, 2)],
    )
    async with open_watch(server, server, ALL, 2, clock=SystemClock()) as opened:  # type: ignore[arg-type]
        opened.request_progress()
        await SystemClock().sleep(1.0)
        with suppress(CompactedError):
            while True:
                batch = await anext(opened)
                if batch.revision == 100:
                    await SystemClock().sleep(3.0)  # so that what comes next has to wait
                opened.request_progress()


async def a_watch_that_etcd_tells_little() -> None:
    from kinformer.apiserver.storage.etcd._stream import open_stream
    from kinformer.apiserver.storage.etcd._watch import open_watch

    server = Scripted([], version="3.4.23")
    server.asked = 1
    async with open_watch(server, server, ALL, 500, clock=SystemClock()) as opened:  # type: ignore[arg-type]
        for _ in range(2):
            opened.request_progress()
            await settle()
        for _ in range(2):
            await anext(opened)
            opened.request_progress()
            await settle()
        await anext(opened)
    async with open_stream(server) as stream:  # type: ignore[arg-type]
        stream.create(WatchRequest(ALL))
        stream.cancel(0)
        await settle()
