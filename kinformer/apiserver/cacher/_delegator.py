"""Delegator: reads from the watch cache where it can answer, and from the storage where not.

``CacheDelegator`` and the list of ``etcd3.store`` (``k8s.io/apiserver/pkg/storage``).
"""

from contextlib import suppress

from kinformer.apiserver.cacher._cacher import Cacher
from kinformer.apiserver.cacher._cachers import Cached, Cachers
from kinformer.apiserver.cacher._delegation import ListRequest, Route, delegate, may_bypass
from kinformer.apiserver.cacher._event import Element
from kinformer.apiserver.cacher._paging import Cut, Page, next_step
from kinformer.apiserver.cacher._readiness import NotReadyError, StoppedError
from kinformer.apiserver.storage import KV, CompactedError, FutureRevisionError, KeyValue

__all__ = ["Delegator"]

_BEHIND = "the watch cache has not caught up with the storage in time"


class Delegator:
    """Gets and lists over the caches of a server and its storage.

    Args:
        kv: The storage.
        cachers: The caches; where there is none, the storage answers everything.
    """

    def __init__(self, kv: KV, cachers: Cachers) -> None:
        self._kv = kv
        self._cachers = cachers

    async def get(self, cached: Cached, key: str, revision: int | None) -> KeyValue | None:
        """Read one object: from the storage without a revision, else anything that is not older than that.

        Raises:
            FutureRevisionError: The revision has not come up in time.
        """
        cacher = None if revision is None else self._cachers.of(cached)
        if cacher is not None and cacher.readiness.is_ready:
            with suppress(NotReadyError, StoppedError):
                await self._wait(cacher, revision or 0)
                element = cacher.content.get(key)
                return None if element is None else element.value
        return await self._kv.get(key)

    async def list(self, cached: Cached, request: ListRequest) -> Page:
        """Read a piece of a list.

        Raises:
            CompactedError: The revision is not kept any more, neither here nor there.
            FutureRevisionError: The revision has not come up in time.
            NotReadyError: The cache is not ready, and the storage is spared; or the same for one that is too far behind.
        """
        cacher = self._cachers.of(cached)
        if cacher is None or (route := await self._decide(cacher, request)) is Route.STORAGE:
            return await self._read(cached, request)
        if route is Route.CONSISTENT:
            return await self._consistent(cached, cacher, request)
        is_exact = route is Route.EXACT
        minimum = request.exact if is_exact else request.minimum
        return await self._held(cached, cacher, request, minimum, request.exact if is_exact else 0)

    async def _decide(self, cacher: Cacher, request: ListRequest) -> Route:
        """Who answers, once the cache is ready; whether it is or not where that does not matter."""
        refusal: NotReadyError | None = None
        try:
            await cacher.begin()
        except StoppedError:
            return Route.STORAGE
        except NotReadyError as error:
            refusal = error
        if request.exact and cacher.content.has(request.exact):
            await cacher.forget_compacted(request.exact)
        route = delegate(
            request,
            revision=cacher.revision,
            has=cacher.content.has,
            tells_progress=await self._cachers.progress.is_there(),
        )
        if refusal is None or route is Route.STORAGE:
            return route
        if may_bypass(request):
            return Route.STORAGE
        raise refusal

    async def _wait(self, cacher: Cacher, revision: int) -> None:
        await cacher.wait_until_fresh(revision, with_progress=await self._cachers.progress.is_there())

    async def _held(
        self, cached: Cached, cacher: Cacher, request: ListRequest, minimum: int, revision: int
    ) -> Page:
        """What the cache shows at a revision, or now where that is 0, once it is at the minimum."""
        try:
            await self._wait(cacher, minimum)
            return _page(cacher, request, revision)
        except NotReadyError:
            if not may_bypass(request):
                raise
        except (CompactedError, StoppedError):
            pass  # it has gone between the decision and now
        return await self._read(cached, request)

    async def _consistent(self, cached: Cached, cacher: Cacher, request: ListRequest) -> Page:
        """What the cache shows once it is as far as the storage is now; or else what that holds."""
        metrics, fallback, is_done = cacher.metrics, "false", False
        revision = await self._kv.revision()
        metrics.count("etcd_requests_total", operation="get")
        try:
            try:
                page = await self._held(cached, cacher, request, revision, 0)
            except FutureRevisionError as error:
                if not self._cachers.options.falls_back:
                    fallback = "skipped"
                    raise NotReadyError(_BEHIND, 1) from error
                fallback = "true"
                page = await self._read(cached, request)
            is_done = True
        finally:
            metrics.count(
                "apiserver_watch_cache_consistent_read_total", success=str(is_done).lower(), fallback=fallback
            )
        return page

    async def _read(self, cached: Cached, request: ListRequest) -> Page:
        """What the storage holds, read by pages that grow while too little matches."""
        metrics = self._cachers.metrics_of(cached)
        keys, revision, step = request.rest, request.exact, request.most
        found_enough = Cut(request.most, request.matches)
        fetched, is_done = 0, False
        while not is_done:
            found = await self._kv.range(keys, revision=revision, limit=step)
            metrics.count("etcd_requests_total", operation="list")
            if found.revision < request.minimum:
                raise FutureRevisionError(request.minimum, found.revision)
            revision = revision or found.revision  # every further read shows the same moment
            fetched += len(found.items)
            elements = (Element(value, cached.read) for value in found.items)
            is_done = found_enough.take(elements, found.count) or not found.remaining
            if not is_done:
                keys, step = keys.behind(f"{found.items[-1].key}\0"), next_step(step)
        page = found_enough.page(revision)
        metrics.count("apiserver_storage_list_total")
        metrics.count("apiserver_storage_list_fetched_objects_total", fetched)
        metrics.count("apiserver_storage_list_evaluated_objects_total", found_enough.evaluated)
        metrics.count("apiserver_storage_list_returned_objects_total", len(page.items))
        return page


def _page(cacher: Cacher, request: ListRequest, revision: int) -> Page:
    snapshot = cacher.content.read(request.rest, revision)
    cut = Cut(request.most, request.matches)
    cut.take(snapshot, len(snapshot))
    page = cut.page(snapshot.revision)
    cacher.metrics.count("apiserver_cache_list_total")
    cacher.metrics.count("apiserver_cache_list_fetched_objects_total", cut.evaluated)
    cacher.metrics.count("apiserver_cache_list_returned_objects_total", len(page.items))
    return page
