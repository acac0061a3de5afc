"""``kinformer demo``: a controller keeps a small world in order while everybody can watch."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from kinformer.cli._embedded import embedded
from kinformer.cli._expectation import Page, World, differences
from kinformer.cli._extras import require
from kinformer.cli._interruption import interruptible, written
from kinformer.cli._view import View
from kinformer.cli._website import CONFIG_MAPS, CRD, DEPLOYMENTS, DIRECTORY, WEBSITES, controller
from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.controller import Controller, Manager, Request, RequeueAfter
from kinformer.errors import NotFoundError
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock

if TYPE_CHECKING:
    from rich.console import Console

    from kinformer.cli._stage import Stage

__all__ = ["demo", "verdict"]

_PATIENCE: Final = 10.0
"""Seconds that the controller gets to put the world in order after each step."""

_PAUSE: Final = 1.0
"""Seconds between two steps, for the eye."""

_BLOG: Final = Page("blog", "<h1>Blog</h1>", 2)
_DOCS: Final = Page("docs", "<h1>Docs</h1>", 1)
_SHOP: Final = Page("shop", "<h1>Shop</h1>", 3)
_NEW_DOCS: Final = Page("docs", "<h1>Docs, second edition</h1>", 2)


def demo() -> int:
    """Play the demo; 0 when the world has converged, 1 when not.

    Raises:
        Complaint: An extra is missing.
        KeyboardInterrupt: A signal ended it.
    """
    require("cli", "rich")
    from kinformer.cli._stage import LiveStage, PlainStage, Terminal

    console = Terminal(highlight=False)
    stage: Stage = LiveStage(console) if console.is_terminal else PlainStage(console)
    with written():
        faults = anyio.run(partial(_interruptible_play, stage))
        if faults is None:
            raise KeyboardInterrupt
        return verdict(console, faults)


def verdict(console: "Console", faults: Sequence[str]) -> int:
    """Say how it ended, with what is wrong; the exit code."""
    for fault in faults:
        console.print(f"wrong: {fault}", markup=False, soft_wrap=True)
    console.print(
        "The world is not what it should be." if faults else "The world is what it should be.", soft_wrap=True
    )
    return 1 if faults else 0


async def _interruptible_play(stage: "Stage") -> Sequence[str] | None:
    """Play until the end, or until a signal, which gives ``None``."""
    with interruptible() as scope:
        faults = await _play(stage, SystemClock())
    return None if scope.cancelled_caught else faults


async def _play(stage: "Stage", clock: Clock) -> Sequence[str]:
    """The whole demo; what is wrong at its end."""
    async with embedded() as server, Client(server.url) as client:
        scene = _Scene(client, stage, clock)
        with stage.open(), _Log(stage):
            stage.say(f"An apiserver listens on {server.url}; try kubectl --kubeconfig {server.kubeconfig}")
            await client.resource(Resource.builtin("CustomResourceDefinition")).create(CRD)
            stage.say("It learns a new kind, Website, and a controller starts.")
            async with anyio.create_task_group() as tasks:
                manager = Manager(controller, _ROLLOUT, clients=client, grace=2.0, clock=clock)
                await tasks.start(manager.run)
                await tasks.start(View(client, stage, clock).run)
                faults = await scene.play()
                tasks.cancel_scope.cancel()
        async with Client(server.url) as witness:
            seen = await _Scene(witness, stage, clock).faults(scene.wanted)
        return faults or seen


class _Scene:
    """What happens to the world, step by step, and what it must look like after each."""

    def __init__(self, client: Client, stage: "Stage", clock: Clock) -> None:
        self._client = client
        self._stage = stage
        self._clock = clock
        self.wanted: dict[str, Page] = {}

    async def play(self) -> Sequence[str]:
        """Play to the end, or to the first step after which the world is not put in order; what is wrong then."""
        story = (
            ("Create: the Websites blog, docs and shop.", self._create),
            ("Change: docs gets a second edition and a second replica.", self._change),
            ("Break: somebody deletes the Deployment of blog behind the controller's back.", self._break),
            ("Break: somebody scales the Deployment of shop to 7, and defaces the blog.", self._tamper),
            (
                "Delete: shop goes, with its Deployment, its ConfigMap, its line in the directory.",
                self._delete,
            ),
        )
        for text, step in story:
            await self._clock.sleep(_PAUSE)
            self._stage.say(text)
            await step()
            faults = await self._converge()
            if faults:
                return faults
            self._stage.say("... and the world is in order.")
        return ()

    async def faults(self, wanted: Mapping[str, Page]) -> Sequence[str]:
        """Read the world back by plain lists, and compare."""
        lists = [
            (await self._client.resource(resource).list(namespace="default")).items
            for resource in (WEBSITES, DEPLOYMENTS, CONFIG_MAPS)
        ]
        return differences(wanted.values(), World(*lists), directory=DIRECTORY)

    async def _converge(self) -> Sequence[str]:
        end = self._clock.monotonic() + _PATIENCE
        while (faults := await self.faults(self.wanted)) and self._clock.monotonic() < end:
            await self._clock.sleep(0.1)
        return faults

    async def _create(self) -> None:
        for page in (_BLOG, _DOCS, _SHOP):
            await self._client.resource(WEBSITES).create(page.body)
            self.wanted[page.name] = page

    async def _change(self) -> None:
        spec = {"html": _NEW_DOCS.html, "replicas": _NEW_DOCS.replicas}
        await self._client.resource(WEBSITES).patch("default/docs", {"spec": spec})
        self.wanted["docs"] = _NEW_DOCS

    async def _break(self) -> None:
        await self._client.resource(DEPLOYMENTS).delete("default/blog")

    async def _tamper(self) -> None:
        await self._client.resource(DEPLOYMENTS).patch("default/shop", {"spec": {"replicas": 7}})
        await self._client.resource(CONFIG_MAPS).patch("default/blog", {"data": {"index.html": "defaced"}})

    async def _delete(self) -> None:
        await self._client.resource(WEBSITES).delete("default/shop")
        del self.wanted["shop"]


async def _roll_out(request: Request) -> RequeueAfter | None:
    """Play the part of a cluster that has nodes: replicas become ready one by one."""
    deployment = request.lister(DEPLOYMENTS).get(request.key)
    if deployment is None:
        return None
    wanted, ready = deployment["spec"]["replicas"], deployment.at("status", "readyReplicas", default=0)
    if ready == wanted:
        return None
    ready += 1 if ready < wanted else -1
    status = {"replicas": ready, "readyReplicas": ready}
    try:
        await request.client.resource(DEPLOYMENTS).status.patch(request.key, {"status": status})
    except NotFoundError:
        return None  # deleted since the cache heard of it
    return RequeueAfter(0.25)


_ROLLOUT: Final = Controller("rollout", _roll_out).watches(DEPLOYMENTS)


class _Log(logging.Handler):
    """While it is entered, what the library warns of is told on the stage instead of across it."""

    def __init__(self, stage: "Stage") -> None:
        super().__init__(logging.WARNING)
        self._stage = stage

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the line, without its traceback."""
        self._stage.say(f"({record.getMessage()})")

    def __enter__(self) -> None:
        logging.getLogger("kinformer").addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger("kinformer").removeHandler(self)
