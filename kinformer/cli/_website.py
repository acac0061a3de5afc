"""The controller of the demo: it keeps a Deployment and a ConfigMap for each Website.

``examples/03_website_controller.py`` is the same controller as a file to start from; a test sees that they agree.
"""

from typing import Any, Final

from kinformer.controller import (
    Controller,
    Request,
    add_finalizer,
    owner_reference,
    remove_finalizer,
    set_condition,
)
from kinformer.meta import Object, Resource

__all__ = [
    "CONFIG_MAPS",
    "CRD",
    "DEPLOYMENTS",
    "DIRECTORY",
    "WEBSITES",
    "controller",
]

WEBSITES: Final = Resource("example.dev", "v1", "websites", "Website")
DEPLOYMENTS: Final = Resource.builtin("Deployment")
CONFIG_MAPS: Final = Resource.builtin("ConfigMap")

FINALIZER: Final = "example.dev/directory"
MANAGER: Final = "website-controller"
DIRECTORY: Final = "website-directory"
"""A ConfigMap of each namespace that lists the URLs of all its Websites, so no Website can own it."""

CRD: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "websites.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "websites", "singular": "website", "kind": "Website", "shortNames": ["ws"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["html"],
                                "properties": {
                                    "title": {"type": "string"},
                                    "html": {"type": "string"},
                                    "replicas": {"type": "integer", "default": 1, "minimum": 0},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


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
controller.writes(WEBSITES, "status", "finalizers")
