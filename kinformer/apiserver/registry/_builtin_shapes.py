"""The shapes of the built-in kinds: the lists that merge by key, and the maps that are one value.

Written down from the patch and list markers of the upstream definitions; everything that is not here merges as most
things do: maps by key, lists as a whole.
"""

from dataclasses import replace
from typing import Any, Final

from kinformer.apiserver.registry._shapes import STRUCT, Shape

__all__ = ["METADATA", "builtin_shape"]


def _struct(*, always: bool = False, **fields: Shape) -> Shape:
    return Shape(fields=fields, declares_all=True, is_always_there=always)


def _keyed(
    merge_key: str,
    items: Shape = STRUCT,
    *,
    keys: tuple[str, ...] = (),
    defaults: dict[str, Any] | None = None,
    retains: bool = False,
) -> Shape:
    return Shape(
        items=replace(items, retains_keys=retains),
        list_type="map",
        keys=keys or (merge_key,),
        key_defaults=defaults or {},
        merge_key=merge_key,
        declares_all=True,
    )


_SET: Final = Shape(list_type="set")
_ATOMIC: Final = Shape(is_atomic=True, declares_all=True)
_ONE_VALUE: Final = Shape(list_type="atomic", merge_key="type", declares_all=True, items=STRUCT)
_ALWAYS: Final = _struct(always=True)
_TCP: Final = {"protocol": "TCP"}

METADATA: Final = _struct(always=True, finalizers=_SET, ownerReferences=_keyed("uid", _ATOMIC))
"""The metadata of every kind, custom ones included."""

_CONDITIONS: Final = _keyed("type")
_STATUS: Final = _struct(always=True, conditions=_CONDITIONS)

_ENV: Final = _struct(
    valueFrom=_struct(
        configMapKeyRef=_ATOMIC, fieldRef=_ATOMIC, resourceFieldRef=_ATOMIC, secretKeyRef=_ATOMIC
    )
)
_CONTAINER: Final = _struct(
    env=_keyed("name", _ENV),
    ports=_keyed("containerPort", keys=("containerPort", "protocol"), defaults=_TCP),
    resources=_struct(always=True, claims=_keyed("name")),
    volumeDevices=_keyed("devicePath"),
    volumeMounts=_keyed("mountPath"),
)
_POD_SPEC: Final = _struct(
    always=True,
    containers=_keyed("name", _CONTAINER),
    ephemeralContainers=_keyed("name", _CONTAINER),
    hostAliases=_keyed("ip"),
    imagePullSecrets=_keyed("name"),
    initContainers=_keyed("name", _CONTAINER),
    nodeSelector=_ATOMIC,
    resourceClaims=_keyed("name", retains=True),
    schedulingGates=_keyed("name"),
    topologySpreadConstraints=_keyed(
        "topologyKey", _struct(labelSelector=_ATOMIC), keys=("topologyKey", "whenUnsatisfiable")
    ),
    volumes=_keyed("name", retains=True),
)
_POD_STATUS: Final = _struct(
    always=True,
    conditions=_CONDITIONS,
    podIPs=_keyed("ip"),
    hostIPs=Shape(merge_key="ip", declares_all=True),
    resourceClaimStatuses=_keyed("name", retains=True),
)
_TEMPLATE: Final = _struct(always=True, metadata=METADATA, spec=_POD_SPEC)
_RETAINING: Final = Shape(declares_all=True, is_always_there=True, retains_keys=True)


def _workload(**more: Shape) -> Shape:
    spec = {
        "template": _TEMPLATE,
        "selector": _ATOMIC,
        "strategy": _RETAINING,
        "updateStrategy": _ALWAYS,
        **more,
    }
    return _struct(metadata=METADATA, spec=_struct(always=True, **spec), status=_STATUS)


_WEBHOOKS: Final = _struct(
    metadata=METADATA,
    webhooks=_keyed(
        "name",
        _struct(matchConditions=_keyed("name"), namespaceSelector=_ATOMIC, objectSelector=_ATOMIC),
    ),
)
_JOB_STATUS: Final = _struct(always=True, conditions=_ONE_VALUE)
_JOB: Final = _struct(
    metadata=METADATA, spec=_struct(always=True, template=_TEMPLATE, selector=_ATOMIC), status=_JOB_STATUS
)
_PLAIN: Final = _struct(metadata=METADATA, spec=_ALWAYS, status=_STATUS)

_SHAPES: Final[dict[str, Shape]] = {
    "pods": _struct(metadata=METADATA, spec=_POD_SPEC, status=_POD_STATUS),
    "podtemplates": _struct(metadata=METADATA, template=_TEMPLATE),
    "deployments": _workload(),
    "replicasets": _workload(),
    "daemonsets": _workload(),
    "statefulsets": _workload(persistentVolumeClaimRetentionPolicy=STRUCT),
    "replicationcontrollers": _workload(),
    "jobs": _JOB,
    "cronjobs": _struct(
        metadata=METADATA,
        spec=_struct(
            always=True, jobTemplate=_struct(always=True, metadata=METADATA, spec=_JOB.fields["spec"])
        ),
        status=_STATUS,
    ),
    "services": _struct(
        metadata=METADATA,
        spec=_struct(
            always=True, ports=_keyed("port", keys=("port", "protocol"), defaults=_TCP), selector=_ATOMIC
        ),
        status=_STATUS,
    ),
    "serviceaccounts": _struct(metadata=METADATA, secrets=_keyed("name", _ATOMIC)),
    "nodes": _struct(
        metadata=METADATA,
        spec=_struct(always=True, podCIDRs=_SET),
        status=_struct(always=True, addresses=_keyed("type"), conditions=_CONDITIONS),
    ),
    "poddisruptionbudgets": _struct(
        metadata=METADATA,
        spec=_struct(always=True, selector=replace(_ATOMIC, replaces=True)),
        status=_STATUS,
    ),
    "mutatingwebhookconfigurations": _WEBHOOKS,
    "validatingwebhookconfigurations": _WEBHOOKS,
    "validatingadmissionpolicies": _struct(
        metadata=METADATA,
        spec=_struct(always=True, matchConditions=_keyed("name"), variables=_keyed("name")),
        status=_STATUS,
    ),
    "csinodes": _struct(metadata=METADATA, spec=_struct(always=True, drivers=_keyed("name"))),
    "persistentvolumes": _PLAIN,
    "rolebindings": _struct(metadata=METADATA, roleRef=_ATOMIC),
    "clusterrolebindings": _struct(metadata=METADATA, roleRef=_ATOMIC),
    "endpoints": _struct(metadata=METADATA),
}


def builtin_shape(plural: str) -> Shape:
    """The shape of a built-in kind."""
    return _SHAPES.get(plural, _PLAIN)
