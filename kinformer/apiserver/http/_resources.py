"""Resources: from HTTP requests to verbs, and from objects to replies."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from kinformer.apiserver.auth import Caller, Guard, ResourceAccess
from kinformer.apiserver.http._accept import Form, View, negotiate
from kinformer.apiserver.http._bodies import decode_object, decode_patch, patch_kind, read_body
from kinformer.apiserver.http._columns import columns_of
from kinformer.apiserver.http._options import delete_options, list_options, write_options
from kinformer.apiserver.http._query import Query
from kinformer.apiserver.http._replies import json_reply, not_acceptable, warning_headers
from kinformer.apiserver.http._reviews import REVIEWS, answer
from kinformer.apiserver.http._views import INCLUDES, metadata_list, metadata_only, table
from kinformer.apiserver.http._watching import (
    Frame,
    Streams,
    WatchStream,
    frame_metadata,
    frame_object,
    table_frames,
)
from kinformer.apiserver.registry import FieldProblem, bad_request, invalid_options
from kinformer.apiserver.rest import Listing, StoredObject, Target, Verbs, WriteOptions
from kinformer.clock import Clock

__all__ = ["Resources"]

_OBJECT_VIEWS: Final = frozenset({View.TABLE, View.METADATA})
_LIST_VIEWS: Final = frozenset({View.TABLE, View.METADATA_LIST})
_WATCH_MINIMUM: Final = 1800.0
"""Seconds that a watch without ``timeoutSeconds`` lasts at least, and at most twice (X-10)."""
_BROWSERS: Final = ("curl", "Wget", "Mozilla/5.0")


class Resources:
    """The verbs over HTTP: one method for each, named as authorization names it (H-5).

    Each takes the request and what it is about, and raises ``StatusError`` for what the client did wrong.
    """

    def __init__(self, verbs: Verbs, streams: Streams, guard: Guard, *, clock: Clock, random: Random) -> None:
        self._verbs = verbs
        self._streams = streams
        self._guard = guard
        self._clock = clock
        self._random = random

    async def answer(self, verb: str, request: Request, target: Target, caller: Caller) -> ASGIApp:
        """Do ``verb`` and give what answers the request; a watch begins when its answer is called."""
        exchange = _Exchange(verb, request, target, caller)
        match verb:
            case "get":
                return await self._get(exchange)
            case "list":
                return await self._list(exchange)
            case "watch":
                return self._watch(exchange)
            case "create":
                return await self._create(exchange)
            case "update":
                return await self._update(exchange)
            case "patch":
                return await self._patch(exchange)
            case "delete":
                return await self._delete(exchange)
            case "deletecollection":
                return await self._delete_collection(exchange)
            case _:
                raise AssertionError(verb)

    async def _get(self, exchange: "_Exchange") -> Response:
        form = exchange.form(_OBJECT_VIEWS)
        include = exchange.include()
        stored = await self._verbs.get(exchange.target, version=exchange.query.text("resourceVersion"))
        match form.view:
            case View.TABLE:
                metadata = {"resourceVersion": stored.content["metadata"].get("resourceVersion", "")}
                shown = self._table(exchange, [stored], form, include, metadata)
                return exchange.reply(shown, form=form)
            case View.METADATA:
                return exchange.reply(metadata_only(stored.content, version=form.version), form=form)
            case _:
                return exchange.reply(stored.json, form=form)

    async def _list(self, exchange: "_Exchange") -> Response:
        form = exchange.form(_LIST_VIEWS)
        include = exchange.include()
        if exchange.query.flag("sendInitialEvents") is not None:
            text = "sendInitialEvents is forbidden for list"
            raise invalid_options("ListOptions", [FieldProblem.forbidden("sendInitialEvents", text)])
        listing = await self._verbs.list(exchange.target, list_options(exchange.query))
        metadata = _list_metadata(listing)
        match form.view:
            case View.TABLE:
                return exchange.reply(
                    self._table(exchange, listing.items, form, include, metadata), form=form
                )
            case View.METADATA_LIST:
                contents = (stored.content for stored in listing.items)
                return exchange.reply(
                    metadata_list(contents, version=form.version, metadata=metadata), form=form
                )
            case _:
                return exchange.reply(_list_body(exchange.target, listing), form=form)

    def _watch(self, exchange: "_Exchange") -> WatchStream:
        form = exchange.form(_OBJECT_VIEWS)
        query = exchange.query
        frame: Frame = frame_object
        if form.view is View.TABLE:
            columns = columns_of(exchange.target.served)
            frame = table_frames(columns, version=form.version, include=exchange.include(), clock=self._clock)
        elif form.view is View.METADATA:
            frame = frame_metadata(form.version)
        watch = self._verbs.watch(
            exchange.target,
            list_options(query),
            timeout=float(query.number("timeoutSeconds") or _WATCH_MINIMUM * (1 + self._random.random())),
            bookmarks=bool(query.flag("allowWatchBookmarks")),
            initial_events=query.flag("sendInitialEvents"),
        )
        warnings = ((b"warning", value.encode("latin-1")) for value in warning_headers(exchange.warnings))
        return WatchStream(watch, frame, self._streams, headers=warnings)

    async def _create(self, exchange: "_Exchange") -> Response:
        form = exchange.form()
        target = exchange.target
        options = exchange.write_options("CreateOptions")
        content = decode_object(exchange.content_type, await read_body(exchange.request))
        if target.served in REVIEWS:
            review = await answer(target, content, exchange.caller, self._guard)
            return exchange.reply(review, form=form, status=201)
        if target.subresource == "token":
            account = await self._verbs.get(replace(target, subresource=""))
            return exchange.reply(self._guard.issue(account.content, content), form=form, status=201)
        stored = await self._verbs.create(target, content, options)
        return exchange.reply(stored.json, form=form, status=201)

    async def _update(self, exchange: "_Exchange") -> Response:
        form = exchange.form()
        options = exchange.write_options("UpdateOptions")
        content = decode_object(exchange.content_type, await read_body(exchange.request))
        stored, is_created = await self._verbs.update(exchange.target, content, options)
        return exchange.reply(stored.json, form=form, status=201 if is_created else 200)

    async def _patch(self, exchange: "_Exchange") -> Response:
        form = exchange.form()
        kind = patch_kind(exchange.content_type, is_custom=exchange.target.served.is_custom)
        options = exchange.write_options("PatchOptions")
        patch = decode_patch(kind, await read_body(exchange.request))
        stored, is_created = await self._verbs.patch(exchange.target, kind, patch, options)
        return exchange.reply(stored.json, form=form, status=201 if is_created else 200)

    async def _delete(self, exchange: "_Exchange") -> Response:
        form = exchange.form()
        options = delete_options(
            exchange.query, await exchange.optional_body(), warn=exchange.warnings.append
        )
        result = await self._verbs.delete(exchange.target, options)
        return exchange.reply(result.json if isinstance(result, StoredObject) else result, form=form)

    async def _delete_collection(self, exchange: "_Exchange") -> Response:
        form = exchange.form()
        which = list_options(exchange.query)
        options = delete_options(
            exchange.query, await exchange.optional_body(), warn=exchange.warnings.append
        )
        listing = await self._verbs.delete_collection(exchange.target, which, options)
        return exchange.reply(_list_body(exchange.target, listing), form=form)

    def _table(
        self,
        exchange: "_Exchange",
        items: Any,
        form: Form,
        include: str,
        metadata: Mapping[str, Any],
    ) -> dict[str, Any]:
        return table(
            (stored.content for stored in items),
            columns_of(exchange.target.served),
            version=form.version,
            now=self._clock.now(),
            include=include,
            metadata=metadata,
        )


class _Exchange:
    """One request, read; and the reply to it, with the warnings that came up meanwhile."""

    def __init__(self, verb: str, request: Request, target: Target, caller: Caller) -> None:
        self.request = request
        self.target = target
        self.caller = caller
        served = target.served
        self._access = ResourceAccess(
            verb, served.group, served.plural, target.subresource, target.namespace, target.name
        )
        self.query = Query.of(request.scope)
        self.user_agent = request.headers.get("User-Agent", "")
        self.content_type = request.headers.get("Content-Type", "")
        self.warnings: list[str] = [target.served.deprecation] if target.served.deprecation else []

    def form(self, views: frozenset[View] = frozenset()) -> Form:
        """The form to answer in; 406 where there is none."""
        form = negotiate(",".join(self.request.headers.getlist("Accept")), views)
        if form is None:
            raise not_acceptable()
        return form

    def include(self) -> str:
        """What rows of tables hold; 400 for an unknown word."""
        include = self.query.text("includeObject")
        if include not in INCLUDES:
            raise bad_request(
                f"Unable to convert to Table as requested: unrecognized includeObject value: {include!r}"
            )
        return include

    def write_options(self, kind: str) -> WriteOptions:
        """How to write; ``kind`` names the options in messages. What is stored at last is judged, too."""
        options = write_options(kind, self.query, user_agent=self.user_agent, warn=self.warnings.append)
        return replace(options, check=partial(self.caller.check_write, self._access))

    async def optional_body(self) -> dict[str, Any] | None:
        """The body as an object; ``None`` where there is none."""
        body = await read_body(self.request)
        return decode_object(self.content_type, body) if body else None

    def reply(self, content: bytes | Mapping[str, Any], *, form: Form, status: int = 200) -> Response:
        """The reply, for people's eyes where people ask (H-12)."""
        pretty = self.query.flag("pretty")
        is_pretty = self.user_agent.startswith(_BROWSERS) if pretty is None else pretty
        return json_reply(content, form=form, status=status, warnings=self.warnings, is_pretty=is_pretty)


def _list_metadata(listing: Listing) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": listing.version}
    if listing.continue_token:
        metadata["continue"] = listing.continue_token
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    return metadata


def _list_body(target: Target, listing: Listing) -> bytes:
    """A list, put together of what each item was serialised to; built-in items lack kind and apiVersion (H-17)."""
    served = target.served
    head = msgspec.json.encode(
        {"kind": served.list_kind, "apiVersion": served.api_version, "metadata": _list_metadata(listing)}
    )
    items = b",".join(stored.json if served.is_custom else stored.item for stored in listing.items)
    return head[:-1] + b',"items":[' + items + b"]}\n"
