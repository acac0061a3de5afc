"""Installation: the objects that a program needs in a cluster, with no more rights than it has use for. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kinformer.controller import EVERYWHERE, Permission

__all__ = ["Installation", "as_name"]

_RBAC: Final = "rbac.authorization.k8s.io"
_NOBODY: Final = 65532
"""The user and group of images that have no root, as by ``gcr.io/distroless``."""
_LONGEST: Final = 63
_MARGIN: Final = 5
"""Seconds that a program gets to leave beyond the grace that it gives its parts."""

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Installation:
    """A program as it is to be installed.

    Attributes:
        name: Of all objects; a DNS label.
        namespace: Where its account and its pods live.
        image: The container image.
        command: What runs in the container.
        permissions: What its account is allowed.
        port: Where ``/healthz`` and ``/readyz`` are answered; 0 for nowhere, and then there are no probes.
        replicas: How many pods; with one, the old pod is gone before a new one begins.
        grace: Seconds that its parts get to end.
    """

    name: str
    namespace: str
    image: str
    command: Sequence[str]
    permissions: Sequence[Permission]
    port: int = 0
    replicas: int = 1
    grace: float = 30.0

    def objects(self) -> Iterator[Content]:
        """What to apply, in an order in which each finds what it names."""
        if self.namespace != "default":
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self._metadata(self.namespace)}
        places: dict[str, list[Permission]] = {}
        for permission in self.permissions:
            places.setdefault(permission.namespace or self.namespace, []).append(permission)
        for place in sorted(places, key=lambda place: (place != EVERYWHERE, place)):
            yield from self._role(place, places[place])
        yield self._deployment()

    def _metadata(self, namespace: str = "") -> Content:
        home = {"namespace": namespace} if namespace else {}
        return {"name": self.name, **home, "labels": self._labels}

    @property
    def _labels(self) -> Content:
        return {"app.kubernetes.io/name": self.name}

    def _role(self, place: str, permissions: Iterable[Permission]) -> Iterator[Content]:
        kind, namespace = ("ClusterRole", "") if place == EVERYWHERE else ("Role", place)
        account = {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}
        head = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": self._metadata(namespace)}
        yield {**head, "rules": list(_rules(permissions))}
        yield {
            **head,
            "kind": f"{kind}Binding",
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": self.name},
            "subjects": [account],
        }

    def _deployment(self) -> Content:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self._metadata(self.namespace),
            "spec": {
                "replicas": self.replicas,
                **({"strategy": {"type": "Recreate"}} if self.replicas == 1 else {}),
                "selector": {"matchLabels": self._labels},
                "template": {"metadata": {"labels": self._labels}, "spec": self._pod()},
            },
        }

    def _pod(self) -> Content:
        return {
            "serviceAccountName": self.name,
            "terminationGracePeriodSeconds": int(self.grace) + _MARGIN,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _NOBODY,
                "runAsGroup": _NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "controller",
                    "image": self.image,
                    "command": list(self.command),
                    **self._probes(),
                    "resources": {
                        "requests": {"cpu": "50m", "memory": "128Mi"},
                        "limits": {"memory": "512Mi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        }

    def _probes(self) -> Content:
        if not self.port:
            return {}
        return {
            "ports": [{"name": "http", "containerPort": self.port}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "initialDelaySeconds": 10},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5},
        }


def as_name(text: str) -> str:
    """The nearest name that an object can have."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST].rstrip("-") or "controller"


def _rules(permissions: Iterable[Permission]) -> Iterator[Content]:
    """Rules, of which those that differ in nothing but the resource are one."""
    resources: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for each in permissions:
        resources.setdefault((each.resource.group, each.names, each.verbs), []).append(each.combined)
    for (group, names, verbs), found in resources.items():
        yield {
            "apiGroups": [group],
            "resources": found,
            **({"resourceNames": list(names)} if names else {}),
            "verbs": list(verbs),
        }
