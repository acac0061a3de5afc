"""The debug page as a person sees it: in Chromium, from a manager that works."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kinformer.controller import Controller, Manager, Request
from kinformer.errors import TerminalError
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map
from tests.wire.chromium import CHROMIUM, opened

pytestmark = [
    pytest.mark.wire,
    pytest.mark.timeout(60),  # a browser begins with much to do
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: the page is looked at where there is one"),
]

CONFIG_MAPS = Resource.builtin("ConfigMap")
MARKUP = "<script>hacked = 1</script><img src=x onerror='hacked = 1'>"


class Gate:
    """Reconciles that wait until they are let through; one key has an error that looks like markup."""

    def __init__(self) -> None:
        self.opened = anyio.Event()

    async def reconcile(self, request: Request) -> None:
        if request.key.name == "bad":
            raise TerminalError(MARKUP)
        await self.opened.wait()


@asynccontextmanager
async def at_work(gate: Gate, cluster: Cluster) -> AsyncIterator[Manager]:
    controllers = (
        Controller("gate", gate.reconcile, workers=2).watches(CONFIG_MAPS),
        Controller(MARKUP, gate.reconcile).watches(CONFIG_MAPS, labels="a=b"),
    )
    manager = Manager(*controllers, clients=cluster.client, address="127.0.0.1:0")
    async with anyio.create_task_group() as tasks:
        await tasks.start(manager.run)
        yield manager
        manager.stop()


def tile(name: str) -> str:
    return f"document.querySelector('.tile[data-name={name}]')?.innerText.split('\\n').slice(1).join(' ')"


async def test_its_values_change_while_one_looks_and_nothing_is_wrong_in_the_console() -> None:
    gate = Gate()
    maps = [config_map(f"map-{number}") for number in range(5)]
    async with (
        Cluster(config_map("bad"), *maps, clock=SystemClock()) as cluster,
        at_work(gate, cluster) as manager,
        opened() as page,
    ):
        await page.open(f"{manager.url}/debug")
        await page.until(f"{tile('Running')} === '2 of 6'")
        assert str(await page.value(tile("Queued"))).startswith("3")
        assert "default/map-0" in await page.value("document.querySelector('#tables').innerText")
        await cluster.client.resource(CONFIG_MAPS).create(config_map("late"))
        await page.until(f"{tile('Queued')}.startsWith('4')")
        gate.opened.set()
        await page.until(f"{tile('Running')} === '0 of 6' && {tile('Queued')} === '0'")
        await page.until("document.querySelector('path.depth').getAttribute('d').includes('L')")
        assert await page.value("document.querySelector('#phase').innerText") == "running"
        assert page.complaints == []


async def test_what_looks_like_markup_is_shown_as_it_is_written_and_silence_is_told() -> None:
    gate = Gate()
    gate.opened.set()
    async with opened() as page:
        async with (
            Cluster(config_map("bad"), clock=SystemClock()) as cluster,
            at_work(gate, cluster) as manager,
        ):
            await page.open(f"{manager.url}/debug")
            await page.until("document.body.innerText.includes('TerminalError')")
            assert MARKUP in await page.value("document.querySelector('#tables').innerText")
            assert await page.value("document.querySelectorAll('.card h2')[1].innerText") == MARKUP
            assert await page.value("document.querySelectorAll('script, img').length") == 1
            assert await page.value("typeof hacked") == "undefined"
            assert await page.value("document.querySelector('#live').innerText") == "live"
            assert page.complaints == []
        await page.until("document.querySelector('#live').innerText.startsWith('no answer for')")
