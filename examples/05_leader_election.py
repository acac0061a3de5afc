"""Two replicas, of which one works: each Ticket gets the next number, and two that gave numbers at once would give one twice.

What shows here: who stands by has its cache full and takes over at once; the lease is given back after the last reconcile
has ended; and who loses it stops by itself, before anybody else begins.

Run as a script it plays a scene against an apiserver inside this process. ``kinformer run examples/05_leader_election.py`` serves:
start it twice, and stop the one that leads.
"""

from functools import partial

import anyio

from kinformer import Controller, Manager, Request, Resource
from kinformer.controller import LeaderElection
from kinformer.errors import LeadershipLostError
from kinformer.hooks import LeadershipChanged, NoHooks
from kinformer.testing import Cluster, custom_object, custom_resource_definition

TICKETS = Resource("example.dev", "v1", "tickets", "Ticket")
LEASES = Resource.builtin("Lease")


async def reconcile(request: Request) -> None:
    """Give a Ticket the number after the highest that there is. That takes one at a time, in one place."""
    tickets = request.lister(TICKETS)
    ticket = tickets.get(request.key)
    if ticket is None or ticket.at("spec", "number", default=0):
        return
    number = 1 + max(each.at("spec", "number", default=0) for each in tickets.list())
    await request.client.resource(TICKETS).patch(request.key, {"spec": {"number": number}})


def controller() -> Controller:
    return Controller("tickets", reconcile, workers=1).watches(TICKETS).writes(TICKETS)


manager = Manager(controller(), election=LeaderElection("tickets"))  # for kinformer run


class Announcer(NoHooks):
    """Says who leads."""

    def leadership_changed(self, event: LeadershipChanged, /) -> None:
        """Print it."""
        print(f"  {event.identity} {'leads' if event.is_leader else 'leads no more'}")


async def main() -> None:
    async with Cluster(custom_resource_definition(TICKETS)) as cluster, anyio.create_task_group() as tasks:
        tickets, leases = cluster.client.resource(TICKETS), cluster.client.resource(LEASES)

        async def replica(made: Manager) -> None:
            try:
                await made.run(client=cluster.client)
            except LeadershipLostError as error:
                print(f"  it stops: {error}")

        def start(name: str) -> Manager:
            election = LeaderElection("tickets", identity=name)
            made = Manager(controller(), election=election, clock=cluster.clock, hooks=Announcer())
            tasks.start_soon(partial(replica, made))
            return made

        async def draw(*names: str) -> None:
            """Make Tickets and wait until each has its number."""
            for name in names:
                await tickets.create(custom_object(TICKETS, name), namespace="default")

            async def have_numbers() -> bool:
                return all(
                    [(await tickets.get(f"default/{name}")).at("spec", "number", default=0) for name in names]
                )

            await cluster.until(have_numbers, timeout=60)
            for name in names:
                print(f"  {name} has number {(await tickets.get(f'default/{name}'))['spec']['number']}")

        print("two replicas start; the first to write its name into the Lease leads, and the other stands by")
        ann = start("ann")
        await cluster.advance(1)
        start("bob")
        await draw("tea", "coffee")

        print("ann is told to stop, as in a rolling update: she gives the Lease back, and bob goes on")
        ann.stop()
        await draw("juice")

        print("somebody takes the Lease away from bob: what he does is cancelled, and he stops by himself")
        start("cora")
        await cluster.advance(1)
        await leases.patch(
            "default/tickets", {"spec": {"holderIdentity": "a person", "leaseDurationSeconds": 5}}
        )
        await cluster.advance(3)
        await draw("water")

        numbers = sorted(each["spec"]["number"] for each in (await tickets.list()).items)
        print(f"the numbers that were given: {numbers}")
        assert numbers == [1, 2, 3, 4]
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
