"""ResourceReader: the verbs of one resource that change nothing."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from kinformer.client._calls import Call, list_params, watch_params
from kinformer.client._codec import decode_record
from kinformer.client._filters import Fields, Labels
from kinformer.client._listing import ListDecoder
from kinformer.client._pages import PAGE_SIZE, join, modelled, paginate
from kinformer.client._target import Target
from kinformer.client._watch import open_watch
from kinformer.clock import Clock
from kinformer.meta import Object, ObjectKey, ObjectList, Pack, Resource, WatchEvent

if TYPE_CHECKING:
    from kinformer.client._http import Http

__all__ = ["ResourceReader"]

T = TypeVar("T")


class ResourceReader(Generic[T]):
    """Reads and watches the objects of one resource as ``T``; the half of a ``ResourceClient`` that changes nothing.

    It is immutable, costs nothing, and may be made before the client is entered. Keys are ``"namespace/name"``,
    ``"name"`` for cluster scope, or ``ObjectKey``. Filters that are left out are those of ``where``; without any,
    ``list`` and ``watch`` are about the whole cluster.

    What fails is raised as one of ``kinformer.errors``, mistakes of the caller as ``ValueError`` or ``TypeError``
    before anything is sent. All verbs but ``watch`` repeat a request that is safe to repeat; the page about
    ``kinformer.client`` in the reference has the table. For a reflector, which counts its own tries, take
    ``without_retries()``: one of ``Object`` is a ``Source``, and ``where(...).without_retries()`` is the one to give to it.
    """

    __slots__ = ("_http", "_model", "_pack", "_retries", "_target")

    def __init__(
        self, http: "Http", target: Target, model: type[T], *, retries: bool = True, pack: Pack | None = None
    ) -> None:
        self._http = http
        self._target = target
        self._model = model
        self._retries = retries
        self._pack = pack

    @property
    def resource(self) -> Resource:
        """The resource whose objects are read and written."""
        return self._target.objects

    @property
    def namespace(self) -> str:
        """The namespace of ``where``; ``""`` where none is given, and ``list`` and ``watch`` are about all."""
        return self._target.filters.namespace

    @property
    def model(self) -> type[T]:
        """The type that objects are decoded into."""
        return self._model

    @property
    def clock(self) -> Clock:
        """The client's clock."""
        return self._http.clock

    def where(
        self, *, namespace: str | None = None, labels: Labels | None = None, fields: Fields | None = None
    ) -> Self:
        """One that has these filters as defaults; ``None`` keeps what is there, ``""`` takes it away.

        Raises:
            ValueError: A selector does not follow its grammar, or a cluster-scoped resource is given a namespace.
        """
        target = self._target.where(namespace, labels, fields)
        return type(self)(self._http, target, self._model, retries=self._retries, pack=self._pack)

    def without_retries(self) -> Self:
        """One that makes each request once, as a reflector's source must."""
        return type(self)(self._http, self._target, self._model, retries=False, pack=self._pack)

    def packing(self, pack: Pack) -> Self:
        """One whose lists are of packed records, each packed as it arrives; a last few may come as they are."""
        return type(self)(self._http, self._target, self._model, retries=self._retries, pack=pack)

    def key(self, key: ObjectKey | str) -> ObjectKey:
        """Read a key as the verbs do: a bare name is in the namespace of ``where``.

        Raises:
            ValueError: It is no key, or does not fit the scope of the resource.
        """
        return self._target.key(key)

    async def get(self, key: ObjectKey | str, *, version: str = "") -> T:
        """Read one object.

        Args:
            key: Which one.
            version: ``""`` for the most recent state, ``"0"`` for any that a cache may hold, or one seen before, than
                which it must not be older.

        Raises:
            NotFoundError: There is none.
        """
        return self._decode(
            await self._send(Call("GET", self._target.item(key), {"resourceVersion": version}))
        )

    async def list(
        self,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        version: str = "",
        version_match: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectList[T]:
        """Read the objects that there are: all of them in one request, or one page if there is a ``limit``.

        Args:
            namespace: Only there; ``""`` means all namespaces.
            labels: Only objects with such labels.
            fields: Only objects with such fields; which fields may be asked for is the server's choice.
            version: ``""`` for the most recent state, ``"0"`` for any that a cache may hold, or one seen before.
            version_match: ``"Exact"`` or ``"NotOlderThan"``: how ``version`` is meant; ``""`` is the server's default.
            limit: How many objects a page has at most. Then the answer is one page; see ``pages`` for all of them.
            continue_token: That of the page before; ``version`` and ``version_match`` must be left out with it.

        Raises:
            ExpiredError: The version or the token is older than what the server remembers.
            ValueError: A limit is negative, or there is a version beside a token.
        """
        read = partial(self._page, self._target.where(namespace, labels, fields))
        page = await read(version, version_match, limit, continue_token)
        if limit or not page.continue_token:
            return page
        # Nobody asked for pages, but something on the way makes them all the same: a list is whole.
        rest = paginate(read, version="", version_match="", limit=0, continue_token=page.continue_token)
        return join([page, *[page async for page in rest]])

    async def pages(
        self,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        version: str = "",
        version_match: str = "",
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[ObjectList[T]]:
        """Read the objects page by page, so that neither side holds all of them at once.

        All pages show one moment and have its version. If that moment is forgotten before the last page was asked
        for, the whole list is read anew, and comes as one last page of another version: whoever collects pages drops
        what there was (``pager.ListPager`` does the same).

        Args:
            namespace: As for ``list``, and so are the others.
            labels: Likewise.
            fields: Likewise.
            version: Likewise.
            version_match: Likewise.
            limit: How many objects a page has at most.
        """
        if limit < 1:
            raise ValueError(f"limit {limit} must be positive")
        read = partial(self._page, self._target.where(namespace, labels, fields))
        async for page in paginate(read, version=version, version_match=version_match, limit=limit):
            yield page

    def watch(
        self,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        version: str = "",
        timeout: int = 0,
        bookmarks: bool = True,
        initial_events: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent]]]:
        """Hear of changes: ``async with client.watch(...) as batches: async for batch in batches: ...``.

        A batch is what one read completed, at least one event, in the server's order. The iteration ends when the
        server ends the stream, which it does after ``timeout``; nothing is tried again here. An event of type
        ``ERROR`` is what the server said last, or stands for one object that could not be read (``DecodeError``),
        after which the stream goes on. Leaving the block, or being cancelled in it, closes the connection.

        Args:
            namespace: As for ``list``.
            labels: As for ``list``. An object that stops matching comes as ``DELETED``.
            fields: As for ``list``.
            version: Changes after this one; ``""`` or ``"0"`` begin with what there is, as ``ADDED`` events.
            timeout: Whole seconds after which the server ends the stream; 0 leaves it to the server (30 to 60 min).
            bookmarks: Ask for events that tell the version and nothing else.
            initial_events: Ask for a watch-list: what there is, then a bookmark that says so (KEP-3157).

        Raises:
            ApiError: From entering: the server refused.
            TransportError: From entering or iterating: no connection, or it was lost; or the server did not end the
                stream within 30 s after its time.
        """
        target = self._target.where(namespace, labels, fields)
        params = watch_params(version, timeout, bookmarks=bookmarks, initial_events=initial_events)
        call = Call("GET", target.collection(), target.filters.params | params)
        return open_watch(self._http, call, target.objects, timeout=timeout)

    async def _send(self, call: Call) -> bytes:
        return await self._http.request(call, retries=self._retries)

    async def _page(
        self, target: Target, version: str, version_match: str, limit: int, continue_token: str
    ) -> ObjectList[T]:
        params = target.filters.params | list_params(version, version_match, limit, continue_token)
        call = Call("GET", target.collection(), params)
        page = await self._http.receive(
            call, partial(ListDecoder, target.objects, self._pack), retries=self._retries
        )
        return modelled(page, self._model)

    def _decode(self, body: bytes) -> T:
        return Object(decode_record(body, self._target.objects)).decode(self._model)

    def __repr__(self) -> str:
        return f"<client of {self._target}>"
