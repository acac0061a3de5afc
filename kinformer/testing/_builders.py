"""Builders: the smallest valid objects of the kinds that tests need most, as fresh dicts to change at will."""

from collections.abc import Iterable, Mapping
from typing import Any

from kinformer.meta import Resource

__all__ = ["config_map", "custom_object", "custom_resource_definition", "namespace", "pod"]

Content = dict[str, Any]


def pod(
    name: str,
    namespace: str = "default",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[Mapping[str, Any]] = (),
    image: str = "registry.example/app:1",
    node: str = "",
    phase: str = "",
) -> Content:
    """A Pod of one container; ``node`` and ``phase`` are left out when empty."""
    content = _object("v1", "Pod", name, namespace, labels=labels, annotations=annotations, owners=owners)
    content["spec"] = {"containers": [{"name": "app", "image": image}]}
    if node:
        content["spec"]["nodeName"] = node
    if phase:
        content["status"] = {"phase": phase}
    return content


def config_map(
    name: str,
    namespace: str = "default",
    *,
    data: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Content:
    """A ConfigMap with this data."""
    content = _object(
        "v1", "ConfigMap", name, namespace, labels=labels, annotations=annotations, owners=owners
    )
    content["data"] = dict(data or {})
    return content


def namespace(name: str, *, labels: Mapping[str, str] | None = None) -> Content:
    """A Namespace."""
    return _object("v1", "Namespace", name, "", labels=labels)


def custom_resource_definition(
    resource: Resource,
    *,
    schema: Mapping[str, Any] | None = None,
    status: bool = True,
    short_names: Iterable[str] = (),
) -> Content:
    """The definition that makes a server serve ``resource``.

    Args:
        resource: What is to be served; its version is the one that is served and stored.
        schema: The ``openAPIV3Schema``. Without one, any ``spec`` and ``status`` will do.
        status: Whether there is a status subresource, so that ordinary writes leave ``status`` alone.
        short_names: Further names that kubectl understands.

    Raises:
        ValueError: The resource is in the core group, where no custom resource can be.
    """
    if not resource.group:
        raise ValueError(
            f"{resource} is in the core group; a custom resource needs a group such as 'example.dev'"
        )
    kept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Content = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": dict(schema)
            if schema is not None
            else {"type": "object", "properties": {"spec": kept, "status": kept}}
        },
    }
    if status:
        version["subresources"] = {"status": {}}
    content = _object("apiextensions.k8s.io/v1", "CustomResourceDefinition", str(resource), "")
    content["spec"] = {
        "group": resource.group,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "names": {
            "plural": resource.plural,
            "singular": resource.kind.lower(),
            "kind": resource.kind,
            "listKind": f"{resource.kind}List",
            "shortNames": list(short_names),
        },
        "versions": [version],
    }
    return content


def custom_object(
    resource: Resource,
    name: str,
    namespace: str = "default",
    *,
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Content:
    """An object of ``resource``; the namespace does not matter where the resource is cluster-scoped."""
    content = _object(
        resource.api_version,
        resource.kind,
        name,
        namespace if resource.namespaced else "",
        labels=labels,
        annotations=annotations,
        owners=owners,
    )
    if spec is not None:
        content["spec"] = dict(spec)
    return content


def _object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Content:
    """What all objects have in common; empty parts are left out, as a server does."""
    metadata: Content = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    if references := [dict(owner) for owner in owners]:
        metadata["ownerReferences"] = references
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
