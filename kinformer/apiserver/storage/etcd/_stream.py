"""EtcdStream: a stream of watches of a real etcd."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import grpc.aio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from kinformer.apiserver.storage._errors import UnavailableError
from kinformer.apiserver.storage._watch_messages import WatchRequest, WatchResponse
from kinformer.apiserver.storage.etcd._calls import Calls
from kinformer.apiserver.storage.etcd._messages import MESSAGES
from kinformer.apiserver.storage.etcd._wire import watch_create, watch_response
from kinformer.tasks import has_cancellation, open_task_group

__all__ = ["EtcdStream", "open_stream"]

_RESPONSES: Final = 16
"""How many are read ahead. More wait in etcd, which has its own way with slow clients."""


class EtcdStream:
    """A ``WatchStream`` of an etcd; made by ``open_stream``.

    Requests wait in a line that is as long as the number of requests made. ``__anext__`` raises ``UnavailableError``
    once the connection is cut.
    """

    def __init__(
        self,
        requests: MemoryObjectSendStream[Any],
        responses: MemoryObjectReceiveStream[WatchResponse],
        failures: list[Exception],
    ) -> None:
        self._requests = requests
        self._responses = responses
        self._failures = failures

    def create(self, request: WatchRequest) -> None:
        """Open a watch."""
        self._requests.send_nowait(watch_create(request))

    def cancel(self, watch_id: int) -> None:
        """End a watch."""
        cancel = MESSAGES["WatchCancel"](watch_id=watch_id)
        self._requests.send_nowait(MESSAGES["WatchRequest"](cancel=cancel))

    def request_progress(self) -> None:
        """Ask how far the whole stream has come."""
        self._requests.send_nowait(MESSAGES["WatchRequest"](progress=MESSAGES["WatchProgress"]()))

    def __aiter__(self) -> "EtcdStream":
        return self

    async def __anext__(self) -> WatchResponse:
        """Wait for the next response."""
        try:
            return await self._responses.receive()
        except anyio.EndOfStream:
            cause = self._failures[0]
            raise UnavailableError(str(cause)) from cause


@asynccontextmanager
async def open_stream(calls: Calls) -> AsyncIterator[EtcdStream]:
    """Open a stream; two tasks pump until the block ends, since a read of gRPC's that is cancelled ends the call.

    Raises:
        UnavailableError: Somebody has to log in, and cannot.
    """
    await calls.log_in()
    to_send, requests = anyio.create_memory_object_stream[Any](float("inf"))
    responses, received = anyio.create_memory_object_stream[WatchResponse](_RESPONSES)
    failures: list[Exception] = []
    with to_send, requests, responses, received, calls.watch() as call:
        async with open_task_group() as tasks:
            tasks.start_soon(_write, call, requests)
            tasks.start_soon(_read, call, calls, responses, failures)
            yield EtcdStream(to_send, received, failures)
            tasks.cancel_scope.cancel()


async def _write(call: Any, requests: MemoryObjectReceiveStream[Any]) -> None:
    try:
        async for message in requests:
            await call.write(message)
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
        return  # the call is over, of which its reader tells


async def _read(
    call: Any, calls: Calls, responses: MemoryObjectSendStream[WatchResponse], failures: list[Exception]
) -> None:
    try:
        while (message := await call.read()) is not grpc.aio.EOF:
            await responses.send(watch_response(message))
        failures.append(calls.failure(await call.details() or "it ended the stream"))
    except grpc.aio.AioRpcError as error:
        failures.append(calls.failure(error.details() or error.code().name))
    except asyncio.CancelledError:
        if has_cancellation():
            raise
        failures.append(calls.failure("the connection was closed"))  # which gRPC tells in this way
    responses.close()
