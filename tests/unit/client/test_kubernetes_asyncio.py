import json
from collections import deque
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import anyio
import pytest
from kubernetes_asyncio.client.exceptions import ApiException

from kinformer.client import KubernetesAsyncioSource
from kinformer.errors import (
    BadRequestError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")


class Answer:
    """An answer of aiohttp, as far as a source looks at it. A part is bytes, an error, or something to wait for."""

    def __init__(self, *parts: bytes | Exception | anyio.Event, status: int = 200, **headers: str) -> None:
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.content = self
        self.is_closed = False
        self._parts = deque(parts)

    async def readany(self) -> bytes:
        while self._parts:
            part = self._parts.popleft()
            if isinstance(part, Exception):
                raise part
            if isinstance(part, bytes):
                return part
            await part.wait()
        return b""

    async def read(self) -> bytes:
        body = b""
        while part := await self.readany():
            body += part
        return body

    def close(self) -> None:
        self.is_closed = True


class Method:
    """A ``list_*`` method that gives answers, or raises, in the order in which it was told."""

    def __init__(self, *answers: Answer | Exception | anyio.Event) -> None:
        self.said: list[dict[str, Any]] = []
        self._answers = deque(answers)

    async def __call__(self, **keywords: Any) -> Any:
        self.said.append(keywords)
        answer = self._answers.popleft()
        if isinstance(answer, anyio.Event):
            await answer.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer


def source(
    *answers: Answer | Exception | anyio.Event, clock: FakeClock | None = None
) -> KubernetesAsyncioSource:
    return KubernetesAsyncioSource(Method(*answers), resource=PODS, clock=clock or FakeClock())


def pod(name: str, version: int) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(version)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def line(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"


def status(code: int, reason: str) -> bytes:
    return json.dumps({"kind": "Status", "code": code, "reason": reason, "message": "m"}).encode()


async def all_of(source: KubernetesAsyncioSource) -> list[WatchEvent]:
    async with source.watch(version="1") as batches:
        return [event async for batch in batches for event in batch]


async def test_a_page_is_decoded_by_our_codec() -> None:
    page = {
        "kind": "PodList",
        "metadata": {"resourceVersion": "7", "continue": "t", "remainingItemCount": 3},
        "items": [pod("a", 5), {"metadata": {"name": 5}}],
    }
    answer = Answer(json.dumps(page).encode())
    method = Method(answer)
    found = await KubernetesAsyncioSource(method, resource=PODS).list(
        version="0", version_match="NotOlderThan", limit=2
    )
    assert method.said == [
        {
            "resource_version": "0",
            "resource_version_match": "NotOlderThan",
            "limit": 2,
            "_preload_content": False,
        }
    ]
    assert [obj.key for obj in found.items] == [ObjectKey("default", "a")]
    assert (found.version, found.continue_token, found.remaining, len(found.rejected)) == ("7", "t", 3, 1)
    assert answer.is_closed


async def test_a_page_that_arrives_in_pieces_is_decoded_as_one() -> None:
    page = {"kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": [pod("a", 5), pod("b", 6)]}
    body = json.dumps(page, separators=(",", ":")).encode()
    whole = await source(Answer(body)).list()
    pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
    assert await source(Answer(*pieces)).list() == whole
    assert [obj.key.name for obj in whole.items] == ["a", "b"]


class Packing:
    """Writes bytes backwards."""

    def unpack(self, held: bytes, /) -> bytes:
        return held[::-1]


async def test_lists_may_be_packed_as_they_arrive() -> None:
    def pack(record: Record) -> Record:
        return Record(record.resource, record.key, record.metadata, record.raw[::-1], Packing())

    page = {"kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": [pod("a", 5), pod("b", 6)]}
    body = json.dumps(page, separators=(",", ":")).encode()
    plain = source(Answer(body), Answer(body))
    packed = await plain.packing(pack).list()
    assert packed == await plain.list()
    assert [record.packing is not None for record in packed.records] == [True, False]


async def test_a_watch_yields_what_one_read_completes() -> None:
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
    whole = line("ADDED", pod("a", 2)) + line("MODIFIED", pod("a", 3)) + line("BOOKMARK", bookmark)
    answer = Answer(whole[:10], whole[10:-5], whole[-5:])
    method = Method(answer)
    async with KubernetesAsyncioSource(method, resource=PODS).watch(version="1", timeout=300) as stream:
        batches = [[(event.type, event.version) for event in batch] async for batch in stream]
        assert not answer.is_closed
    assert batches == [[(EventType.ADDED, "2"), (EventType.MODIFIED, "3")], [(EventType.BOOKMARK, "9")]]
    assert method.said == [
        {
            "watch": True,
            "resource_version": "1",
            "timeout_seconds": 300,
            "allow_watch_bookmarks": True,
            "_preload_content": False,
        }
    ]
    assert answer.is_closed


async def test_an_error_in_the_stream_and_a_line_that_is_none_are_events() -> None:
    events = await all_of(source(Answer(b"garbage\n" + line("ERROR", json.loads(status(410, "Expired"))))))
    assert [type(event.error) for event in events] == [DecodeError, ExpiredError]


REFUSALS = [
    (403, "Forbidden", ForbiddenError),
    (410, "Expired", ExpiredError),
    (429, "TooManyRequests", ThrottledError),
    (500, "InternalError", ServerError),
]


@pytest.mark.parametrize(("code", "reason", "error"), REFUSALS)
async def test_a_refusal_is_one_of_our_errors(code: int, reason: str, error: type[Exception]) -> None:
    for ask in (KubernetesAsyncioSource.list, all_of):
        answer = Answer(status(code, reason), status=code, retry_after="7")
        with pytest.raises(error, match=reason) as caught:
            await ask(source(answer))
        assert getattr(caught.value, "retry_after", None) == 7.0
        assert answer.is_closed


@pytest.mark.parametrize(("code", "reason", "error"), REFUSALS)
@pytest.mark.parametrize("form", [bytes, bytes.decode])
async def test_an_exception_of_a_wrapped_method_is_the_same_error(
    code: int, reason: str, error: type[Exception], form: Callable[[bytes], Any]
) -> None:
    raised: Any = ApiException(status=code, reason="X")
    raised.body, raised.headers = form(status(code, reason)), {"retry-after": "7"}
    for ask in (KubernetesAsyncioSource.list, all_of):
        with pytest.raises(error, match=reason) as caught:
            await ask(source(raised))
        assert getattr(caught.value, "retry_after", None) == 7.0
        assert caught.value.__cause__ is raised


async def test_an_exception_that_says_nothing_is_told_by_its_reason() -> None:
    with pytest.raises(ServerError, match="Bad Gateway"):
        await source(ApiException(status=502, reason="Bad Gateway")).list()


def refused() -> Exception:
    key: Any = SimpleNamespace(host="host", port=443, is_ssl=True, ssl=True)
    return aiohttp.ClientConnectorError(key, OSError(111, "Connection refused"))


LOSSES = [
    (refused(), True),
    (aiohttp.ServerDisconnectedError(), False),
    (aiohttp.ClientPayloadError("Response payload is not completed"), False),
    (aiohttp.ClientOSError(104, "Connection reset by peer"), False),
    (ConnectionResetError(), False),
    (TimeoutError(), False),
    (aiohttp.SocketTimeoutError(), False),
]


@pytest.mark.parametrize(("loss", "is_refused"), LOSSES)
async def test_a_lost_connection_is_a_transport_error_wherever_it_is_lost(
    loss: Exception, is_refused: bool
) -> None:
    for ask in (KubernetesAsyncioSource.list, all_of):
        for answer in (loss, Answer(b"{", loss)):
            with pytest.raises(
                TransportError, match=r"pods: (the server cannot|the connection was lost)"
            ) as caught:
                await ask(source(answer))
            assert caught.value.refused is is_refused
            assert caught.value.__cause__ is loss
            assert loss.__traceback__ is None
            assert not isinstance(answer, Answer) or answer.is_closed


async def test_a_refusal_whose_body_is_lost_is_still_a_refusal() -> None:
    with pytest.raises(ForbiddenError, match=r"^the watch of pods: the server gave no message"):
        await all_of(source(Answer(aiohttp.ClientPayloadError(), status=403)))


async def test_events_before_a_loss_are_given_first() -> None:
    answer = Answer(line("ADDED", pod("a", 2)), aiohttp.ClientPayloadError("cut"))
    seen: list[WatchEvent] = []
    with pytest.raises(TransportError, match="cut"):
        async with source(answer).watch(version="1") as batches:
            async for batch in batches:
                seen += batch
    assert [event.version for event in seen] == ["2"]


async def test_a_method_that_knows_no_watch_list_says_so_and_any_other_mistake_passes() -> None:
    mistake = TypeError("unexpected keyword argument 'send_initial_events'")
    with pytest.raises(BadRequestError, match="no watch-list can be asked for: unexpected keyword"):
        async with source(mistake).watch(initial_events=True):
            pass
    with pytest.raises(TypeError, match="unexpected keyword"):
        await source(mistake).list()


async def test_a_method_that_does_not_hand_the_keywords_on_is_told() -> None:
    async def method(**keywords: Any) -> Any:
        return {"items": []}

    for ask in (KubernetesAsyncioSource.list, all_of):
        with pytest.raises(
            TypeError, match="gave dict instead of an unread answer: hand the keyword _preload_content on"
        ):
            await ask(KubernetesAsyncioSource(method, resource=PODS))


async def at(clock: FakeClock, moment: float, asking: Awaitable[Any]) -> str:
    """What asking fails with, at that moment and not before."""
    said: list[str] = []

    async def ask() -> None:
        with pytest.raises(TransportError) as caught:
            await asking
        said.append(str(caught.value))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await clock.advance(moment - 0.1)
        assert not said
        await clock.advance(0.1)
    return said[0]


async def test_a_server_that_says_nothing_is_given_up_on() -> None:
    for ask in (KubernetesAsyncioSource.list, all_of):
        for answer in (anyio.Event(), Answer(anyio.Event())):
            if ask is all_of and isinstance(answer, Answer):
                continue
            clock = FakeClock()
            assert "no answer within 65 s" in await at(clock, 65, ask(source(answer, clock=clock)))
            assert not isinstance(answer, Answer) or answer.is_closed


async def test_a_refusal_that_never_ends_is_given_up_on() -> None:
    clock = FakeClock()
    answer = Answer(anyio.Event(), status=403)
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(ForbiddenError):
                await all_of(source(answer, clock=clock))

        tasks.start_soon(ask)
        await clock.advance(65)
    assert answer.is_closed


@pytest.mark.parametrize(("timeout", "moment"), [(300, 330), (0, 3630)])
async def test_a_server_that_does_not_end_a_watch_in_its_time_is_given_up_on(
    timeout: int, moment: int
) -> None:
    clock = FakeClock()
    answer = Answer(anyio.Event())

    async def watch() -> None:
        async with source(answer, clock=clock).watch(timeout=timeout) as batches:
            async for _ in batches:
                pass

    assert "has not ended the stream in its time" in await at(clock, moment, watch())
    assert answer.is_closed


async def test_cancelling_anywhere_closes_the_answer_and_leaves_no_timer() -> None:
    clock = FakeClock()
    for ask in (KubernetesAsyncioSource.list, all_of):
        for answer in (anyio.Event(), Answer(anyio.Event()), Answer(anyio.Event(), status=500)):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, source(answer, clock=clock))
                await settle()
                tasks.cancel_scope.cancel()
            assert clock.next_timer is None
            assert not isinstance(answer, Answer) or answer.is_closed


async def test_an_error_of_whoever_watches_is_not_taken_for_the_servers() -> None:
    answer = Answer(line("ADDED", pod("a", 2)))
    with pytest.raises(OSError, match="mine"):
        async with source(answer).watch() as batches:
            async for _ in batches:
                raise OSError("mine")
    assert answer.is_closed


def test_a_source_says_what_it_is_of() -> None:
    assert repr(source()) == "<pods by kubernetes-asyncio>"
    assert source().resource == PODS
