"""Cancelling at each await of kinformer leaves nothing behind.

The source is read for every place at which a task may have to wait: ``await``, ``async for``, and both ends of ``async
with``. A stage belongs to some rooms, and runs small works that reach all such places in their files. Each work is cut
short where it waits, by an ``anyio`` scope, by ``Task.cancel``, and by the latter again while it cleans up after the
former; each time no task, timer, descriptor, suspended generator or other thing that the stage knows of may be left. In
the end all places must have been seen waiting, and cancelled there. The few that cannot be are in ``apart.py``, with the
reason for each.

So when this fails after an await was added, the message names it: extend a work of its stage until it comes by there
and has to wait (``YieldingKV``, ``ScriptedSource``, a ``checkpoint`` in a double), or enter it in ``apart.py`` if it
cannot wait at all. A new room gets a stage of its own, in a file of ``tests/scenario/cancelling/``.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import pytest

from tests.scenario.cancelling import (
    accounts,
    clients,
    commands,
    connections,
    contests,
    controllers,
    doubles,
    etcds,
    observers,
    pipeline,
    pumps,
    requests,
    server,
    sockets,
    storages,
    watch_caches,
)
from tests.scenario.cancelling.apart import NEVER_WAITS, SHIELDED, matching
from tests.scenario.cancelling.haste import HastyLoop
from tests.scenario.cancelling.points import Point, points
from tests.scenario.cancelling.sweep import By, Sweep


@dataclass(frozen=True, slots=True)
class Stage:
    """Some works, and how the paths of the files begin that they belong to; where two fit, the longer one holds."""

    rooms: tuple[str, ...]
    works: tuple[Callable[[Sweep], Awaitable[None]], ...]
    by: By = "step"


STAGES = {
    "floors": Stage(("tasks", "system_clock"), (pipeline.floors,)),
    "queues": Stage(("workqueue/",), (controllers.queues,)),
    "reflectors": Stage(("reflector/",), (pipeline.reflectors,)),
    "informers": Stage(("informer/",), (pipeline.informers, pipeline.factories, pumps.parts_of_informers)),
    "clients": Stage(
        ("client/",),
        (
            clients.verbs,
            clients.waits,
            clients.odd_answers,
            connections.streams,
            connections.streams_of_an_open_client,
            connections.secure_streams,
            connections.races,
            connections.credentials,
            connections.foreign_sources,
        ),
    ),
    "controllers": Stage(
        ("controller/",),
        (
            controllers.managers,
            controllers.finalizers,
            controllers.programs,
            contests.elections,
            contests.shardings,
            contests.shared_controllers,
            controllers.recorders,
            controllers.operators,
            controllers.preflights,
        ),
    ),
    "observers": Stage(("observe/",), (observers.conversations, observers.servers)),
    "server": Stage(
        ("apiserver/",),
        (
            requests.requests_in_the_server,
            server.a_server_that_lives,
            server.a_storage_that_goes_away,
            server.reads_without_caches,
            server.watches_without_caches,
            server.watches_that_fail,
            accounts.a_server_that_asks,
            accounts.who_shows_a_token,
        ),
        by="chain",
    ),
    "storages": Stage(("apiserver/storage/",), (storages.memory, storages.caches)),
    "watch caches": Stage(
        ("apiserver/cacher/",),
        (watch_caches.cachers, watch_caches.checks, watch_caches.delegators, watch_caches.watches),
    ),
    "etcd": Stage(("apiserver/storage/etcd/",), (etcds.etcds,), by="point"),
    "sockets": Stage(
        ("apiserver/http/_serving",),
        (sockets.a_server_on_a_socket, sockets.a_server_whose_requests_do_not_end),
    ),
    "testing": Stage(
        ("testing/",),
        (
            doubles.clusters,
            doubles.accounts,
            doubles.controllers_that_do_not_start_or_stop,
            doubles.clusters_in_real_time,
            doubles.claims,
            doubles.transports,
            doubles.the_fixture,
            doubles.scripts,
        ),
    ),
    "commands": Stage(
        ("cli/",),
        (
            commands.the_apiserver,
            commands.the_apiserver_without_its_etcd,
            commands.runs,
            commands.the_website_controller,
            commands.the_scenes_of_the_demo,
            commands.the_demo,
        ),
        by="point",  # since a run takes long
    ),
}


def stage_of(file: str) -> str:
    """The stage that a file belongs to; empty where there is none."""
    fitting = [
        (len(room), name) for name, stage in STAGES.items() for room in stage.rooms if file.startswith(room)
    ]
    return max(fitting, default=(0, ""))[1]


@pytest.mark.timeout(120)  # some hundred runs of some work
@pytest.mark.parametrize("name", STAGES)
def test_each_await_of_a_room_is_cancelled_and_leaves_nothing(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = STAGES[name]
    sweep = Sweep(*stage.rooms, by=stage.by)
    with caplog.at_level(logging.CRITICAL, "kinformer"), asyncio.Runner(loop_factory=HastyLoop) as runner:
        runner.run(play(stage, sweep))
    own = {point for point in points() if stage_of(point.file) == name}
    waited, struck = sweep.observer.waited & own, sweep.observer.struck & own
    never, shielded = covered(NEVER_WAITS, own), covered(SHIELDED, own)
    assert listed(own - waited - never) == [], "never seen waiting: make a work wait there, or see apart.py"
    assert listed(waited - struck - shielded) == [], "never cancelled where they wait"
    assert listed(waited & never) == [], "they do wait: take them out of NEVER_WAITS"
    assert listed(struck & shielded) == [], "they are cancelled: take them out of SHIELDED"


async def play(stage: Stage, sweep: Sweep) -> None:
    with sweep.observer.installed():
        for work in stage.works:
            await work(sweep)


def test_each_file_that_waits_belongs_to_a_stage() -> None:
    assert [file for file in {point.file for point in points()} if not stage_of(file)] == []


@pytest.mark.parametrize("entries", [NEVER_WAITS, SHIELDED], ids=["never", "shielded"])
def test_what_stands_apart_is_there(entries: Mapping[str, str]) -> None:
    assert [entry for entry, found in matching(entries, points()).items() if not found] == []


def covered(entries: Mapping[str, str], own: set[Point]) -> set[Point]:
    return set().union(*matching(entries, own).values())


def listed(found: Iterable[Point]) -> list[str]:
    return sorted(f"kinformer/{point.file}:{points()[point]}: {point}" for point in found)
