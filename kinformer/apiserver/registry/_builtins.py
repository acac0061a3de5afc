"""The built-in kinds as this server serves them: ``meta.BUILTINS`` with what only a server knows.

The tables follow the strategies of kube-apiserver (``pkg/registry``); a kind that is in none of them is like most.
"""

from typing import Final

from kinformer.apiserver.registry._builtin_shapes import builtin_shape
from kinformer.apiserver.registry._served import ALL_VERBS, ScalePaths, Served, Traits
from kinformer.meta import BUILTINS

__all__ = ["builtin_kinds"]

_ALL: Final = frozenset(
    [
        "pods",
        "replicationcontrollers",
        "services",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "horizontalpodautoscalers",
        "cronjobs",
        "jobs",
    ]
)
_API_EXTENSION_GROUPS: Final = {
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
}

_WITH_STATUS: Final = frozenset(
    [
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "services",
        "validatingadmissionpolicies",
        "customresourcedefinitions",
        "apiservices",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "horizontalpodautoscalers",
        "cronjobs",
        "jobs",
        "certificatesigningrequests",
        "flowschemas",
        "prioritylevelconfigurations",
        "ingresses",
        "servicecidrs",
        "poddisruptionbudgets",
        "resourceclaims",
        "volumeattachments",
    ]
)
_WITH_SCALE: Final = frozenset(["deployments", "replicasets", "statefulsets", "replicationcontrollers"])

# Rule W-14.
_WITH_GENERATION: Final = frozenset(
    [
        "deployments",
        "replicasets",
        "statefulsets",
        "daemonsets",
        "replicationcontrollers",
        "jobs",
        "cronjobs",
        "poddisruptionbudgets",
        "ingresses",
        "networkpolicies",
        "endpointslices",
        "customresourcedefinitions",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "flowschemas",
        "prioritylevelconfigurations",
        "resourceclaims",
        "apiservices",
        "pods",
    ]
)

# Rule W-10.
_CONDITIONAL_UPDATE_ONLY: Final = frozenset(
    [
        "customresourcedefinitions",
        "leases",
        "poddisruptionbudgets",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "runtimeclasses",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ]
)
_CREATE_ON_UPDATE: Final = frozenset(
    [
        "events",
        "leases",
        "endpoints",
        "services",
        "limitranges",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
    ]
)

# Rule W-22. Namespaces and definitions never vanish at once, so they answer with themselves anyway.
_RETURNS_DELETED: Final = frozenset(
    [
        "pods",
        "services",
        "serviceaccounts",
        "persistentvolumes",
        "persistentvolumeclaims",
        "podtemplates",
        "resourcequotas",
        "storageclasses",
        "csidrivers",
        "csinodes",
        "volumeattachments",
        "volumeattributesclasses",
        "deviceclasses",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourceslices",
    ]
)
_ORPHANS_BY_DEFAULT: Final = frozenset({"jobs", "replicationcontrollers"})

# Rule W-6.
_NAME_RULES: Final = {
    "namespaces": "label",
    "services": "service",
    "roles": "path",
    "rolebindings": "path",
    "clusterroles": "path",
    "clusterrolebindings": "path",
}

_REFERENCE: Final = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
# Rule Q-5.
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicationcontrollers": ("status.replicas",),
    "replicasets": ("status.replicas",),
    "jobs": ("status.successful",),
    "certificatesigningrequests": ("spec.signerName",),
    "v1/events": (
        *(f"involvedObject.{field}" for field in _REFERENCE),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "events.k8s.io/v1/events": (
        *(f"regarding.{field}" for field in _REFERENCE),
        "reason",
        "reportingController",
        "type",
    ),
}

# Rule W-11 and below.
_IMMUTABLE: Final = {
    "deployments": ("spec.selector",),
    "daemonsets": ("spec.selector",),
    "replicasets": ("spec.selector",),
    "statefulsets": (
        "spec.selector",
        "spec.serviceName",
        "spec.podManagementPolicy",
        "spec.volumeClaimTemplates",
    ),
    "jobs": ("spec.selector",),
    "secrets": ("type",),
    "rolebindings": ("roleRef",),
    "clusterrolebindings": ("roleRef",),
    "storageclasses": ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
    "priorityclasses": ("value",),
    "customresourcedefinitions": ("spec.group", "spec.names.plural", "spec.scope"),
}


def builtin_kinds() -> tuple[Served, ...]:
    """Every built-in kind, in the order of ``meta.BUILTINS``."""
    return tuple(
        _served(row.group, row.version, row.plural, row.kind, row.namespaced, row.short_names)
        for row in BUILTINS
    )


def _served(
    group: str, version: str, plural: str, kind: str, namespaced: bool, short_names: tuple[str, ...]
) -> Served:
    subresources = [
        name for name, having in (("status", _WITH_STATUS), ("scale", _WITH_SCALE)) if plural in having
    ]
    categories = [
        name
        for name, belongs in (("all", plural in _ALL), ("api-extensions", group in _API_EXTENSION_GROUPS))
        if belongs
    ]
    verbs: tuple[str, ...] = ALL_VERBS
    if plural == "serviceaccounts":
        subresources.append("token")
    if plural == "namespaces":
        subresources.append("finalize")
        verbs = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")
    api_version = f"{group}/{version}" if group else version
    return Served(
        group,
        version,
        plural,
        kind,
        namespaced,
        singular="endpoints" if plural == "endpoints" else "",
        short_names=short_names,
        categories=tuple(categories),
        verbs=verbs,
        subresources=tuple(subresources),
        scale=_scale(plural),
        storage_version="v2" if plural == "horizontalpodautoscalers" else "",
        traits=Traits(
            generation=plural in _WITH_GENERATION,
            unconditional_update=plural not in _CONDITIONAL_UPDATE_ONLY,
            create_on_update=plural in _CREATE_ON_UPDATE,
            returns_deleted=plural in _RETURNS_DELETED,
            orphans_by_default=plural in _ORPHANS_BY_DEFAULT,
            keeps_status_on_create=plural == "nodes",
            name_rule=_NAME_RULES.get(plural, "subdomain"),
            fields=_FIELDS.get(f"{api_version}/{plural}", _FIELDS.get(plural)),
            immutable=_IMMUTABLE.get(plural, ()),
        ),
        shape=builtin_shape(plural),
    )


def _scale(plural: str) -> ScalePaths | None:
    return ScalePaths(label_selector=".spec.selector") if plural in _WITH_SCALE else None
