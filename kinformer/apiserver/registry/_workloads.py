"""What ReplicaSets, Deployments, StatefulSets and DaemonSets must look like (``pkg/apis/apps/validation`` of Kubernetes).

A selector that does not match the pods of its own template would make a controller create pods for ever.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kinformer.apiserver.registry._errors import FieldProblem
from kinformer.apiserver.registry._served import Served
from kinformer.meta import LabelSelector

__all__ = ["check_workloads"]

_PLURALS: Final = {"daemonsets", "deployments", "replicasets", "statefulsets"}


def check_workloads(served: Served, content: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """What is wrong with how a workload chooses its pods, and with their number; nothing with other kinds.

    What is left out is let pass, beyond what a real server does: tests make such objects.
    """
    if served.group != "apps" or served.plural not in _PLURALS:
        return
    spec = content.get("spec") or {}
    if (replicas := spec.get("replicas") or 0) < 0:
        yield FieldProblem.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    selector = spec.get("selector")
    if selector is None:
        return
    if not (selector.get("matchLabels") or selector.get("matchExpressions")):
        text = f"empty selector is invalid for {served.kind.lower()}"
        yield FieldProblem.invalid("spec.selector", selector, text)
        return
    try:
        wanted = LabelSelector.from_object(selector)
    except ValueError as error:
        yield FieldProblem.invalid("spec.selector", selector, str(error))
        return
    if spec.get("template") is not None:
        labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        if not wanted.matches(labels):
            text = "`selector` does not match template `labels`"
            yield FieldProblem.invalid("spec.template.metadata.labels", labels, text)
