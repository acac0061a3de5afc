"""WatchStream: a watch as a response that does not end (rules X-5, X-8, X-10, T-4).

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import anyio
import msgspec
from starlette.types import Receive, Scope, Send

from kinformer.apiserver.http._columns import Column
from kinformer.apiserver.http._replies import internal_error
from kinformer.apiserver.http._views import metadata_only, table
from kinformer.apiserver.registry import StatusError
from kinformer.apiserver.rest import Event, StoredObject
from kinformer.clock import Clock

__all__ = ["STREAMS", "Frame", "Streams", "WatchStream", "frame_metadata", "frame_object", "table_frames"]

_log = logging.getLogger("kinformer.apiserver")

Frame = Callable[[Event], bytes]
"""Writes an event as a line, once for all who want the same form of it."""

STREAMS: Final = "kinformer.streams"
"""The ASGI extension under which a server passes ``Streams`` of its own, so that it can end what it serves."""

_PIECE: Final = 1024 * 1024
"""Bytes from which on a batch is sent in several pieces: the first state of a large collection is one batch."""

_HEADERS: Final = ((b"content-type", b"application/json"), (b"cache-control", b"no-cache, private"))
_END: Final = {"type": "http.response.body", "body": b"", "more_body": False}
_IN_STREAM: Final = {410, 504}
"""Failures to open that the real server tells inside the stream, since clients crash on the HTTP form (X-8)."""


class Streams:
    """The streams that are open, so that a server that stops can end them; each ends as at its deadline."""

    def __init__(self) -> None:
        self._scopes: set[anyio.CancelScope] = set()

    def __len__(self) -> int:
        return len(self._scopes)

    def end_all(self) -> None:
        """Let every open stream write its end and return."""
        for scope in list(self._scopes):
            scope.cancel()

    def add(self, scope: anyio.CancelScope) -> None:
        """Note an open stream by the scope that ends it."""
        self._scopes.add(scope)

    def discard(self, scope: anyio.CancelScope) -> None:
        """Forget one that has ended."""
        self._scopes.discard(scope)


class WatchStream:
    """An ASGI response: one line for each event, one ``send`` for each batch of up to 1 MiB.

    The head goes out before the first event. The client's disconnect ends the watch at once. A failure inside is an
    ERROR event and the end.

    Args:
        watch: The watch, not yet entered; what entering raises is left to the caller, as nothing was sent then.
        frame: Writes the lines.
        streams: Where to be found while open.
        headers: Further headers.
    """

    def __init__(
        self,
        watch: AbstractAsyncContextManager[AsyncIterator[Sequence[Event]]],
        frame: Frame,
        streams: Streams,
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        self._watch = watch
        self._frame = frame
        self._streams = streams
        self._begin = {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *headers]}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the watch ends, the client goes or the server stops."""
        registers = [self._streams]
        if STREAMS in scope.get("extensions", {}):
            registers.append(scope["extensions"][STREAMS])
        try:
            async with self._watch as batches:
                await send(self._begin)
                await self._pump(batches, registers, receive, send)
        except StatusError as error:
            if error.code not in _IN_STREAM:
                raise
            await send(self._begin)
            await send(_body(_error_line(error)))
        await send(_END)

    async def _pump(
        self,
        batches: AsyncIterator[Sequence[Event]],
        registers: Sequence[Streams],
        receive: Receive,
        send: Send,
    ) -> None:
        async with anyio.create_task_group() as tasks:
            scope = tasks.cancel_scope
            for streams in registers:
                streams.add(scope)
            try:
                tasks.start_soon(_end_on_disconnect, receive, scope)
                try:
                    async for batch in batches:
                        for piece in _pieces(map(self._frame, batch)):
                            await send(_body(piece))
                except StatusError as error:
                    await send(_body(_error_line(error)))
                except Exception as error:  # noqa: BLE001 -- whatever it is, the client hears of it
                    _log.exception("a watch failed")
                    await send(_body(_error_line(internal_error(error))))
            finally:
                for streams in registers:
                    streams.discard(scope)
            scope.cancel()


def frame_object(event: Event) -> bytes:
    """The whole object."""
    return event.line


def frame_metadata(version: str) -> Frame:
    """Frames with ``PartialObjectMetadata`` of ``meta.k8s.io/<version>``."""
    name = "metadata", version

    def frame(event: Event) -> bytes:
        return event.form(name, encode)

    def encode(event: Event) -> bytes:
        if not isinstance(event.obj, StoredObject):
            return event.line
        return _line(event.type, metadata_only(event.obj.content, version=version))

    return frame


def table_frames(columns: Sequence[Column], *, version: str, include: str, clock: Clock) -> Frame:
    """Frames with tables of one row, for one stream: only the first has the column definitions.

    An age is that of the moment when the first of all who watch asked for the table.
    """
    with_columns = True
    first, later = (("table", version, include, with_columns) for with_columns in (True, False))

    def frame(event: Event) -> bytes:
        nonlocal with_columns
        line = event.form(first if with_columns else later, encode)
        with_columns = with_columns and event.type == "ERROR"
        return line

    def encode(event: Event) -> bytes:
        if event.type == "ERROR":
            return event.line
        content = event.obj.content if isinstance(event.obj, StoredObject) else event.obj
        shown = table(
            [content],
            columns,
            version=version,
            now=clock.now(),
            include=include,
            metadata={"resourceVersion": content["metadata"].get("resourceVersion", "")},
            with_columns=with_columns,
        )
        return _line(event.type, shown)

    return frame


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines put together, in one piece if it is not too large."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


async def _end_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass  # what is left of a request body
    scope.cancel()


def _body(lines: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": lines, "more_body": True}


def _line(event: str, obj: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": event, "object": obj}) + b"\n"


def _error_line(error: StatusError) -> bytes:
    return _line("ERROR", error.to_status())
