"""Watch caches: what follows the storage for a resource, cut short while it waits."""

from contextlib import suppress

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver.cacher import Attributes, CacheOptions, Cacher, Metrics
from kinformer.apiserver.storage import FutureRevisionError, UnavailableError
from kinformer.system_clock import SystemClock
from kinformer.testing import settle
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import YieldingKV

PREFIX = "/registry/core/pods/"


class Patient:
    """A dispatcher that takes its time."""

    async def dispatch(self, event: object) -> None:
        await checkpoint()

    def progress(self, revision: int) -> None:
        pass

    def restart(self) -> None:
        pass


async def cachers(sweep: Sweep) -> None:
    """A cache with a reader that waits for what comes late and one that waits in vain, whose watch is lost once."""
    kv = YieldingKV()

    async def work() -> None:
        cacher = Cacher(
            kv,
            PREFIX,
            lambda _: Attributes({}, {}),
            metrics=Metrics("", "pods"),
            clock=SystemClock(),
            options=CacheOptions(timeout=0.25),
        )
        cacher.dispatcher = Patient()
        async with anyio.create_task_group() as tasks:
            await tasks.start(cacher.run)
            cacher.pause()
            await kv.put(PREFIX + "n/a", b"")
            await settle()
            with suppress(FutureRevisionError):
                await cacher.wait_until_fresh(2**62)
            cacher.resume()
            await cacher.wait_until_fresh(await kv.revision())
            cacher.break_watch(UnavailableError("cut"))
            await settle()
            await cacher.readiness.wait()
            cacher.close()

    await sweep.of(work, held=lambda: kv.kv.watches)
