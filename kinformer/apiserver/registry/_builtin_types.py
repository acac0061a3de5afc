"""The types of the fields that this server reads, where no schema says them: of metadata, and of the built-in kinds.

A real server decodes into Go types, and refuses what does not fit; so must we, or a wrong value would be found by the
code that trips over it. Fields that the server never looks at are not written down.
"""

from collections.abc import Mapping
from typing import Any, Final

from kinformer.apiserver.registry._errors import bad_request
from kinformer.apiserver.registry._field_types import Either, ListOf, MapOf, misfits
from kinformer.apiserver.registry._served import Served

__all__ = ["check_types"]

_TEXTS: Final = MapOf(str)
_STRINGS: Final = ListOf(str)

_OWNER: Final = {
    "apiVersion": str,
    "kind": str,
    "name": str,
    "uid": str,
    "controller": bool,
    "blockOwnerDeletion": bool,
}
_METADATA: Final = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "selfLink": str,
    "generation": int,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": _STRINGS,
    "ownerReferences": ListOf(_OWNER),
    "managedFields": ListOf(dict),
}

_SELECTOR: Final = {
    "matchLabels": _TEXTS,
    "matchExpressions": ListOf({"key": str, "operator": str, "values": _STRINGS}),
}
_CONTAINERS: Final = ListOf({"name": str, "image": str, "env": ListOf(dict), "ports": ListOf(dict)})
_CONTAINER_STATES: Final = ListOf(
    {
        "ready": bool,
        "restartCount": int,
        "state": {"waiting": {"reason": str}, "terminated": {"reason": str}},
    }
)
_POD_SPEC: Final = {
    "containers": _CONTAINERS,
    "initContainers": _CONTAINERS,
    "nodeName": str,
    "hostNetwork": bool,
    "terminationGracePeriodSeconds": int,
    "volumes": ListOf(dict),
}
_POD: Final = {
    "spec": _POD_SPEC,
    "status": {
        "phase": str,
        "reason": str,
        "podIP": str,
        "podIPs": ListOf({"ip": str}),
        "containerStatuses": _CONTAINER_STATES,
        "conditions": ListOf(dict),
    },
}
_TEMPLATE: Final = {"metadata": _METADATA, "spec": _POD_SPEC}
_REPLICA_STATUS: Final = dict.fromkeys(
    ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "observedGeneration"), int
)


def _workload(selector: Any) -> dict[str, Any]:
    return {
        "spec": {"replicas": int, "selector": selector, "template": _TEMPLATE},
        "status": {**_REPLICA_STATUS, "conditions": ListOf(dict)},
    }


_SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(("type", "format", "pattern", "title", "description", "$ref"), str),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), float),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), int
    ),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"), bool),
    **dict.fromkeys(
        (
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        ),
        bool,
    ),
    "enum": list,
    "required": _STRINGS,
    "x-kubernetes-list-type": str,
    "x-kubernetes-list-map-keys": _STRINGS,
    "x-kubernetes-map-type": str,
    "x-kubernetes-validations": ListOf(dict),
}
_SCHEMA.update(dict.fromkeys(("properties", "patternProperties", "definitions"), MapOf(_SCHEMA)))
_SCHEMA.update(dict.fromkeys(("allOf", "anyOf", "oneOf"), ListOf(_SCHEMA)))
_SCHEMA["not"] = _SCHEMA
_SCHEMA["items"] = Either(list, _SCHEMA)
_SCHEMA["additionalProperties"] = Either(bool, _SCHEMA)
_NAMES: Final = {
    **dict.fromkeys(("plural", "singular", "kind", "listKind"), str),
    "shortNames": _STRINGS,
    "categories": _STRINGS,
}
_VERSION: Final = {
    "name": str,
    "served": bool,
    "storage": bool,
    "deprecated": bool,
    "deprecationWarning": str,
    "schema": {"openAPIV3Schema": _SCHEMA},
    "subresources": {
        "status": dict,
        "scale": {"specReplicasPath": str, "statusReplicasPath": str, "labelSelectorPath": str},
    },
    "additionalPrinterColumns": ListOf(
        {
            **dict.fromkeys(("name", "type", "jsonPath", "description", "format"), str),
            "priority": int,
        }
    ),
    "selectableFields": ListOf({"jsonPath": str}),
}
_DEFINITION: Final = {
    "spec": {
        "group": str,
        "scope": str,
        "names": _NAMES,
        "versions": ListOf(_VERSION),
        "conversion": {"strategy": str},
        "preserveUnknownFields": bool,
    },
    "status": {
        "conditions": ListOf(
            dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), str)
        ),
        "acceptedNames": _NAMES,
        "storedVersions": _STRINGS,
    },
}

_RULES: Final = ListOf(
    dict.fromkeys(("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"), _STRINGS)
)
_BINDING: Final = {
    "roleRef": dict.fromkeys(("apiGroup", "kind", "name"), str),
    "subjects": ListOf(dict.fromkeys(("apiGroup", "kind", "name", "namespace"), str)),
}

_KINDS: Final[dict[str, dict[str, Any]]] = {
    "configmaps": {"data": _TEXTS, "binaryData": _TEXTS, "immutable": bool},
    "secrets": {"data": _TEXTS, "stringData": _TEXTS, "type": str, "immutable": bool},
    "services": {
        "spec": {
            **dict.fromkeys(("type", "clusterIP", "sessionAffinity"), str),
            "selector": _TEXTS,
            "externalIPs": _STRINGS,
            "ports": ListOf({"name": str, "port": int, "nodePort": int, "protocol": str}),
        },
        "status": {"loadBalancer": {"ingress": ListOf({"ip": str, "hostname": str})}},
    },
    "namespaces": {"spec": {"finalizers": _STRINGS}, "status": {"phase": str, "conditions": ListOf(dict)}},
    "nodes": {
        "spec": {"unschedulable": bool},
        "status": {"conditions": ListOf(dict), "addresses": ListOf(dict)},
    },
    "events": {"involvedObject": dict, "regarding": dict, "source": dict, "count": int},
    "pods": _POD,
    "deployments": _workload(_SELECTOR),
    "replicasets": _workload(_SELECTOR),
    "statefulsets": _workload(_SELECTOR),
    "daemonsets": _workload(_SELECTOR),
    "replicationcontrollers": _workload(_TEXTS),
    "leases": {"spec": {"holderIdentity": str, "leaseDurationSeconds": int, "leaseTransitions": int}},
    "customresourcedefinitions": _DEFINITION,
    "roles": {"rules": _RULES},
    "clusterroles": {"rules": _RULES, "aggregationRule": {"clusterRoleSelectors": ListOf(_SELECTOR)}},
    "rolebindings": _BINDING,
    "clusterrolebindings": _BINDING,
}
_PLAIN: Final = {"spec": dict, "status": dict}


def check_types(served: Served, content: Mapping[str, Any]) -> None:
    """Refuse what a real server could not decode.

    Raises:
        StatusError: 400; the first field of a wrong type is named.
    """
    kinds: Mapping[str, Any] = {} if served.is_custom else {**_PLAIN, **_KINDS.get(served.plural, {})}
    wanted = {**kinds, "metadata": _METADATA}
    for path, found, go_type in misfits(content, wanted, served.kind):
        raise bad_request(
            f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: '
            f"json: cannot unmarshal {found} into Go struct field {path} of type {go_type}"
        )
