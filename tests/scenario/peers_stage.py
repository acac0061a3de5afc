"""A stage for what other clients stumbled over: an informer on a real client, whose server follows a script, byte by byte."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from itertools import repeat
from random import Random
from typing import Any, Final, TypeAlias

import anyio
import httpx

from kinformer.client import Client, Config
from kinformer.hooks import NoHooks, ObjectQuarantined, ReflectorFailed, ReflectorListed
from kinformer.informer import SharedInformer
from kinformer.meta import Object, Resource
from kinformer.testing import HOLD, FakeClock
from kinformer.testing._source import Hold
from tests.unit.informer.stage import Log

PODS = Resource.builtin("Pod")
URL: Final = "http://server.invalid"

Line: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that comes as a whole."""

    code: int = 200
    body: Line | bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


Step: TypeAlias = Line | bytes | float | Exception | Hold
"""Of a stream: an event for a line of its own, bytes for a chunk, seconds to pass, an error to break with, ``HOLD``."""

Answer: TypeAlias = Reply | Sequence[Step] | Exception | Hold


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived."""

    at: float
    phase: str
    params: dict[str, str]
    authorization: str
    answer: Answer

    def __str__(self) -> str:
        version = self.params.get("continue") or self.params.get("resourceVersion", "")
        return f"{self.phase} {version}".rstrip()


class ScriptedServer(httpx.AsyncBaseTransport):
    """Answers each kind of request by its own script; when that has come to its end, nobody answers."""

    def __init__(
        self, clock: FakeClock, streams: Iterable[Answer], lists: Iterable[Answer], watches: Iterable[Answer]
    ) -> None:
        self.requests: list[Asked] = []
        self.open = 0
        """Streams that are being read, and requests without an answer."""
        self._clock = clock
        lists = iter(lists)
        self._scripts: dict[str, Iterator[Answer]] = {
            "STREAM": iter(streams),
            "LIST": lists,
            "PAGE": lists,
            "WATCH": iter(watches),
        }

    def answer(self, phase: str, *answers: Answer) -> None:
        """Go on with this script for a kind of request."""
        self._scripts[phase] = iter(answers)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        params = dict(request.url.params)
        phase = _phase_of(params)
        authorization = request.headers.get("authorization", "")
        answer = next(self._scripts[phase], HOLD)
        self.requests.append(Asked(self._clock.monotonic(), phase, params, authorization, answer))
        match answer:
            case Reply(code, body, headers):
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                return httpx.Response(code, content=content, headers=list(headers))
            case Exception() as error:
                raise copy(error)  # whose traceback does not grow each time
            case Hold():
                return await self._never()
            case steps:
                return httpx.Response(200, stream=_Stream(self, steps, self._clock))

    async def _never(self) -> httpx.Response:
        self.open += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.open -= 1
        raise AssertionError("nobody wakes it")


class _Stream(httpx.AsyncByteStream):
    """The body of an answer that takes its time."""

    def __init__(self, server: ScriptedServer, steps: Sequence[Step], clock: FakeClock) -> None:
        self._server = server
        self._steps = steps
        self._clock = clock
        server.open += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            match step:
                case bytes():
                    yield step
                case dict():
                    yield line(step)
                case Exception():
                    raise copy(step)
                case Hold():
                    await anyio.sleep_forever()
                case delay:
                    await self._clock.sleep(delay)

    async def aclose(self) -> None:
        self._server.open -= 1


class Diary(NoHooks):
    """Hooks that write down how the reflector fares."""

    def __init__(self) -> None:
        self.lists: list[ReflectorListed] = []
        self.failures: list[ReflectorFailed] = []
        self.quarantined: list[ObjectQuarantined] = []

    def reflector_listed(self, event: ReflectorListed, /) -> None:
        self.lists.append(event)

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        self.failures.append(event)

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.quarantined.append(event)


def alive(version: int) -> list[Step]:
    """The rest of a stream to which nothing happens: a bookmark each minute, for hours."""
    return [60.0, bookmark(version)] * 120


REFUSED: Final = Reply(400)
"""How a server that knows no watch-lists answers one."""


class Stage:
    """An informer and its server. Unless there is a script for watch-lists, they are refused."""

    def __init__(
        self,
        *,
        streams: Iterable[Answer] = repeat(REFUSED),
        lists: Iterable[Answer] = (),
        watches: Iterable[Answer] = (),
        random: Random | None = None,
        config: Config | None = None,
        hooks: Diary | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.server = ScriptedServer(self.clock, streams, lists, watches)
        self.hooks = hooks or Diary()
        self.client = Client(
            config or Config(URL), transport=self.server, clock=self.clock, hooks=self.hooks, random=Random(0)
        )
        self.informer: SharedInformer[Object] = SharedInformer(
            self.client.resource(PODS), clock=self.clock, random=random or Random(0), hooks=self.hooks
        )
        self.log = Log()
        self.informer.add_handler(self.log)

    @asynccontextmanager
    async def running(self, delay: float = 0.0) -> AsyncIterator[None]:
        """Run the informer for ``delay`` seconds and then for the block; nothing may be left behind."""
        async with self.client, anyio.create_task_group() as tasks:
            tasks.start_soon(self.informer.run)
            await self.clock.advance(delay)
            yield
            self.informer.close()
        assert self.server.open == 0
        assert self.clock.next_timer is None

    @property
    def asked(self) -> list[str]:
        """The requests in short, watch-lists that were refused left out: phase and version, a page by its token."""
        return [str(request) for request in self.server.requests if request.answer is not REFUSED]

    @property
    def content(self) -> dict[str, str]:
        """The versions in the store by name."""
        return {record.key.name: record.metadata.resource_version for record in self.informer.store}

    def true(self) -> set[str]:
        """The conditions that are true."""
        return {str(name) for name, condition in self.informer.conditions.items() if condition.status}

    def busiest_minute(self) -> int:
        """The most requests in 60 seconds, later pages left out."""
        moments = [request.at for request in self.server.requests if request.phase != "PAGE"]
        return max(sum(start <= at < start + 60.0 - 1e-6 for at in moments) for start in moments)


def pod(name: str, version: int, *, uid: str = "", **more: Any) -> Line:
    """A pod as a server sends it; ``more`` goes into its metadata."""
    metadata = {"namespace": "default", "name": name, "uid": uid or f"uid-{name}"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**metadata, "resourceVersion": str(version), **more},
    }


def event(kind: str, obj: Line) -> Line:
    """An event of a watch."""
    return {"type": kind, "object": obj}


def added(*args: Any, **more: Any) -> Line:
    """A pod that came into being; see ``pod``."""
    return event("ADDED", pod(*args, **more))


def modified(*args: Any, **more: Any) -> Line:
    """A pod that changed; see ``pod``."""
    return event("MODIFIED", pod(*args, **more))


def deleted(*args: Any, **more: Any) -> Line:
    """A pod that is gone; see ``pod``."""
    return event("DELETED", pod(*args, **more))


def bookmark(version: int, *, ends: bool = False) -> Line:
    """A bookmark, perhaps the one that ends a watch-list."""
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends else {}
    return event(
        "BOOKMARK",
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(version), **annotations}},
    )


def status(code: int, reason: str = "", **more: Any) -> Line:
    """What a server says when it says no."""
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, **more}


def failure(code: int, reason: str = "") -> Line:
    """The same inside a stream."""
    return event("ERROR", status(code, reason))


def refusal(code: int, reason: str = "", *headers: tuple[str, str]) -> Reply:
    """The same as an answer."""
    return Reply(code, status(code, reason), headers)


def page(*pods: Line, version: int, token: str = "") -> Reply:
    """A page of a list."""
    metadata = {"resourceVersion": str(version), **({"continue": token} if token else {})}
    return Reply(200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(pods)})


def line(content: Line) -> bytes:
    """An event as it goes over the wire."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _phase_of(params: dict[str, str]) -> str:
    if "watch" in params:
        return "STREAM" if "sendInitialEvents" in params else "WATCH"
    return "PAGE" if "continue" in params else "LIST"
