"""Watch pods: see what there is, then hear of each change.

Run as a script it plays against an apiserver inside this process. ``follow(client)`` with a ``Client()`` follows the cluster that
your kubeconfig points to. A watch ends sooner or later, as every watch does; an informer (the next example) goes on.
"""

import anyio

from kinformer import Client, Resource
from kinformer.meta import EventType
from kinformer.testing import Cluster, pod

PODS = Resource.builtin("Pod")


async def follow(client: Client) -> None:
    """Print the pods of the namespace ``default``, then what happens to them, until the first one is gone."""
    pods = client.resource(PODS).where(namespace="default")
    listed = await pods.list()
    for item in listed.items:
        print(f"there is  {item.key}")
    async with pods.watch(version=listed.version) as batches:
        async for batch in batches:
            for event in batch:
                if event.type is EventType.BOOKMARK:
                    continue
                if event.error is not None:
                    raise event.error
                phase = event.obj.at("status", "phase", default="no phase")
                print(f"{event.type:<9} {event.obj.key} ({phase})")
                if event.type is EventType.DELETED:
                    return


async def change(client: Client) -> None:
    """What happens meanwhile."""
    pods = client.resource(PODS)
    await pods.create(pod("web-1"))
    await pods.status.patch("default/web-1", {"status": {"phase": "Running"}})
    await pods.delete("default/web-1", grace_period=0)


async def main() -> None:
    async with Cluster(pod("web-0", phase="Running")) as cluster, anyio.create_task_group() as tasks:
        tasks.start_soon(change, cluster.client)
        await follow(cluster.client)


if __name__ == "__main__":
    anyio.run(main)
