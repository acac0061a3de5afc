"""Three replicas that share the work: each Mailbox is fetched by one of them, and by one at a time.

What shows here: consistent hashing over Leases, by which one that comes or goes moves only keys from or to itself; and
a hand-over in which nobody takes up what another one is still working on.

Run as a script it plays a scene against an apiserver inside this process. In a cluster each pod is a replica, called as its host:
``kinformer run examples/08_sharded_controller.py``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from kinformer import Controller, Manager, Request, RequeueAfter, Resource
from kinformer.clock import Clock
from kinformer.controller import Sharding
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, custom_object, custom_resource_definition

MAILBOXES = Resource("example.dev", "v1", "mailboxes", "Mailbox")
NAMES = ["ann", "bob", "cora", "dan", "eve", "fred", "gus", "hal", "ida", "jim", "kim", "liz"]


class Fetcher:
    """A replica: it logs in to the mail server, which lets nobody in twice, and fetches."""

    def __init__(self, identity: str = "", *, clock: Clock | None = None, sessions: dict[str, str]) -> None:
        self.name = identity
        self._clock = clock or SystemClock()
        self._sessions = sessions
        controller = Controller("mail", self.fetch).watches(MAILBOXES)
        self.manager = Manager(
            controller, sharding=Sharding("mail", identity=identity), clock=self._clock, grace=60
        )

    async def fetch(self, request: Request) -> RequeueAfter | None:
        """Fetch one Mailbox, and again in a minute."""
        mailbox = request.lister(MAILBOXES).get(request.key)
        if mailbox is None:
            return None
        name = request.key.name
        if name in self._sessions:
            raise PermissionError(f"{self._sessions[name]} has logged in as {name} already")
        self._sessions[name] = self.name
        try:
            await self._clock.sleep(mailbox["spec"]["seconds"])
        finally:
            del self._sessions[name]
        fetched = {"metadata": {"annotations": {"example.dev/fetched-by": self.name}}}
        await request.client.resource(MAILBOXES).patch(request.key, fetched)
        return RequeueAfter(60)


manager = Fetcher(sessions={}).manager  # for kinformer run


def mailbox(name: str, seconds: float = 0.1) -> Mapping[str, Any]:
    return custom_object(MAILBOXES, name, spec={"seconds": seconds})


async def main() -> None:
    boxes = map(mailbox, NAMES)
    async with (
        Cluster(custom_resource_definition(MAILBOXES), *boxes) as cluster,
        anyio.create_task_group() as tasks,
    ):
        mailboxes, sessions = cluster.client.resource(MAILBOXES), dict[str, str]()

        def start(name: str) -> Fetcher:
            made = Fetcher(name, clock=cluster.clock, sessions=sessions)
            tasks.start_soon(partial(made.manager.run, client=cluster.client))
            return made

        async def show(title: str) -> dict[str, str]:
            """Wait until each Mailbox was fetched again, and say by whom."""
            await cluster.advance(30)
            found = {
                each.metadata.name: each.metadata.annotations["example.dev/fetched-by"]
                for each in (await mailboxes.list()).items
            }
            print(title)
            for owner in sorted(set(found.values())):
                print(f"  {owner}: {' '.join(name for name in found if found[name] == owner)}")
            return found

        start("one")
        alone = await show("one is alone")
        two, _ = start("two"), start("three")
        shared = await show("two and three come")
        assert all(shared[name] in {alone[name], "two", "three"} for name in NAMES)

        slow = next(name for name in NAMES if shared[name] == "two")
        await mailboxes.patch(f"default/{slow}", {"spec": {"seconds": 40}})
        await cluster.until(lambda: slow in sessions, timeout=30)
        two.manager.stop()
        left = await show(
            f"two is told to stop: {slow} it has in its hands still, and all else goes to others"
        )
        assert sessions[slow] == left[slow] == "two"
        assert all(left[name] == shared[name] for name in NAMES if shared[name] != "two")
        await mailboxes.patch(f"default/{slow}", {"spec": {"seconds": 0.1}})
        await show("two has finished and gone")
        print("nobody was ever logged in twice")
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
