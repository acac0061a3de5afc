"""A lively manager with its debug page, until it is interrupted: ``python docs/debug_page.py [SECONDS SCREENSHOT]``.

With two arguments it takes the screenshot of the docs after so many seconds, and ends. It needs the extra ``test``.
"""

import random
import sys
from pathlib import Path

import anyio

from kinformer import Controller, Manager, Request, RequeueAfter, Resource
from kinformer.controller import LeaderElection
from kinformer.errors import TerminalError
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map, custom_resource_definition, pod
from kinformer.workqueue import ExponentialLimiter, MaxAttempts

CONFIG_MAPS = Resource.builtin("ConfigMap")
DEPLOYMENTS = Resource.builtin("Deployment")
PODS = Resource.builtin("Pod")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
BACKUPS = Resource("example.dev", "v1", "backups", "Backup")
NAMES = (
    "shop",
    "blog",
    "docs",
    "api",
    "wiki",
    "mail",
    "forum",
    "status",
    "search",
    "login",
    "media",
    "billing",
)

chance = random.Random(7)  # noqa: S311 -- a play
clock = SystemClock()


async def publish(request: Request) -> None:
    """Take a while, and fail for mail."""
    await clock.sleep(chance.expovariate(3))
    if request.key.name.startswith("mail") and chance.random() < 0.8:
        raise ConnectionError("smtp.example.dev:465: connection refused")
    site = request.lister(WEBSITES).get(request.key)
    if site is not None:
        await request.client.resource(WEBSITES).status.patch(
            request.key, {"status": {"seen": site.metadata.generation}}
        )


async def save(request: Request) -> RequeueAfter:
    """Take long, fail for good for one, and always for another."""
    await clock.sleep(chance.uniform(0.2, 6))
    if request.key.name == "login":
        raise TerminalError("spec.bucket must name a bucket")
    if request.key.name == "billing":
        raise PermissionError("s3://billing: access denied")
    return RequeueAfter(chance.uniform(20, 90))


async def count(request: Request) -> None:  # noqa: ARG001 -- that of a reconciler
    """Take no time."""
    await clock.sleep(0.002)


async def disturb(cluster: Cluster) -> None:
    """Change sites in bursts, and a pod now and then."""
    sites, pods = cluster.client.resource(WEBSITES), cluster.client.resource(PODS)
    for number in range(1_000_000):
        burst = 40 if number % 31 < 3 else 3
        for _ in range(burst):
            name = f"default/{chance.choice(NAMES)}-{chance.randrange(9)}"
            await sites.patch(name, {"spec": {"replicas": chance.randrange(9)}})
        pod_name = f"default/worker-{chance.randrange(400)}"
        await pods.patch(pod_name, {"metadata": {"labels": {"beat": str(number)}}})
        await clock.sleep(0.4)


def site(resource: Resource, name: str) -> dict[str, object]:
    """An object of a custom resource."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {},
    }


async def main(seconds: float, screenshot: str) -> None:
    """Run the play."""
    objects = [
        custom_resource_definition(WEBSITES, status=True),
        custom_resource_definition(BACKUPS),
        *(site(WEBSITES, f"{name}-{number}") for name in NAMES for number in range(9)),
        *(site(BACKUPS, name) for name in NAMES),
        *(pod(f"worker-{number}") for number in range(400)),
        *(config_map(f"settings-{number}") for number in range(60)),
    ]
    controllers = (
        Controller("website", publish, workers=8).watches(WEBSITES).owns(DEPLOYMENTS).reads(CONFIG_MAPS),
        Controller("backup", save, workers=3, limiter=MaxAttempts(ExponentialLimiter(1.0, 60.0), 4)).watches(
            BACKUPS
        ),
        Controller("census", count).watches(PODS),
    )
    address = "127.0.0.1:0" if screenshot else "127.0.0.1:8080"
    async with Cluster(*objects, clock=clock) as cluster, anyio.create_task_group() as tasks:
        election = LeaderElection("website-operator", identity="website-operator-6d5f7c9b4-x2k8p")
        manager = Manager(*controllers, clients=cluster.client, election=election, address=address)
        await tasks.start(manager.run)
        tasks.start_soon(disturb, cluster)
        print(f"{manager.url}/debug")
        await clock.sleep(seconds)
        if screenshot:
            sys.path.insert(0, str(Path(__file__).parents[1]))
            from tests.wire.chromium import opened

            async with opened() as page:
                await page.open(f"{manager.url}/debug", height=940)
                await clock.sleep(4)
                await anyio.Path(screenshot).write_bytes(await page.screenshot())
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, float(sys.argv[1]) if len(sys.argv) > 1 else 1e9, "".join(sys.argv[2:3]))
