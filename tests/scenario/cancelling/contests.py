"""Elections and sharding, cancelled wherever they wait: whatever became of them, the next one is no worse off."""

from itertools import count

import anyio

from kinformer.controller import Controller, LeaderElection, Manager, Request, Sharding
from kinformer.controller._lease import LEASES
from kinformer.controller._member import LABEL
from kinformer.meta import Resource
from kinformer.testing import Cluster, config_map
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import CONFIG_MAPS

SERVICE_ACCOUNTS = Resource.builtin("ServiceAccount")


async def elections(sweep: Sweep) -> None:
    """A candidacy from standing by to giving back; whatever became of it, the next one comes to lead."""
    async with Cluster() as cluster:
        leases, names = cluster.client.resource(LEASES), count()

        async def lead() -> None:
            name = f"e{next(names)}"
            other = {"holderIdentity": "other", "leaseDurationSeconds": 3}
            await leases.create({"metadata": {"name": name, "namespace": "default"}, "spec": other})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cluster.advance, 60.0)
                async with LeaderElection(name).lead(cluster.client):
                    await cluster.clock.sleep(5.0)
                tasks.cancel_scope.cancel()

        await sweep.of(lead, held=lambda: cluster.clock.next_timer)


async def shardings(sweep: Sweep) -> None:
    """A membership from looking around, beside somebody dead, to leaving; and the one that comes is no worse off."""
    async with Cluster() as cluster:
        leases, names = cluster.client.resource(LEASES), count()
        await leases.list()  # the server begins to follow them

        async def share() -> None:
            name = f"s{next(names)}"
            dead = {"holderIdentity": "dead", "leaseDurationSeconds": 3}
            metadata = {"name": f"{name}-dead", "namespace": "default", "labels": {LABEL: name}}
            await leases.create({"metadata": metadata, "spec": dead})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cluster.advance, 60.0)
                sharding = Sharding(
                    name, identity="i", lease_duration=3, renew_deadline=2.5, retry_period=1.0
                )
                async with sharding.join(cluster.client):
                    await cluster.clock.sleep(5.5)  # until what the other one has left is removed
                tasks.cancel_scope.cancel()

        await sweep.of(share, held=lambda: cluster.clock.next_timer)


async def shared_controllers(sweep: Sweep) -> None:
    """A manager that takes over the keys of a member who goes; what it looks through takes more than one turn."""
    many = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": f"s{number}"}}
        for number in range(65)
    ]
    async with Cluster(config_map("a"), *many) as cluster:
        names = count()
        for resource in (LEASES, CONFIG_MAPS, SERVICE_ACCOUNTS):
            await cluster.client.resource(resource).list()

        async def take_a_while(request: Request) -> None:
            await cluster.clock.sleep(0.5)

        async def manage() -> None:
            name = f"m{next(names)}"
            manager = Manager(
                Controller("o", take_a_while)
                .watches(CONFIG_MAPS)
                .watches(SERVICE_ACCOUNTS, map=lambda obj: ()),
                clients=cluster.client,
                clock=cluster.clock,
                sharding=Sharding(name, identity="i"),
            )

            async def come_and_go() -> None:
                await cluster.clock.sleep(1.0)
                async with Sharding(name, identity="j").join(cluster.client):
                    await cluster.clock.sleep(2.5)
                await cluster.clock.sleep(2.5)
                manager.stop()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cluster.advance, 60.0)
                tasks.start_soon(come_and_go)
                await manager.run()
                tasks.cancel_scope.cancel()

        await sweep.of(manage, held=lambda: cluster.server.app.open_watches)
