import sys
from typing import Any

import anyio
import pytest

pytest.importorskip("prometheus_client", reason="needs the extra metrics")

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.parser import text_string_to_metric_families

from kinformer.controller import Controller, LeaderElection, Manager, Request, RequeueAfter
from kinformer.errors import TerminalError
from kinformer.hooks import (
    EventDropped,
    HookFailed,
    LoopBlocked,
    ObjectQuarantined,
    WarningReceived,
    WriteUnseen,
)
from kinformer.meta import ObjectKey, Resource
from kinformer.observe import Address, LeaseReport, Metrics, Observation, Report, Trouble
from kinformer.testing import Cluster, FakeClock, config_map
from tests.unit.observe.reports import controller, informer

CONFIG_MAPS = Resource.builtin("ConfigMap")
OF_CONTROLLER_RUNTIME = {
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_terminal_reconcile_errors_total",
    "controller_runtime_reconcile_time_seconds_bucket",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_active_workers",
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_queue_duration_seconds_bucket",
    "workqueue_work_duration_seconds_bucket",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "workqueue_retries_total",
    "rest_client_requests_total",
    "rest_client_request_duration_seconds_bucket",
    "leader_election_master_status",
}


class Scrape(dict[tuple[str, frozenset[tuple[str, str]]], float]):
    """What one scrape shows, by name and labels."""

    def __init__(self, metrics: Metrics) -> None:
        body = metrics.exposed().body
        assert callable(body)
        super().__init__(
            ((sample.name, frozenset(sample.labels.items())), sample.value)
            for family in text_string_to_metric_families(body().decode())
            for sample in family.samples
        )

    def value(self, name: str, /, **labels: str) -> float:
        return self[name, frozenset(labels.items())]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self}


async def reconcile(request: Request) -> RequeueAfter | None:
    match request.key.name:
        case "again":
            return RequeueAfter(1000.0)
        case "broken":
            raise ValueError("broken")
        case "hopeless":
            raise TerminalError("hopeless")
        case "slow":
            await anyio.sleep_forever()
        case _:
            await request.client.resource(CONFIG_MAPS).patch(request.key, {"data": {"seen": "yes"}})
    return None


async def test_a_manager_at_work_is_counted_by_the_names_of_controller_runtime() -> None:
    names = ("again", "broken", "hopeless", "slow", "good")
    async with Cluster(*map(config_map, names)) as cluster, anyio.create_task_group() as tasks:
        metrics = Metrics()
        maps = Controller("maps", reconcile, workers=3).watches(CONFIG_MAPS)
        election = LeaderElection("maps")
        manager = Manager(
            maps, election=election, clients=cluster.client, clock=cluster.clock, metrics=metrics
        )
        await tasks.start(manager.run)
        await cluster.advance(0.05)
        scrape = Scrape(metrics)
        tasks.cancel_scope.cancel()
    assert scrape.names >= OF_CONTROLLER_RUNTIME
    results = {
        result: scrape.value("controller_runtime_reconcile_total", controller="maps", result=result)
        for result in ("success", "requeue_after", "error")
    }
    assert results == {"success": 2, "requeue_after": 1, "error": 2}  # its own write brings the good one back
    assert scrape.value("controller_runtime_reconcile_errors_total", controller="maps") == 2
    assert scrape.value("controller_runtime_terminal_reconcile_errors_total", controller="maps") == 1
    assert scrape.value("controller_runtime_max_concurrent_reconciles", controller="maps") == 3
    assert scrape.value("controller_runtime_active_workers", controller="maps") == 1
    assert scrape.value("workqueue_adds_total", name="maps", controller="maps") == 6
    assert scrape.value("workqueue_retries_total", name="maps", controller="maps") == 2
    assert scrape.value("workqueue_unfinished_work_seconds", name="maps", controller="maps") == pytest.approx(
        0.05
    )
    assert scrape.value("leader_election_master_status", name="maps") == 1
    patches = scrape.value("rest_client_requests_total", code="200", method="PATCH", host="cluster.invalid")
    assert patches == 2
    cache = {"cluster": "", "resource": "configmaps", "scope": ""}
    assert scrape.value("kinformer_cache_objects", **cache) == 5
    assert scrape.value("kinformer_cache_bytes", **cache) > 500
    assert scrape.value("kinformer_cache_bookmark_age_seconds", **cache) == pytest.approx(0.05)
    assert scrape.value("kinformer_handler_delivered_total", **cache, handler="maps") == 6


def test_a_scrape_shows_what_was_when_it_was_asked_for() -> None:
    metrics = Metrics()
    body = metrics.exposed().body
    assert callable(body)
    metrics.tally.warning_received(WarningReceived("/x", "old"))
    assert b"kinformer_api_warnings_total 0.0" in body()
    assert Scrape(metrics).value("kinformer_api_warnings_total") == 1


