"""An informer: a cache that keeps itself up to date, with an index, and a handler that hears of each change.

Run as a script it plays against an apiserver inside this process. With ``Client()`` in the place of ``cluster.client``
and ``anyio.sleep_forever()`` for the scene, it follows the cluster that your kubeconfig points to.
"""

from collections.abc import Iterable

import anyio

from kinformer import Added, Deleted, Notification, Object, Resource, SharedInformer, Updated
from kinformer.meta import Record
from kinformer.testing import Cluster, pod

PODS = Resource.builtin("Pod")


def by_app(record: Record) -> Iterable[str]:
    """An index function: under which values an object is to be found."""
    return [record.metadata.labels["app"]] if "app" in record.metadata.labels else []


def tell(notification: Notification[Object]) -> None:
    match notification:
        case Added(obj=obj, is_initial=is_initial):
            print(f"added    {obj.key}{' (was there already)' if is_initial else ''}")
        case Updated(old=old, new=new):
            print(f"updated  {new.key}: {old.at('status', 'phase', default='')} -> {new['status']['phase']}")
        case Deleted(obj=obj):
            print(f"deleted  {obj.key}")


async def main() -> None:
    existing = [pod(f"web-{n}", labels={"app": "web"}, phase="Pending") for n in range(2)]
    async with Cluster(*existing, pod("db-0", labels={"app": "db"})) as cluster:
        pods = cluster.client.resource(PODS)
        informer = SharedInformer(pods, indexers={"app": by_app}, clock=cluster.clock)
        informer.add_handler(tell)
        async with anyio.create_task_group() as tasks:
            await tasks.start(informer.run)  # returns once the first list is in the cache
            print("web pods:", *(str(obj.key) for obj in informer.lister.by_index("app", "web")))

            await pods.status.patch("default/web-0", {"status": {"phase": "Running"}})
            await pods.delete("default/web-1", grace_period=0)
            await cluster.until(lambda: len(informer.lister) == 2)
            print("web pods:", *(str(obj.key) for obj in informer.lister.by_index("app", "web")))
            tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
