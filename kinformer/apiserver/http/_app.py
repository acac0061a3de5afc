"""Application: the ASGI application of the apiserver. It finds out who is to answer, and answers for failures."""

import logging
from random import Random
from typing import Final
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinformer.apiserver.auth import Caller, Guard
from kinformer.apiserver.http._about import about
from kinformer.apiserver.http._accept import DISCOVERY, View, negotiate
from kinformer.apiserver.http._asked import asked
from kinformer.apiserver.http._discovery import Discovery
from kinformer.apiserver.http._paths import (
    GroupPath,
    OtherPath,
    ResourcePath,
    RootPath,
    VersionPath,
    parse_path,
)
from kinformer.apiserver.http._query import Query
from kinformer.apiserver.http._replies import (
    internal_error,
    json_reply,
    not_acceptable,
    refusal,
    unknown_path,
)
from kinformer.apiserver.http._resources import Resources
from kinformer.apiserver.http._reviews import REVIEWS
from kinformer.apiserver.http._watching import Streams
from kinformer.apiserver.registry import Registry, Served, StatusError, bad_request, method_not_allowed
from kinformer.apiserver.rest import Target, Verbs
from kinformer.apiserver.storage import UnavailableError
from kinformer.clock import Clock

__all__ = ["Application"]

_log = logging.getLogger("kinformer.apiserver")

_READ_LIMIT: Final = 60.0
_WRITE_LIMIT: Final = 34.0
"""Seconds that an ordinary request may take (H-15)."""

_COLLECTION_VERBS: Final = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS: Final = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE_VERBS: Final = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch"}
_SINGLE_VERBS: Final = {"finalize": ("PUT", "update"), "token": ("POST", "create")}
"""Of the subresources that have one verb only: its method and its name."""
_VERB_NAMES: Final = {"GET": "get", "POST": "create", "PUT": "update"}
_REVIEWS: Final = {(review.group, review.version, review.plural): review for review in REVIEWS}