def test_results_are_there_before_anything_has_happened_so_that_rates_can_be_made() -> None:
    metrics = Metrics()
    metrics.show(lambda: Report("starting", (), (controller("web"),), ()))
    scrape = Scrape(metrics)
    assert scrape.value("controller_runtime_reconcile_total", controller="web", result="error") == 0
    assert scrape.value("controller_runtime_reconcile_errors_total", controller="web") == 0


def test_ages_of_what_has_not_happened_are_left_out() -> None:
    metrics = Metrics()
    metrics.show(lambda: Report("running", (informer("pods"), informer("jobs", event_age=3.0)), (), ()))
    ages = {
        key: value for key, value in Scrape(metrics).items() if key[0] == "kinformer_cache_event_age_seconds"
    }
    assert list(ages.values()) == [3.0]


def test_trouble_of_a_cache_is_a_sample_for_each_condition() -> None:
    trouble = Trouble("Forbidden", "no", "", 1.0, is_blocking=True)
    metrics = Metrics()
    metrics.show(lambda: Report("running", (informer("pods", troubles=(trouble,)),), (), ()))
    labels = {"cluster": "", "resource": "pods", "scope": "", "condition": "Forbidden"}
    assert Scrape(metrics).value("kinformer_cache_trouble", **labels) == 1


def test_a_group_that_shares_the_keys_is_counted_and_leads_nothing() -> None:
    group = LeaseReport("sharding", "maps", "one", is_held=True, members=("one", "two"))
    metrics = Metrics()
    metrics.show(lambda: Report("running", (), (), (group,)))
    scrape = Scrape(metrics)
    assert scrape.value("kinformer_shard_members", name="maps") == 2
    assert "leader_election_master_status" not in scrape.names


def test_what_happens_seldom_is_counted_too() -> None:
    metrics = Metrics()
    tally = metrics.tally
    tally.loop_lagged(0.02)
    tally.loop_blocked(LoopBlocked("web", 2.5))
    tally.event_dropped(EventDropped("web", "Created"))
    tally.write_unseen(WriteUnseen("web", "pods", ObjectKey("a", "b"), 60.0))
    tally.warning_received(WarningReceived("/x", "old"))
    tally.object_quarantined(ObjectQuarantined("pods", "a/b", ValueError()))
    tally.hook_failed(HookFailed("key_done", ValueError()))
    scrape = Scrape(metrics)
    assert scrape.value("kinformer_event_loop_lag_seconds_bucket", le="0.025") == 1
    assert scrape.value("kinformer_event_loop_lag_seconds_bucket", le="0.01") == 0
    assert scrape.value("kinformer_event_loop_blocked_seconds_total") == 2.5
    assert scrape.value("kinformer_events_dropped_total", controller="web") == 1
    assert scrape.value("kinformer_consistency_failed_open_total", controller="web", resource="pods") == 1
    assert scrape.value("kinformer_api_warnings_total") == 1
    assert scrape.value("kinformer_quarantined_objects_total", informer="pods") == 1
    assert scrape.value("kinformer_hook_failures_total", hook="key_done") == 1


def test_a_registry_of_the_program_has_them_beside_its_own_once() -> None:
    registry = CollectorRegistry()
    Gauge("mine", "my own", registry=registry).set(7)
    metrics = Metrics(registry)
    assert {"mine", "kinformer_api_warnings_total"} <= Scrape(metrics).names
    assert not any(name.startswith("process_") for name in Scrape(metrics).names)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Metrics(registry)


def test_a_registry_of_their_own_has_the_process_too() -> None:
    assert "process_cpu_seconds_total" in Scrape(Metrics()).names


def test_labels_are_never_of_objects() -> None:
    metrics = Metrics()
    for number in range(100):
        tally: Any = metrics.tally
        tally.object_quarantined(ObjectQuarantined("pods", f"a/{number}", ValueError(str(number))))
        tally.write_unseen(WriteUnseen("web", "pods", ObjectKey("a", str(number)), 1.0))
        tally.event_dropped(EventDropped("web", f"Reason{number}"))
    assert len(Scrape(metrics)) < 150


def test_without_the_extra_a_manager_shows_all_else_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ImportError, match=r"pip install 'kinformer\[metrics\]'"):
        Metrics()
    observation = Observation(
        Address("", 0), lambda: Report("running", (), (), ()), load=dict, clock=FakeClock()
    )
    answer = observation.routes["/metrics"]()
    assert answer.status == 501
    assert "pip install 'kinformer[metrics]'" in str(answer.body)
    assert observation.routes["/readyz"]().status == 200
