"""ResourceClient: the verbs of one resource."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kinformer.client._body import Body, encode_body, encode_patch
from kinformer.client._calls import (
    PATCHES,
    Call,
    PatchKind,
    Propagation,
    delete_options,
    list_params,
    watch_params,
    write_params,
)
from kinformer.client._codec import decode_list, decode_record
from kinformer.client._filters import Fields, Labels
from kinformer.client._pages import PAGE_SIZE, join, modelled, paginate
from kinformer.client._target import Target
from kinformer.client._watch import open_watch
from kinformer.clock import Clock
from kinformer.meta import Object, ObjectKey, ObjectList, Resource, WatchEvent

if TYPE_CHECKING:
    from kinformer.client._http import Http

__all__ = ["ResourceClient"]

T = TypeVar("T")


class ResourceClient(Generic[T]):
    """Reads, watches and writes the objects of one resource as ``T``.

    It is made by ``Client.resource``, is immutable, costs nothing, and may be made before the client is entered. Keys
    are ``"namespace/name"``, ``"name"`` for cluster scope, or ``ObjectKey``. Filters that are left out are those of
    ``where``; without any, ``list`` and ``watch`` are about the whole cluster.

    What fails is raised as one of ``kinformer.errors``, mistakes of the caller as ``ValueError`` or ``TypeError``
    before anything is sent. All verbs but ``watch`` repeat a request that is safe to repeat (see
    ``kinformer.client._retry``). For a reflector, which counts its own tries, take ``without_retries()``: a
    ``ResourceClient[Object]`` is a ``Source``, and ``where(...).without_retries()`` is the one to give to it.
    """

    __slots__ = ("_http", "_model", "_retries", "_target")

    def __init__(self, http: "Http", target: Target, model: type[T], *, retries: bool = True) -> None:
        self._http = http
        self._target = target
        self._model = model
        self._retries = retries

    @property
    def resource(self) -> Resource:
        """The resource whose objects are read and written."""
        return self._target.objects

    @property
    def model(self) -> type[T]:
        """The type that objects are decoded into."""
        return self._model

    @property
    def clock(self) -> Clock:
        """The client's clock."""
        return self._http.clock

    @property
    def status(self) -> "ResourceClient[T]":
        """The same objects' ``status`` subresource: ``get``, ``replace``, ``patch``, ``apply``."""
        return ResourceClient(self._http, self._target.below("status"), self._model, retries=self._retries)

    @property
    def scale(self) -> "ResourceClient[Object]":
        """The ``scale`` subresource, whose objects are ``Scale`` of ``autoscaling/v1``."""
        return ResourceClient(self._http, self._target.below("scale"), Object, retries=self._retries)

    @property
    def untyped(self) -> "ResourceClient[Object]":
        """One that gives ``Object`` instead of ``T``."""
        return ResourceClient(self._http, self._target, Object, retries=self._retries)

    def where(
        self, *, namespace: str | None = None, labels: Labels | None = None, fields: Fields | None = None
    ) -> "ResourceClient[T]":
        """One that has these filters as defaults; ``None`` keeps what is there, ``""`` takes it away.

        Raises:
            ValueError: A selector does not follow its grammar, or a cluster-scoped resource is given a namespace.
        """
        target = self._target.where(namespace, labels, fields)
        return ResourceClient(self._http, target, self._model, retries=self._retries)

    def without_retries(self) -> "ResourceClient[T]":
        """One that makes each request once, as a reflector's source must."""
        return ResourceClient(self._http, self._target, self._model, retries=False)

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
        """
        if limit < 0:
            raise ValueError(f"limit {limit} must be 0 for no limit, or positive")
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

    async def create(
        self, obj: Body, *, namespace: str | None = None, field_manager: str = "", dry_run: bool = False
    ) -> T:
        """Create an object and return it as the server stored it.

        Args:
            obj: The object. It may have ``metadata.generateName`` instead of a name.
            namespace: Where to, if the object does not say so itself.
            field_manager: Who owns the fields that are set; ``""`` means what the user agent says.
            dry_run: Do everything but store it.

        Raises:
            AlreadyExistsError: There is one of this name.
            InvalidError: The server found a fault in it.
            ValueError: The object and ``namespace`` disagree, or neither says where to.
        """
        body = encode_body(obj, self._target.objects)
        target = self._target.where(self._target.home_of(body, namespace), None, None)
        params = write_params(field_manager, dry_run=dry_run)
        return self._decode(await self._send(Call("POST", target.collection(), params, body.content)))

    async def replace(
        self, obj: Body, *, namespace: str | None = None, field_manager: str = "", dry_run: bool = False
    ) -> T:
        """Put an object in the place of the one that has its name, and return it as the server stored it.

        Raises:
            ConflictError: The object has a ``metadata.resourceVersion``, and it is not that of the stored one.
            NotFoundError: There is no such object.
            ValueError: It has no name, or as for ``create``.
        """
        body = encode_body(obj, self._target.objects)
        path = self._target.item_of(body, namespace)
        params = write_params(field_manager, dry_run=dry_run)
        return self._decode(await self._send(Call("PUT", path, params, body.content)))

    async def patch(
        self,
        key: ObjectKey | str,
        patch: Body | Sequence[Mapping[str, Any]],
        *,
        kind: PatchKind = "merge",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> T:
        """Change parts of an object and return it as the server stored it.

        A patch does not conflict with other writes, unless it contains a ``metadata.resourceVersion``.

        Args:
            key: Which one.
            patch: For ``"json"`` a list of operations, else a mapping or model of what changes.
            kind: How it is meant.
            field_manager: Who owns the fields that are set.
            dry_run: Do everything but store it.

        Raises:
            NotFoundError: There is no such object.
            InvalidError: The patch does not apply, or what comes out of it is not valid.
        """
        if kind not in PATCHES:
            raise ValueError(f"patch kind {kind!r} must be one of {', '.join(PATCHES)}")
        params = write_params(field_manager, dry_run=dry_run)
        call = Call("PATCH", self._target.item(key), params, encode_patch(patch), PATCHES[kind])
        return self._decode(await self._send(call))

    async def apply(
        self,
        obj: Body,
        *,
        field_manager: str,
        force: bool = False,
        namespace: str | None = None,
        dry_run: bool = False,
    ) -> T:
        """Make an object have these fields, creating it if need be (server-side apply).

        https://kubernetes.io/docs/reference/using-api/server-side-apply/

        Args:
            obj: What the manager has an opinion about, and nothing else.
            field_manager: Who is applying; the same name at each call.
            force: Take fields away from other managers instead of failing.
            namespace: Where to, if the object does not say so itself.
            dry_run: Do everything but store it.

        Raises:
            ConflictError: Another manager owns a field and has another value for it; ``details["causes"]`` names them.
            ValueError: As for ``replace``, or ``field_manager`` is empty.
        """
        if not field_manager:
            raise ValueError(
                "apply needs a field_manager: a name for who is applying, such as your controller's"
            )
        body = encode_body(obj, self._target.objects)
        path = self._target.item_of(body, namespace)
        params = write_params(field_manager, dry_run=dry_run, force=force)
        call = Call("PATCH", path, params, body.content, "application/apply-patch+yaml")
        return self._decode(await self._send(call))

    async def delete(
        self,
        key: ObjectKey | str,
        *,
        uid: str | None = None,
        version: str | None = None,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Ask for an object to go. It lives on while it has finalizers, or a pod until it has stopped.

        Args:
            key: Which one.
            uid: Only if it is this very object, and not a later one of its name.
            version: Only if it has not changed since.
            propagation: What happens to what it owns; ``None`` is the kind's default, mostly ``"Background"``.
            grace_period: Seconds that a pod gets to stop; 0 means now.
            dry_run: Do everything but delete it.

        Raises:
            NotFoundError: There is no such object.
            ConflictError: It is another one, or it has changed.
        """
        options = delete_options(
            uid=uid, version=version, propagation=propagation, grace_period=grace_period, dry_run=dry_run
        )
        await self._send(Call("DELETE", self._target.item(key), content=options))

    async def delete_collection(
        self,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> None:
        """Ask for all objects that match to go, one after the other; without a selector, for all there are.

        Raises:
            ValueError: A namespaced resource was given no namespace: no server deletes across namespaces.
        """
        target = self._target.where(namespace, labels, fields)
        if target.resource.namespaced and not target.filters.namespace:
            raise ValueError(f"delete_collection of {target.resource} needs namespace=: it works in one only")
        options = delete_options(propagation=propagation, dry_run=dry_run)
        await self._send(Call("DELETE", target.collection(), target.filters.params, options))

    async def _send(self, call: Call) -> bytes:
        return await self._http.request(call, retries=self._retries)

    async def _page(
        self, target: Target, version: str, version_match: str, limit: int, continue_token: str
    ) -> ObjectList[T]:
        params = target.filters.params | list_params(version, version_match, limit, continue_token)
        body = await self._send(Call("GET", target.collection(), params))
        return modelled(decode_list(body, target.objects), self._model)

    def _decode(self, body: bytes) -> T:
        return Object(decode_record(body, self._target.objects)).decode(self._model)

    def __repr__(self) -> str:
        return f"<client of {self._target}>"
