"""KubernetesAsyncioSource: a reflector's source that asks through a client of kubernetes-asyncio.

Its methods are told to leave the answer unread, so that objects are decoded by our codec and never by its models, which
costs fifty times as much. Nothing of the package is imported before something of it has failed.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from copy import copy
from functools import cache
from typing import Any, Final, Self

from kinformer.client._codec import WatchDecoder
from kinformer.client._filters import Fields, Labels
from kinformer.client._frames import forget_frames
from kinformer.client._list_method import (
    ListMethod,
    list_keywords,
    list_method,
    list_of_any,
    watch_keywords,
)
from kinformer.client._listing import ListDecoder
from kinformer.client._status import from_response
from kinformer.client._target import Target
from kinformer.client._watch import GRACE, LONGEST, Batches
from kinformer.clock import Clock
from kinformer.errors import BadRequestError, RequestError, TransportError
from kinformer.meta import Object, ObjectList, Pack, Resource, WatchEvent
from kinformer.system_clock import SystemClock

__all__ = ["KubernetesAsyncioSource"]

_TIMEOUT: Final = 65.0
"""Seconds: a server gives up on a request after 60 (``--request-timeout``)."""


class KubernetesAsyncioSource:
    """A ``Source`` for reflectors and informers over kubernetes-asyncio.

    ```python
    KubernetesAsyncioSource(CoreV1Api(api_client).list_namespaced_pod, "default", label_selector="app=web")
    KubernetesAsyncioSource.over(api_client, Resource.builtin("Pod"), namespace="default", labels="app=web")
    ```

    Credentials, TLS and connections are the ``ApiClient``'s, whose pool has ``connection_pool_maxsize`` connections, 100
    by default: each watch holds one. It must stay open for as long as the source is used, and nothing here closes it.
    Errors are those of ``kinformer.errors``.

    Args:
        method: A ``list_*`` method of one of the API classes, or a ``functools.partial`` of one, or any other function
            that takes the same keywords and hands them on.
        args: Its arguments, such as the namespace.
        resource: What it lists. Methods of built-in kinds say so themselves, those of custom objects do not.
        timeout: Seconds that a LIST, or the opening of a WATCH, may take.
        clock: Measures them.
        keywords: Its keywords, such as ``label_selector``. What a reflector decides about cannot be among them:
            versions, pages, bookmarks, timeouts.

    Raises:
        TypeError: The method does not take these arguments.
        ValueError: It does not say what it lists, or it is not ``resource``; or a keyword cannot be given.
    """

    def __init__(
        self,
        method: ListMethod,
        *args: Any,
        resource: Resource | None = None,
        timeout: float = _TIMEOUT,
        clock: Clock | None = None,
        **keywords: Any,
    ) -> None:
        self._method, self._resource = list_method(method, args, keywords, resource)
        self._timeout: Final = timeout
        self._clock: Final = clock or SystemClock()
        self._pack: Pack | None = None

    @classmethod
    def over(
        cls,
        api_client: Any,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        timeout: float = _TIMEOUT,
        clock: Clock | None = None,
    ) -> Self:
        """One for any resource, custom ones too.

        Args:
            api_client: An ``ApiClient``.
            resource: What is listed.
            namespace: Only there; everywhere by default.
            labels: Only objects with such labels.
            fields: Only objects with such fields.
            timeout: As above.
            clock: As above.

        Raises:
            ValueError: A selector does not follow its grammar, or a cluster-scoped resource is given a namespace.
        """
        target = Target(resource).where(namespace, labels, fields)
        method = list_of_any(api_client, target.collection(), target.filters.params)
        return cls(method, resource=resource, timeout=timeout, clock=clock)

    @property
    def resource(self) -> Resource:
        """What is listed and watched."""
        return self._resource

    def packing(self, pack: Pack) -> Self:
        """One whose lists are of packed records, each packed as it arrives; a last few may come as they are."""
        packing = copy(self)
        packing._pack = pack
        return packing

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        """One page of a list; see ``Source``.

        Raises:
            RequestError: No answer, no usable answer, or a refusal.
        """
        what, page = f"the list of {self._resource}", None
        try:
            with self._clock.move_on_after(self._timeout):
                response = await self._open(list_keywords(version, version_match, limit, continue_token))
                with closing(response):
                    page = await self._received(response, what)
        except _failures() as error:
            raise _ours(what, error) from error
        if page is None:
            raise TransportError(f"{what}: no answer within {self._timeout:g} s")
        return page

    def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent]]]:
        """Open a watch; see ``Source``. Leaving the block, or being cancelled in it, closes the connection.

        Raises:
            RequestError: From entering and from the iteration. ``BadRequestError`` from entering where a watch-list is
                asked for, and the method has no keyword for that, as those of custom objects have none.
        """
        return self._watch(
            watch_keywords(version, timeout, bookmarks=bookmarks, initial_events=initial_events),
            (timeout or LONGEST) + GRACE,
        )

    @asynccontextmanager
    async def _watch(
        self, keywords: dict[str, Any], within: float
    ) -> AsyncGenerator[AsyncIterator[Sequence[WatchEvent]]]:
        what, response = f"the watch of {self._resource}", None
        until = self._clock.monotonic() + within
        try:
            with self._clock.move_on_after(self._timeout):
                response = await self._open(keywords)
        except _failures() as error:
            raise _ours(what, error) from error
        if response is None:
            raise TransportError(f"{what}: no answer within {self._timeout:g} s")
        with closing(response):
            chunks = _Chunks(what, response, self._clock, until)
            if response.status != 200:
                rest = await chunks.rest(self._timeout)
                raise from_response(response.status, rest, response.headers, call=what)
            yield Batches(chunks, WatchDecoder(self._resource, what))

    async def _received(self, response: Any, what: str) -> ObjectList[Object]:
        if not 200 <= response.status < 300:
            raise from_response(response.status, await response.read(), response.headers, call=what)
        decoder = ListDecoder(self._resource, self._pack)
        while chunk := await response.content.readany():
            decoder.feed(chunk)
        return decoder.finish()

    async def _open(self, keywords: dict[str, Any]) -> Any:
        try:
            response = await self._method(**keywords)
        except TypeError as error:
            if "send_initial_events" not in keywords:
                raise
            raise BadRequestError(400, "BadRequest", f"no watch-list can be asked for: {error}") from error
        if not hasattr(response, "read"):
            raise TypeError(
                f"{self._method} gave {type(response).__name__} instead of an unread answer: "
                "hand the keyword _preload_content on"
            )
        return response

    def __repr__(self) -> str:
        return f"<{self._resource} by kubernetes-asyncio>"


class _Chunks:
    """What arrives, as it arrives, until a moment."""

    def __init__(self, what: str, response: Any, clock: Clock, until: float) -> None:
        self._what = what
        self._response = response
        self._clock = clock
        self._until = until

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            with self._clock.move_on_after(self._until - self._clock.monotonic()):
                chunk: bytes = await self._response.content.readany()
                if chunk:
                    return chunk
                raise StopAsyncIteration
        except _failures() as error:
            raise _ours(self._what, error) from error
        raise TransportError(f"{self._what}: the server has not ended the stream in its time")

    async def rest(self, timeout: float) -> bytes:
        """The body of a refusal, or nothing if it cannot be had."""
        try:
            with self._clock.move_on_after(timeout):
                body: bytes = await self._response.read()
                return body
        except _failures():
            pass
        return b""


@cache
def _failures() -> tuple[type[Exception], ...]:
    """What aiohttp and kubernetes-asyncio raise. Asked for when there is something to catch, so that they are there."""
    from aiohttp import ClientError
    from kubernetes_asyncio.client.exceptions import ApiException

    return ApiException, ClientError, OSError  # a TimeoutError is an OSError


def _ours(what: str, error: Any) -> RequestError:
    """What a source raises in its place."""
    from aiohttp import ClientConnectorError
    from kubernetes_asyncio.client.exceptions import ApiException

    if isinstance(error, ApiException):  # of methods that somebody wrapped
        body: Any = error.body or str(error.reason)
        content = body if isinstance(body, bytes) else body.encode()
        return from_response(error.status or 0, content, error.headers, call=what)
    refused = isinstance(error, ClientConnectorError)
    forget_frames(error)
    said = "the server cannot be reached" if refused else "the connection was lost"
    return TransportError(f"{what}: {said}: {str(error) or type(error).__name__}", refused=refused)