class Application:
    """The Kubernetes API over ``verbs``; see the wire rules for what it does with which request.

    It has no state but the watches that are open, starts no task that outlives its request, and needs no lifespan.

    Args:
        verbs: Do what is asked.
        registry: Tells what is served.
        guard: Tells who asks, and what they may do.
        clock: Measures deadlines and ages.
        random: Spreads the ends of watches.
    """

    def __init__(
        self, verbs: Verbs, registry: Registry, guard: Guard, *, clock: Clock, random: Random
    ) -> None:
        self._registry = registry
        self._guard = guard
        self._clock = clock
        self._discovery = Discovery(registry)
        self._streams = Streams()
        self._resources = Resources(verbs, self._streams, guard, clock=clock, random=random)
        self._is_closed = False

    @property
    def open_watches(self) -> int:
        """How many watches are being served."""
        return len(self._streams)

    def close(self) -> None:
        """End all watches, each with a proper end of its stream, and answer 503 from now on."""
        self._is_closed = True
        self._streams.end_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            ValueError: The scope is not HTTP: lifespan and websockets are not served.
        """
        if scope["type"] != "http":
            raise ValueError(f"this application serves HTTP only, not {scope['type']!r}")
        is_begun = False

        async def send_noted(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            if message["type"] == "http.response.start" and _log.isEnabledFor(logging.DEBUG):
                _log.debug("%s: %d", _asked(scope), message["status"])
            await send(message)

        try:
            reply = await self._reply(Request(scope, receive))
            await reply(scope, receive, send_noted)
        except StatusError as error:
            await refusal(error)(scope, receive, send_noted)
        except ClientDisconnect:
            return
        except RecursionError:
            if not is_begun:
                await refusal(bad_request("the object is nested too deeply"))(scope, receive, send_noted)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the client gets an answer
            _log.exception("request failed", extra={"method": scope["method"], "path": scope["path"]})
            if not is_begun:
                await refusal(internal_error(error))(scope, receive, send_noted)

    async def _reply(self, request: Request) -> ASGIApp:
        if self._is_closed:
            raise StatusError(503, "ServiceUnavailable", "apiserver is shutting down", retry_after=1)
        limit = _READ_LIMIT if request.method in {"GET", "HEAD"} else _WRITE_LIMIT
        with self._clock.move_on_after(limit) as deadline:
            try:
                reply = await self._route(request)
            except UnavailableError as error:
                _log.warning("the storage cannot be reached: %s", error)
                raise StatusError(503, "ServiceUnavailable", str(error), retry_after=1) from error
        if not deadline.cancelled_caught:
            return reply
        raise StatusError(
            504, "Timeout", f"Timeout: request did not complete within {limit:.0f}s", details={}
        )

    async def _route(self, request: Request) -> ASGIApp:
        raw = request.scope.get("raw_path") or request.url.path.encode()
        path = parse_path(raw.decode("latin-1"))
        caller = await self._guard.caller(request.headers)
        caller.require(asked(path, request.scope["path"], request.method, Query.of(request.scope)))
        if isinstance(path, ResourcePath):
            return await self._answer_resource(request, path, caller)
        reply = self._inform(request, path) if request.method in {"GET", "HEAD"} else None
        return reply or unknown_path()

    async def _answer_resource(self, request: Request, path: ResourcePath, caller: Caller) -> ASGIApp:
        served = self._find(path)
        if served is None:
            return self._nothing_served(path)
        target = Target(served, path.namespace, path.name, path.subresource)
        if not _exists(target, path):
            return unknown_path() if served.is_custom else refusal(_unknown_resource())
        verb = _verb(request, target)
        return await self._resources.answer(verb, request, target, caller)

    def _find(self, path: ResourcePath) -> Served | None:
        place = (path.group, path.version, path.plural)
        return self._registry.find(*place) or _REVIEWS.get(place)

    def _nothing_served(self, path: ResourcePath) -> Response:
        if self._discovery.has_custom_only(path.group, path.version):
            return unknown_path()
        return refusal(_unknown_resource())

    def _inform(self, request: Request, path: object) -> Response | None:
        accept = ",".join(request.headers.getlist("Accept"))
        match path:
            case RootPath(is_core):
                return self._root(request, accept, is_core=is_core)
            case GroupPath(group):
                document = self._discovery.group(group)
            case VersionPath(group, version):
                document = self._discovery.resource_list(group, version)
            case OtherPath(other):
                return about(other, accept)
            case _:
                return None
        if document is None:
            return None
        form = negotiate(accept)
        if form is None:
            raise not_acceptable()
        return json_reply(document, form=form)

    def _root(self, request: Request, accept: str, *, is_core: bool) -> Response:
        form = negotiate(accept, DISCOVERY)
        if form is None:
            raise not_acceptable()
        if form.view is not View.DISCOVERY:
            address = request.headers.get("Host", "")
            plain = self._discovery.core_versions(address) if is_core else self._discovery.group_list()
            return json_reply(plain, form=form, headers={"Vary": "Accept"})
        body, tag = self._discovery.aggregated(form.version, is_core=is_core)
        headers = {"ETag": tag, "Vary": "Accept", "Cache-Control": "public"}
        if request.headers.get("If-None-Match") == tag:
            return Response(status_code=304, headers=headers)
        media = f"{form.media.value};g=apidiscovery.k8s.io;v={form.version};as={form.view.value}"
        return json_reply(body, form=form, headers={**headers, "Content-Type": media})


def _asked(scope: Scope) -> str:
    """A request for people, in one line whatever is in it."""
    path, query = quote(scope["path"], safe="/:"), scope.get("query_string", b"").decode("latin-1")
    return f"{scope['method']} {path}{query and '?'}{query}"


def _exists(target: Target, path: ResourcePath) -> bool:
    """Whether the path fits the resource: its scope, its subresources (H-4)."""
    served = target.served
    if target.namespace and not served.namespaced:
        return False
    if target.name and served.namespaced and not target.namespace:
        return False
    if path.rest:
        return False
    return not target.subresource or target.subresource in served.subresources


def _verb(request: Request, target: Target) -> str:
    """What is asked for (H-5).

    Raises:
        StatusError: 405, the resource cannot do that here.
    """
    served = target.served
    if target.subresource:
        verb = _SUBRESOURCE_VERBS.get(request.method, "")
        is_allowed = bool(verb)
        if single := _SINGLE_VERBS.get(target.subresource):
            method, verb = single
            is_allowed = request.method == method
    elif target.name:
        verb = _OBJECT_VERBS.get(request.method, "")
        is_allowed = verb in served.verbs
    else:
        verb = _COLLECTION_VERBS.get(request.method, "")
        if request.method == "GET" and Query.of(request.scope).flag("watch"):
            verb = "watch"
        is_elsewhere = served.namespaced and not target.namespace and verb not in {"list", "watch"}
        is_allowed = verb in served.verbs and not is_elsewhere
    if not is_allowed:
        named = verb or _VERB_NAMES.get(request.method, request.method.lower())
        raise method_not_allowed(served, named, is_custom=served.is_custom)
    return verb


def _unknown_resource() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})
