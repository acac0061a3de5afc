from http import HTTPStatus
from typing import Any

import pytest

from kinformer.observe import ControllerReport, InformerReport, Phase, Report, Trouble
from kinformer.observe._readiness import readiness
from tests.unit.observe.reports import controller, informer

FORBIDDEN = Trouble("Forbidden", "the server refuses to show it", "pods is forbidden", 12.0, is_blocking=True)
FILLING = Trouble("Synced", "no complete list has arrived", "", 3.0, is_blocking=True)


def said(
    *informers: InformerReport,
    phase: Phase = "running",
    controllers: tuple[ControllerReport, ...] = (),
) -> tuple[int, list[str]]:
    answer = readiness(Report(phase, informers, controllers, ()))
    assert isinstance(answer.body, str)
    return answer.status, answer.body.splitlines()


@pytest.mark.parametrize("phase", ["running", "standing by"])
def test_who_has_all_caches_is_ready_and_need_not_lead(phase: Phase) -> None:
    caches = informer(objects=3), informer("jobs.batch", objects=1)
    assert said(*caches, phase=phase) == (200, ["[+] pods: 3 objects", "[+] jobs.batch: 1 object", "ready"])


@pytest.mark.parametrize("phase", ["starting", "stopping"])
def test_who_begins_or_ends_is_not_ready(phase: Phase) -> None:
    assert said(phase=phase) == (503, [f"[-] the manager is {phase}", "not ready"])


def test_what_the_start_waits_for_is_told() -> None:
    status, lines = said(
        phase="filling", controllers=(controller("web", waits=("its cache of pods: late",)),)
    )
    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert lines[0] == "[-] web: the start waits for its cache of pods: late"


def test_a_stuck_informer_is_named_with_the_reason() -> None:
    stuck = informer(scope="in shop", cluster="east", troubles=(FORBIDDEN,))
    status, lines = said(informer("jobs.batch"), stuck)
    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert lines == [
        "[+] jobs.batch: 0 objects",
        "[-] pods in shop (east): Forbidden for 12 s: the server refuses to show it (pods is forbidden)",
        "not ready",
    ]


@pytest.mark.parametrize(
    ("troubles", "line"),
    [
        ((FILLING,), "[-] pods: filling for 3 s: no complete list has arrived"),
        (
            (FILLING, FORBIDDEN),
            "[-] pods: Forbidden for 12 s: the server refuses to show it (pods is forbidden)",
        ),
    ],
    ids=["nothing is known yet", "the cause is known"],
)
def test_a_cache_that_fills_is_not_called_synced(troubles: tuple[Trouble, ...], line: str) -> None:
    assert said(informer(is_synced=False, troubles=troubles)) == (503, [line, "not ready"])


@pytest.mark.parametrize(
    ("change", "is_synced", "status"),
    [
        pytest.param({"age": 9.9}, True, 200, id="a moment of a cache that was complete"),
        pytest.param({"age": 10.0}, True, 503, id="for long"),
        pytest.param({"age": 0.0}, False, 503, id="before the first list"),
        pytest.param({"is_blocking": False}, True, 200, id="one bad object"),
    ],
)
def test_trouble_counts_when_it_lasts_or_nothing_is_there_yet(
    change: dict[str, Any], is_synced: bool, status: int
) -> None:
    trouble = Trouble(
        **({"age": 100.0, "is_blocking": True} | change), condition="X", meaning="y", message=""
    )
    assert said(informer(is_synced=is_synced, troubles=(trouble,)))[0] == status
