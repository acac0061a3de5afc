import sys

import anyio
import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from kinformer.controller import Controller, Manager, Request
from kinformer.hooks import ReconcileFinished, ReconcileResult, RequestFinished
from kinformer.meta import ObjectKey, Resource
from kinformer.observe import Tracing
from kinformer.testing import Cluster, FakeClock, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Spans:
    """Tracing whose spans can be looked at."""

    def __init__(self, clock: FakeClock) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Tracing(self.provider, clock=clock)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    found: int = span.context.span_id
    return found


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    found: int = span.context.trace_id
    return found


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def attribute(span: ReadableSpan, name: str) -> object:
    return (span.attributes or {}).get(name)


def seconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e9


async def test_a_trace_goes_from_the_event_by_the_queue_and_the_reconcile_to_its_requests() -> None:
    async with Cluster(config_map("a"), config_map("b")) as cluster, anyio.create_task_group() as tasks:
        spans = Spans(cluster.clock)

        async def reconcile(request: Request) -> None:
            if request.key.name == "a":
                await cluster.clock.sleep(2.0)
                return
            tracer = spans.provider.get_tracer("operator")
            with tracer.start_as_current_span("mine"):
                await request.client.resource(CONFIG_MAPS).get(request.key)

        maps = Controller("maps", reconcile, workers=1).watches(CONFIG_MAPS)
        client = cluster.client.told_to(spans.tracing)
        manager = Manager(maps, clients=client, clock=cluster.clock, hooks=spans.tracing)
        await tasks.start(manager.run)
        await cluster.until(lambda: len(spans.named("reconcile maps")) == 2)
        tasks.cancel_scope.cancel()
    (get,), (mine,) = spans.named("GET configmaps"), spans.named("mine")
    reconcile_b = next(
        span for span in spans.named("reconcile maps") if attribute(span, "kinformer.name") == "b"
    )
    queue = next(span for span in spans.named("queue maps") if id_of(span) == parent_of(reconcile_b))
    watch = next(span for span in spans.named("watch configmaps") if id_of(span) == parent_of(queue))
    assert parent_of(get) == id_of(mine)
    assert parent_of(mine) == id_of(reconcile_b)
    assert parent_of(watch) is None
    assert len({trace_of(span) for span in (get, mine, reconcile_b, queue, watch)}) == 1
    assert attribute(watch, "kinformer.object") == "default/b"
    assert attribute(watch, "kinformer.cause") == "listed"
    assert attribute(reconcile_b, "kinformer.reasons") == ("ConfigMap default/b listed",)
    assert attribute(reconcile_b, "k8s.namespace.name") == "default"
    assert attribute(reconcile_b, "kinformer.result") == "success"
    assert attribute(get, "http.response.status_code") == 200
    assert attribute(get, "url.path") == "/api/v1/namespaces/default/configmaps/b"
    assert seconds(queue) == pytest.approx(2.0)
    others = [span for span in spans.named("watch configmaps") if trace_of(span) != trace_of(watch)]
    assert len(others) == 1, "the other key has a trace of its own"


async def test_several_events_are_one_reconcile_that_is_linked_to_them() -> None:
    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        spans, gate = Spans(cluster.clock), anyio.Event()

        async def reconcile(request: Request) -> None:
            await gate.wait()

        maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
        manager = Manager(maps, clients=cluster.client, clock=cluster.clock, hooks=spans.tracing)
        await tasks.start(manager.run)
        for number in range(12):
            await cluster.client.resource(CONFIG_MAPS).patch("default/a", {"data": {"n": str(number)}})
            await cluster.advance(0.1)
        gate.set()
        await cluster.until(lambda: len(spans.named("reconcile maps")) == 2)
        tasks.cancel_scope.cancel()
    second = spans.named("reconcile maps")[1]
    first_event = next(span for span in spans.named("watch configmaps") if trace_of(span) == trace_of(second))
    assert attribute(first_event, "kinformer.cause") == "updated"
    linked = [link.context.span_id for link in second.links]
    events = [id_of(span) for span in spans.named("watch configmaps") if span is not first_event]
    assert linked == events[1:9]
    assert len(spans.named("watch configmaps")) == 1 + 9, "those that would tell nobody more are left out"


async def test_a_retry_is_linked_to_the_call_before_and_an_error_is_in_its_span() -> None:
    async def reconcile(request: Request) -> None:
        if request.attempt < 3:
            raise ValueError(f"number {request.attempt}")

    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        spans = Spans(cluster.clock)
        maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
        manager = Manager(maps, clients=cluster.client, clock=cluster.clock, hooks=spans.tracing)
        await tasks.start(manager.run)
        await cluster.until(lambda: len(spans.named("reconcile maps")) == 3)
        tasks.cancel_scope.cancel()
    first, second, third = spans.named("reconcile maps")
    assert [link.context.span_id for link in second.links] == [id_of(first)]
    assert [link.context.span_id for link in third.links] == [id_of(second)]
    assert [attribute(span, "kinformer.attempt") for span in (first, second, third)] == [1, 2, 3]
    assert len({attribute(span, "kinformer.reconcile_id") for span in (first, second, third)}) == 3
    assert first.status.status_code is StatusCode.ERROR
    assert first.events[0].name == "exception"
    assert third.status.status_code is StatusCode.UNSET
    assert seconds(spans.named("queue maps")[1]) == 0.0, "the wait of a backoff is none for a worker"


async def test_a_call_that_is_cut_short_ends_its_span_too() -> None:
    async def reconcile(request: Request) -> None:
        await anyio.sleep_forever()

    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        spans = Spans(cluster.clock)
        maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
        manager = Manager(maps, clients=cluster.client, clock=cluster.clock, hooks=spans.tracing)
        await tasks.start(manager.run)
        await cluster.advance(1.0)
        tasks.cancel_scope.cancel()
    (span,) = spans.named("reconcile maps")
    assert attribute(span, "kinformer.result") == "cancelled"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/namespaces/shop/pods/web/status", "GET pods"),
        ("/api/v1/nodes/one", "GET nodes"),
        ("/apis/apps/v1/namespaces/shop/deployments", "GET deployments"),
        ("/apis/example.dev/v1/websites", "GET websites"),
        ("/version", "GET"),
    ],
)
def test_a_request_is_named_by_its_resource_and_failed_where_the_server_refused(path: str, name: str) -> None:
    spans = Spans(FakeClock())
    with spans.provider.get_tracer("operator").start_as_current_span("mine"):
        spans.tracing.request_finished(RequestFinished("GET", path, 404, 0.5, 2, "server"))
        spans.tracing.request_finished(RequestFinished("GET", path, 0, 0.5, 1, "server"))
    refused, unanswered = spans.named(name)
    assert refused.status.status_code is unanswered.status.status_code is StatusCode.ERROR
    assert attribute(refused, "http.request.resend_count") == 1
    assert attribute(unanswered, "http.response.status_code") is None
    assert seconds(refused) == 0.5


def test_a_request_that_belongs_to_nothing_makes_no_span() -> None:
    spans = Spans(FakeClock())
    spans.tracing.request_finished(RequestFinished("GET", "/version", 200, 0.5, 1))
    assert spans.exporter.get_finished_spans() == ()


def test_the_end_of_what_was_not_seen_to_begin_is_no_error() -> None:
    spans = Spans(FakeClock())
    spans.tracing.reconcile_finished(
        ReconcileFinished("c", ObjectKey("a", "b"), ReconcileResult.SUCCESS, 1.0)
    )
    assert spans.exporter.get_finished_spans() == ()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"pip install 'kinformer\[tracing\]'"):
        Tracing()
