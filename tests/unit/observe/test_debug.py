import json
import re
from typing import Any

import anyio

from kinformer.controller import Controller, LeaderElection, Manager, Request
from kinformer.errors import TransportError
from kinformer.meta import Resource
from kinformer.observe import Address, Observation, Report
from kinformer.observe._debug import page
from kinformer.testing import Cluster, FakeClock, config_map
from tests.unit.observe.reports import controller, informer

CONFIG_MAPS = Resource.builtin("ConfigMap")


def said(observation: Observation) -> Any:
    answer = observation.routes["/debug.json"]()
    assert answer.content_type == "application/json"
    assert isinstance(answer.body, bytes)
    return json.loads(answer.body)


def policy() -> str:
    return dict(page().headers)["Content-Security-Policy"]


async def test_the_page_has_a_manager_at_work_as_json() -> None:
    async def reconcile(request: Request) -> None:
        if request.key.name == "bad":
            raise TransportError("no route")

    async with Cluster(config_map("good"), config_map("bad")) as cluster, anyio.create_task_group() as tasks:
        maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
        manager = Manager(maps, clients=cluster.client, clock=cluster.clock, address="127.0.0.1:0")
        await tasks.start(manager.run)
        await cluster.advance(3.05)
        assert manager._observation is not None
        debug = said(manager._observation)
        tasks.cancel_scope.cancel()
    assert debug["report"]["phase"] == "running"
    assert debug["uptime"] > 3
    (cache,) = debug["report"]["informers"]
    assert (cache["name"], cache["objects"], cache["isSynced"]) == ("configmaps", 2, True)
    activity = debug["activity"]["maps"]
    assert activity["results"]["success"] == 1
    assert activity["results"]["error"] > 2
    (failure,) = debug["failures"]
    assert (failure["subject"], failure["message"]) == ("maps: default/bad", "TransportError('no route')")
    assert failure["count"] == activity["results"]["error"]
    history = debug["history"]
    assert len(history["depth"]["maps"]) == len(history["active"]["maps"]) == len(history["lag"]) == 3
    assert sum(history["done"]["maps"]) <= 1 + activity["results"]["error"]


async def test_who_stands_by_says_who_leads() -> None:
    async def reconcile(request: Request) -> None:
        raise AssertionError

    async with Cluster() as cluster, LeaderElection("maps", identity="rival").lead(cluster.client):
        maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
        manager = Manager(
            maps,
            election=LeaderElection("maps", identity="me"),
            clients=cluster.client,
            clock=cluster.clock,
            address="127.0.0.1:0",
        )
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.advance(5.0)
            assert manager._observation is not None
            debug = said(manager._observation)
            manager.stop()
    assert debug["report"]["phase"] == "standing by"
    assert debug["holders"] == {"maps": "rival"}
    (lease,) = debug["report"]["leases"]
    assert (lease["kind"], lease["isHeld"]) == ("election", False)


def test_ages_of_what_has_not_happened_are_null() -> None:
    report = Report("running", (informer(),), (controller(),), ())
    observation = Observation(Address("", 0), lambda: report, load=dict, clock=FakeClock())
    assert said(observation)["report"]["informers"][0]["eventAge"] is None


def test_the_page_is_one_file_that_asks_for_nothing_from_elsewhere() -> None:
    html = page().body
    assert isinstance(html, str)
    assert set(re.findall(r'(?:href|src)="([^"]*)"', html)) == {
        "data:,",
        "debug.json",
        "metrics",
        "readyz",
        "healthz",
    }
    addresses = set(re.findall(r"https?://[^\"' ]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert len(html) < 30_000


def test_no_other_script_may_run_in_the_page_and_nothing_be_made_of_text() -> None:
    html = page().body
    assert isinstance(html, str)
    assert "default-src 'none'" in policy()
    assert "unsafe" not in policy()
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/=]{44}'", policy())) == 2
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(| on\w+=|style=", html
    )
