"""Columns: what a table shows of each kind (rules T-3, T-5, C-14).

Built-in columns follow ``pkg/printers/internalversion`` of Kubernetes, those of custom resources their
``additionalPrinterColumns``: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from kinformer.apiserver.http._ages import age
from kinformer.apiserver.http._jsonpath import find
from kinformer.apiserver.registry import PrinterColumn, Served

__all__ = ["Column", "columns_of"]

Content = Mapping[str, Any]
Cell = Callable[[Content, datetime], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, and how a cell is made of an object and the present time."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        """The column as ``columnDefinitions`` shows it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def columns_of(served: Served) -> tuple[Column, ...]:
    """The columns of a resource; Name and Age where nothing else is known or declared."""
    if not served.is_custom:
        return _BUILTIN.get((served.group, served.kind), (_NAME, _AGE))
    return (_NAME, *(_declared(column) for column in served.printer_columns or (_DECLARED_AGE,)))


def _declared(column: PrinterColumn) -> Column:
    def cell(content: Content, now: datetime) -> Any:
        try:
            found = find(column.json_path, content)
        except ValueError:
            return None
        return _shown(found[0], column.type, now) if found and found[0] is not None else None

    return Column(column.name, cell, column.type, column.format, column.description, column.priority)


def _shown(value: Any, kind: str, now: datetime) -> Any:
    """A value as a cell of its column's type; ``None``, printed as ``<none>``, where it does not fit."""
    match kind, value:
        case "date", str():
            return age(value, now)
        case "integer", bool():
            return None
        case "integer", int() | float():
            return int(value)
        case "number", int() | float():
            return value
        case "boolean", bool():
            return value
        case "string", str():
            return value
        case "string", _:
            return msgspec.json.encode(value).decode()
        case _:
            return None


def _at(content: Any, *path: str, default: Any = None) -> Any:
    for name in path:
        content = content.get(name) if isinstance(content, Mapping) else None
    return default if content is None else content


def _field(*path: str, default: Any = "") -> Cell:
    return lambda content, _: _at(content, *path, default=default)


def _count(*path: str) -> Cell:
    return lambda content, _: len(_at(content, *path, default=()))


def _ratio(of: tuple[str, ...], total: tuple[str, ...]) -> Cell:
    return lambda content, _: f"{_at(content, *of, default=0)}/{_at(content, *total, default=0)}"


def _pods_ready(content: Content, _: datetime) -> str:
    states = _at(content, "status", "containerStatuses", default=())
    return f"{sum(bool(state.get('ready')) for state in states)}/{len(_at(content, 'spec', 'containers', default=()))}"


def _pod_status(content: Content, _: datetime) -> str:
    if _at(content, "metadata", "deletionTimestamp"):
        return "Terminating"
    for state in reversed(_at(content, "status", "containerStatuses", default=())):
        reason = _at(state, "state", "waiting", "reason") or _at(state, "state", "terminated", "reason")
        if reason:
            return str(reason)
    return str(_at(content, "status", "reason") or _at(content, "status", "phase", default=""))


def _pod_restarts(content: Content, _: datetime) -> int:
    states = _at(content, "status", "containerStatuses", default=())
    return sum(int(state.get("restartCount", 0)) for state in states)


def _external_ip(content: Content, _: datetime) -> str:
    balancers = _at(content, "status", "loadBalancer", "ingress", default=())
    addresses = [*(one.get("ip") or one.get("hostname", "") for one in balancers)]
    addresses += _at(content, "spec", "externalIPs", default=())
    if addresses:
        return ",".join(addresses)
    return "<pending>" if _at(content, "spec", "type") == "LoadBalancer" else "<none>"


def _ports(content: Content, _: datetime) -> str:
    shown = []
    for port in _at(content, "spec", "ports", default=()):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(shown) or "<none>"


def _containers(field: str, *path: str) -> Cell:
    return lambda content, _: ",".join(str(one.get(field, "")) for one in _at(content, *path, default=()))


def _labels(*path: str) -> Cell:
    def cell(content: Content, _: datetime) -> str:
        labels = _at(content, *path, default={})
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "<none>"

    return cell


_NAME: Final = Column("Name", _field("metadata", "name"), format="name", description="Name of the object.")
_AGE: Final = Column(
    "Age",
    lambda content, now: age(_at(content, "metadata", "creationTimestamp"), now),
    description="Time since the object was created.",
)
_DECLARED_AGE: Final = PrinterColumn("Age", "date", ".metadata.creationTimestamp")
_TEMPLATE: Final = ("spec", "template", "spec", "containers")
_WORKLOAD: Final = (
    Column("Containers", _containers("name", *_TEMPLATE), priority=1),
    Column("Images", _containers("image", *_TEMPLATE), priority=1),
)
_SELECTOR: Final = Column("Selector", _labels("spec", "selector", "matchLabels"), priority=1)
_BUILTIN: Final[Mapping[tuple[str, str], tuple[Column, ...]]] = {
    ("", "Pod"): (
        _NAME,
        Column("Ready", _pods_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts, type="integer"),
        _AGE,
        Column("IP", _field("status", "podIP", default="<none>"), priority=1),
        Column("Node", _field("spec", "nodeName", default="<none>"), priority=1),
    ),
    ("", "Service"): (
        _NAME,
        Column("Type", _field("spec", "type", default="ClusterIP")),
        Column("Cluster-IP", _field("spec", "clusterIP", default="<none>")),
        Column("External-IP", _external_ip),
        Column("Port(s)", _ports),
        _AGE,
        Column("Selector", _labels("spec", "selector"), priority=1),
    ),
    ("", "Namespace"): (_NAME, Column("Status", _field("status", "phase")), _AGE),
    ("", "ConfigMap"): (_NAME, Column("Data", _count("data"), type="integer"), _AGE),
    ("", "Secret"): (
        _NAME,
        Column("Type", _field("type", default="Opaque")),
        Column("Data", _count("data"), type="integer"),
        _AGE,
    ),
    ("apps", "Deployment"): (
        _NAME,
        Column("Ready", _ratio(("status", "readyReplicas"), ("spec", "replicas"))),
        Column("Up-to-date", _field("status", "updatedReplicas", default=0), type="integer"),
        Column("Available", _field("status", "availableReplicas", default=0), type="integer"),
        _AGE,
        *_WORKLOAD,
        _SELECTOR,
    ),
    ("apps", "ReplicaSet"): (
        _NAME,
        Column("Desired", _field("spec", "replicas", default=0), type="integer"),
        Column("Current", _field("status", "replicas", default=0), type="integer"),
        Column("Ready", _field("status", "readyReplicas", default=0), type="integer"),
        _AGE,
        *_WORKLOAD,
        _SELECTOR,
    ),
    ("apps", "StatefulSet"): (
        _NAME,
        Column("Ready", _ratio(("status", "readyReplicas"), ("spec", "replicas"))),
        _AGE,
        *_WORKLOAD,
    ),
    ("coordination.k8s.io", "Lease"): (_NAME, Column("Holder", _field("spec", "holderIdentity")), _AGE),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        _NAME,
        Column("Created At", _field("metadata", "creationTimestamp"), type="date"),
    ),
}
