"""An informer of two namespaces, of which each is told by a script."""

from collections.abc import Iterable
from typing import Any

from kinformer.informer import SharedInformer
from kinformer.meta import Object
from kinformer.testing import (
    HOLD,
    FakeClock,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
)
from tests.unit.informer.stage import PODS, Log, pod, shown, snapshot


def of(namespace: str, name: str, version: int) -> Object:
    return pod(name, version, namespace=namespace)


def holding(version: int, *objects: Object) -> list[StreamStep]:
    return [*snapshot(version, *objects), HOLD]


class Bench:
    """An informer over a script for each namespace."""

    def __init__(self, *, a: Iterable[WatchAnswer], b: Iterable[WatchAnswer], **options: Any) -> None:
        self.clock = FakeClock()
        self.sources = {
            namespace: ScriptedSource(PODS, watches=watches, clock=self.clock)
            for namespace, watches in (("a", a), ("b", b))
        }
        self.informer = SharedInformer(self.sources, clock=self.clock, **options)
        self.log = Log()

    @property
    def content(self) -> set[str]:
        return {f"{obj.metadata.namespace}/{shown(obj)}" for obj in self.informer.lister.list()}

    @property
    def troubles(self) -> dict[str, list[str]]:
        """The conditions that are true, by namespace."""
        return {
            namespace: [str(name) for name, condition in conditions.items() if condition.status]
            for namespace, conditions in self.informer.namespace_conditions.items()
        }
