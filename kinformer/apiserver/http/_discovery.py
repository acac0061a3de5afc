"""Discovery: what is served, in the plain and in the aggregated form (rules D-1 to D-6).

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kinformer.apiserver.http._reviews import REVIEWS
from kinformer.apiserver.registry import Registry, Served, version_rank

__all__ = ["Discovery"]

_GROUP_API: Final = "apidiscovery.k8s.io"


class _Subresource(NamedTuple):
    """What a subresource says of itself: the kind it exchanges, and its verbs."""

    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]


_GET_PATCH_UPDATE: Final = ("get", "patch", "update")
_OTHER_KINDS: Final = {
    "scale": _Subresource("Scale", "autoscaling", "v1", _GET_PATCH_UPDATE),
    "eviction": _Subresource("Eviction", "policy", "v1", ("create",)),
    "binding": _Subresource("Binding", "", "v1", ("create",)),
    "token": _Subresource("TokenRequest", "authentication.k8s.io", "v1", ("create",)),
}
_OTHER_VERBS: Final = {"finalize": ("update",), "log": ("get",)}


class Discovery:
    """The discovery documents of a registry, made when they are asked for and kept until the registry changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._groups: dict[str, tuple[str, ...]] = {}
        self._resources: dict[tuple[str, str], list[Served]] = {}
        self._aggregated: dict[tuple[bool, str], tuple[bytes, str]] = {}

    def versions(self, group: str) -> Sequence[str]:
        """The versions of a group, the preferred one first; empty where there is no such group."""
        self._refresh()
        return self._groups.get(group, ())

    def has_custom_only(self, group: str, version: str) -> bool:
        """Whether a group version holds custom resources and nothing else, so that an unknown path in it is text."""
        self._refresh()
        return all(served.is_custom for served in self._resources.get((group, version), ()))

    def core_versions(self, address: str) -> dict[str, Any]:
        """``GET /api``: ``APIVersions``; ``address`` is the host and port that the client used."""
        return {
            "kind": "APIVersions",
            "versions": list(self.versions("")),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def group_list(self) -> dict[str, Any]:
        """``GET /apis``: ``APIGroupList``, without the core group."""
        self._refresh()
        groups = [self._group(group) for group in self._groups if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, group: str) -> dict[str, Any] | None:
        """``GET /apis/<group>``: ``APIGroup``, or ``None``."""
        if not group or not self.versions(group):
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}

    def resource_list(self, group: str, version: str) -> dict[str, Any] | None:
        """``GET /api/v1``, ``GET /apis/<group>/<version>``: ``APIResourceList``, or ``None``."""
        self._refresh()
        found = self._resources.get((group, version))
        if found is None:
            return None
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": _join(group, version),
            "resources": [entry for served in found for entry in _entries(served)],
        }

    def aggregated(self, version: str, *, is_core: bool) -> tuple[bytes, str]:
        """``APIGroupDiscoveryList`` in ``version`` of its own API, as JSON, and its quoted ETag.

        ``is_core`` tells ``/api`` from ``/apis``.
        """
        self._refresh()
        kept = self._aggregated.get((is_core, version))
        if kept is None:
            groups = [group for group in self._groups if (not group) is is_core]
            document = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": f"{_GROUP_API}/{version}",
                "metadata": {},
                "items": [self._aggregated_group(group) for group in groups],
            }
            body = msgspec.json.encode(document)
            kept = body, f'"{hashlib.sha256(body).hexdigest().upper()}"'
            self._aggregated[is_core, version] = kept
        return kept

    def _refresh(self) -> None:
        if self._generation == self._registry.generation:
            return
        self._generation = self._registry.generation
        resources: dict[tuple[str, str], list[Served]] = {}
        registered = self._registry.served()
        known = {(served.group, served.version, served.plural) for served in registered}
        reviews = [review for review in REVIEWS if (review.group, review.version, review.plural) not in known]
        for served in [*registered, *reviews]:
            resources.setdefault((served.group, served.version), []).append(served)
        groups: dict[str, tuple[str, ...]] = {}
        for group, version in resources:
            groups[group] = tuple(sorted((*groups.get(group, ()), version), key=version_rank))
        self._resources, self._groups, self._aggregated = resources, groups, {}

    def _group(self, group: str) -> dict[str, Any]:
        versions = [
            {"groupVersion": _join(group, version), "version": version} for version in self._groups[group]
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _aggregated_group(self, group: str) -> dict[str, Any]:
        return {
            "metadata": {"name": group},
            "versions": [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": [_aggregated_resource(served) for served in self._resources[group, version]],
                }
                for version in self._groups[group]
            ],
        }


def _entries(served: Served) -> Sequence[dict[str, Any]]:
    """The lines of an ``APIResourceList`` for a resource and its subresources."""
    entry: dict[str, Any] = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(served.verbs),
        **_names(served),
    }
    entries = [entry]
    for name in served.subresources:
        sub = _subresource(served, name)
        line = {
            "name": f"{served.plural}/{name}",
            "singularName": "",
            "namespaced": served.namespaced,
            "kind": sub.kind,
            "verbs": list(sub.verbs),
        }
        if (sub.group, sub.version) != (served.group, served.version):
            line |= {"group": sub.group, "version": sub.version}
        entries.append(line)
    return entries


def _aggregated_resource(served: Served) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resource": served.plural,
        "responseKind": {"group": served.group, "version": served.version, "kind": served.kind},
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
        **_names(served),
    }
    if served.subresources:
        resource["subresources"] = [
            {
                "subresource": name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind},
                "verbs": list(sub.verbs),
            }
            for name, sub in ((name, _subresource(served, name)) for name in served.subresources)
        ]
    return resource


def _names(served: Served) -> Mapping[str, list[str]]:
    names = {"shortNames": list(served.short_names), "categories": list(served.categories)}
    return {field: values for field, values in names.items() if values}


def _subresource(served: Served, name: str) -> _Subresource:
    verbs = _OTHER_VERBS.get(name, _GET_PATCH_UPDATE)
    return _OTHER_KINDS.get(name) or _Subresource(served.kind, served.group, served.version, verbs)


def _join(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version
