"""A whole controller: for each Website a Deployment and a ConfigMap, a status, and a clean-up.

Run as a script it plays a scene against an apiserver inside this process. To serve for real:

    kubectl apply -f examples/website/crd.yaml
    kinformer run examples/03_website_controller.py
    kubectl apply -f examples/website/sample.yaml
"""

from pathlib import Path
from typing import Any

import anyio
import yaml

from kinformer import (
    Controller,
    Object,
    Request,
    Resource,
    add_finalizer,
    owner_reference,
    remove_finalizer,
    set_condition,
)
from kinformer.testing import Cluster

WEBSITES = Resource("example.dev", "v1", "websites", "Website")
DEPLOYMENTS = Resource.builtin("Deployment")
CONFIG_MAPS = Resource.builtin("ConfigMap")

FINALIZER = "example.dev/directory"
MANAGER = "website-controller"
# A ConfigMap that lists all Websites of a namespace, so none of them can own it.
DIRECTORY = "website-directory"


async def reconcile(request: Request) -> None:
    """Make the world match one Website; called again whenever it, its Deployment or its ConfigMap changes."""
    sites = request.client.resource(WEBSITES)
    site = request.lister(WEBSITES).get(request.key)
    if site is None:
        return  # gone, and what it owned is the garbage collector's
    if site.metadata.deletion_timestamp is not None:
        await put_in_directory(request, site, {})
        await remove_finalizer(sites, site, FINALIZER)
        return
    site = await add_finalizer(sites, site, FINALIZER)
    await request.client.resource(CONFIG_MAPS).apply(config_map_of(site), field_manager=MANAGER, force=True)
    deployments = request.client.resource(DEPLOYMENTS)
    deployment = await deployments.apply(deployment_of(site), field_manager=MANAGER, force=True)
    url = f"https://{site.metadata.name}.{site.metadata.namespace}.example.dev/"
    await put_in_directory(request, site, {site.metadata.name: url})
    await report(request, site, url, ready=deployment.at("status", "readyReplicas", default=0))


def config_map_of(site: Object) -> dict[str, Any]:
    """The page, as a file for the web server."""
    return {"metadata": owned_by(site), "data": {"index.html": site["spec"]["html"]}}


def deployment_of(site: Object) -> dict[str, Any]:
    """The web server."""
    labels = {"example.dev/website": site.metadata.name}
    mount = {"name": "page", "mountPath": "/usr/share/nginx/html"}
    pod = {
        "containers": [{"name": "web", "image": "nginx:1.29", "volumeMounts": [mount]}],
        "volumes": [{"name": "page", "configMap": {"name": site.metadata.name}}],
    }
    return {
        "metadata": owned_by(site),
        "spec": {
            "replicas": site["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def owned_by(site: Object) -> dict[str, Any]:
    """Metadata of what bears the Website's name, and goes when it goes."""
    owners = [owner_reference(site)]
    return {"name": site.metadata.name, "namespace": site.metadata.namespace, "ownerReferences": owners}


async def put_in_directory(request: Request, site: Object, line: dict[str, str]) -> None:
    """Each Website applies its own line; applying none takes it out, and leaves those of the others."""
    directory = {"metadata": {"name": DIRECTORY, "namespace": site.metadata.namespace}, "data": line}
    manager = f"website-{site.metadata.name}"
    await request.client.resource(CONFIG_MAPS).apply(directory, field_manager=manager, force=True)


async def report(request: Request, site: Object, url: str, *, ready: int) -> None:
    """Write the status where it has changed."""
    before, wanted = site.thaw().get("status", {}), site["spec"]["replicas"]
    status = {**before, "url": url, "readyReplicas": ready}
    set_condition(
        status,
        "Ready",
        ready == wanted,
        reason="Served" if ready == wanted else "RollingOut",
        message=f"{ready} of {wanted} replicas are ready",
        observed_generation=site.metadata.generation,
    )
    if status != before:
        await request.client.resource(WEBSITES).status.patch(site.key, {"status": status})


controller = Controller("website", reconcile).watches(WEBSITES).owns(DEPLOYMENTS).owns(CONFIG_MAPS)
controller.writes(WEBSITES, "status", "finalizers")  # for "kinformer manifests"


async def main() -> None:
    folder = Path(__file__).parent / "website"
    crd, sample = (yaml.safe_load((folder / name).read_text()) for name in ("crd.yaml", "sample.yaml"))
    key = f"default/{sample['metadata']['name']}"
    async with Cluster(crd, sample) as cluster, cluster.running(controller):
        sites, deployments = cluster.client.resource(WEBSITES), cluster.client.resource(DEPLOYMENTS)

        async def is_deployed() -> bool:
            return bool(
                (await deployments.get(key))["spec"]["replicas"] == (await sites.get(key))["spec"]["replicas"]
            )

        async def is_reported() -> bool:
            return bool((await sites.get(key))["status"]["conditions"][0]["status"] == "True")

        async def is_gone() -> bool:
            return not (await sites.list()).items and not (await deployments.list()).items

        await cluster.until(is_deployed)
        print(f"{key} has its Deployment")
        await sites.patch(key, {"spec": {"replicas": 3}})
        await cluster.until(is_deployed)
        print("scaled to 3, and the Deployment follows")
        await deployments.delete(key)
        await cluster.until(is_deployed)
        print("somebody deleted the Deployment, and it is back")
        await deployments.status.patch(
            key, {"status": {"readyReplicas": 3}}
        )  # nobody else plays the nodes here
        await cluster.until(is_reported)
        print("ready at", (await sites.get(key))["status"]["url"])
        await sites.delete(key)
        await cluster.until(is_gone)
        print("deleted, and everything that it owned is gone")


if __name__ == "__main__":
    anyio.run(main)
