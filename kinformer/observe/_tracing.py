"""Tracing: hooks that make OpenTelemetry spans of a key's way: what happened, the wait, the reconcile, its requests."""

from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Final, NamedTuple

from kinformer.clock import Clock
from kinformer.hooks import (
    KeyTaken,
    KeyTriggered,
    NoHooks,
    ReconcileFinished,
    ReconcileResult,
    ReconcileStarted,
    RequestFinished,
)
from kinformer.meta import ObjectKey
from kinformer.system_clock import SystemClock

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext, TracerProvider

__all__ = ["Tracing"]

_MOST: Final = 100_000
"""Keys that are remembered; those of a run that ended in the middle are forgotten by this."""

_LINKS: Final = 8
"""Events that a reconcile is linked to; more would tell nobody more."""

_waited: Final[ContextVar[float]] = ContextVar("waited", default=0.0)


class _Item(NamedTuple):
    controller: str
    cluster: str
    key: ObjectKey


class Tracing(NoHooks):
    """Spans of OpenTelemetry; needs the extra ``tracing``.

    ```text
    watch configmaps          something happened to an object that concerns a key; a span without length
      queue maps              from when the key wanted a run until it had one
        reconcile maps        the call; yours inside of it are its children
          PATCH configmaps    a request that it made
    ```

    A reconcile of which several events are the cause continues the trace of the first, and is linked to the others; a
    retry is linked to the call before. Each has ``kinformer.reconcile_id``, which logs have too. Requests that belong to no
    span, such as those of caches and elections, make none.

    Args:
        tracer_provider: Where spans go; None: the one that the program has set.
        clock: Tells when they begin and end.

    Raises:
        ImportError: opentelemetry-api is not installed.
    """

    def __init__(
        self, tracer_provider: "TracerProvider | None" = None, *, clock: Clock | None = None
    ) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise ImportError(
                "tracing needs opentelemetry-api, which is not installed: pip install 'kinformer[tracing]'"
            ) from error
        self._trace: Final = trace
        self._tracer: Final = trace.get_tracer("kinformer", tracer_provider=tracer_provider)
        self._clock: Final = clock or SystemClock()
        self._triggers: Final[OrderedDict[_Item, tuple[SpanContext, ...]]] = OrderedDict()
        self._failed: Final[OrderedDict[_Item, SpanContext]] = OrderedDict()
        self._open: Final[dict[str, tuple[Span, Token[Context]]]] = {}

    def key_triggered(self, event: KeyTriggered, /) -> None:
        """Make a span of what happened, for the reconcile to come."""
        item = _Item(event.controller, event.cluster, event.key)
        known = self._triggers.get(item, ())
        if len(known) > _LINKS:
            return
        now = self._now()
        span = self._tracer.start_span(
            f"watch {event.resource}" if event.resource else "trigger",
            self._parent(None),
            self._trace.SpanKind.CONSUMER,
            {"kinformer.cause": event.cause, "kinformer.object": event.name, **_facts(item)},
            start_time=now,
        )
        span.end(now)
        self._triggers[item] = (*known, span.get_span_context())
        if len(self._triggers) > _MOST:
            self._triggers.popitem(last=False)

    def key_taken(self, event: KeyTaken, /) -> None:
        """Remember how long the key waited, for the reconcile that the same task begins next."""
        _waited.set(event.waited)

    def reconcile_started(self, event: ReconcileStarted, /) -> None:
        """Make a span of the wait, and begin that of the reconcile, which becomes the present one."""
        from opentelemetry.context import attach

        item = _Item(event.controller, event.cluster, event.key)
        now = self._now()
        causes = self._triggers.pop(item, ())
        before = self._failed.pop(item, None)
        facts = {"kinformer.reconcile_id": event.reconcile_id, **_facts(item)}
        queue = self._tracer.start_span(
            f"queue {event.controller}",
            self._parent(causes[0] if causes else None),
            attributes=facts,
            start_time=now - round(_waited.get() * 1e9),
        )
        queue.end(now)
        span = self._tracer.start_span(
            f"reconcile {event.controller}",
            self._parent(queue.get_span_context()),
            attributes={"kinformer.attempt": event.attempt, "kinformer.reasons": event.reasons, **facts},
            links=[self._trace.Link(each) for each in (*causes[1:], *([before] if before else ()))],
            start_time=now,
        )
        self._open[event.reconcile_id] = span, attach(self._trace.set_span_in_context(span))

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        """End its span."""
        from opentelemetry.context import detach

        begun = self._open.pop(event.reconcile_id, None)
        if begun is None:
            return
        span, token = begun
        detach(token)
        span.set_attribute("kinformer.result", str(event.result))
        if event.error is not None:
            span.record_exception(event.error, timestamp=self._now())
            span.set_status(self._trace.StatusCode.ERROR, str(event.error))
        if event.result is ReconcileResult.ERROR:
            self._failed[_Item(event.controller, event.cluster, event.key)] = span.get_span_context()
            if len(self._failed) > _MOST:
                self._failed.popitem(last=False)
        span.end(self._now())

    def request_finished(self, event: RequestFinished, /) -> None:
        """Make a span of a request, where there is one that it belongs to."""
        if not self._trace.get_current_span().get_span_context().is_valid:
            return
        now = self._now()
        facts: dict[str, str | int] = {
            "http.request.method": event.method,
            "http.request.resend_count": event.attempt - 1,
            "server.address": event.host,
            "url.path": event.path,
        }
        if event.code:
            facts["http.response.status_code"] = event.code
        span = self._tracer.start_span(
            f"{event.method} {_resource_of(event.path)}".rstrip(),
            kind=self._trace.SpanKind.CLIENT,
            attributes=facts,
            start_time=now - round(event.duration * 1e9),
        )
        if not event.code or event.code >= 400:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(now)

    def _now(self) -> int:
        return round(self._clock.now().timestamp() * 1e9)

    def _parent(self, parent: "SpanContext | None") -> "Context":
        """The context of a span that is to be the parent, or of none."""
        from opentelemetry.context import Context

        span = self._trace.INVALID_SPAN if parent is None else self._trace.NonRecordingSpan(parent)
        return self._trace.set_span_in_context(span, Context())


def _facts(item: _Item) -> Mapping[str, str]:
    facts = {
        "kinformer.controller": item.controller,
        "kinformer.cluster": item.cluster,
        "k8s.namespace.name": item.key.namespace,
        "kinformer.name": item.key.name,
    }
    return {name: value for name, value in facts.items() if value}


def _resource_of(path: str) -> str:
    """The plural of the resource that a path is about, since names of spans are to be few."""
    match path.strip("/").split("/"):
        case ["api", _, "namespaces", _, plural, *_] | ["apis", _, _, "namespaces", _, plural, *_]:
            return plural
        case ["api", _, plural, *_] | ["apis", _, _, plural, *_]:
            return plural
        case _:
            return ""
