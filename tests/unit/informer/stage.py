"""An informer over a source that follows a script, and what handlers and hooks write down."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kinformer.errors import ExpiredError
from kinformer.hooks import HandlerFailed, HandlerLagging, NoHooks, ObjectQuarantined
from kinformer.informer import Added, Deleted, Notification, SharedInformer, Updated
from kinformer.meta import Object, Resource
from kinformer.testing import (
    FakeClock,
    ListAnswer,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    error_event,
)

PODS = Resource.builtin("Pod")


def pod(
    name: str, version: int, *, uid: str = "", namespace: str = "default", replicas: object = 1
) -> Object:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return Object.from_mapping({"metadata": metadata, "spec": {"replicas": replicas}}, PODS)


def snapshot(version: int, *objects: Object) -> list[StreamStep]:
    """The beginning of a watch-list: these objects, and the bookmark that ends them."""
    return [*map(added, objects), bookmark(str(version), ends_initial_events=True)]


EXPIRED = error_event(ExpiredError(410, "Expired", "too old"))


class Log:
    """A handler that writes down what it is told, and what the store holds at that moment."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.informer: SharedInformer[Object] | None = None
        self.stores: list[set[str]] = []

    def __call__(self, told: Notification[Object]) -> None:
        match told:
            case Added(obj, is_initial):
                self.lines.append(f"add {shown(obj)}{' initially' if is_initial else ''}")
            case Updated(old, new):
                self.lines.append(f"update {shown(old)} to {shown(new)}")
            case Deleted(obj, is_tombstone):
                self.lines.append(f"delete {shown(obj)}{' as tombstone' if is_tombstone else ''}")
        if self.informer is not None:
            self.stores.append({shown(obj) for obj in self.informer.lister.list()})

    def take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def shown(obj: Object) -> str:
    return f"{obj.key.name}({obj.metadata.resource_version})"


class Bench:
    """An informer over a script."""

    def __init__(self, *watches: WatchAnswer, lists: Iterable[ListAnswer] = (), **options: Any) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, watches=watches, clock=self.clock)
        self.informer: SharedInformer[Object] = SharedInformer(self.source, clock=self.clock, **options)
        self.log = Log()

    @property
    def content(self) -> set[str]:
        return {shown(obj) for obj in self.informer.lister.list()}


MakeBench: TypeAlias = Callable[..., Bench]


class Quarantine(NoHooks):
    def __init__(self) -> None:
        self.keys: list[str] = []

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.keys.append(event.key)


class Heard(NoHooks):
    """Hooks that keep what concerns one handler."""

    def __init__(self) -> None:
        self.events: list[HandlerFailed | HandlerLagging | ObjectQuarantined] = []

    def handler_failed(self, event: HandlerFailed, /) -> None:
        self.events.append(event)

    def handler_lagging(self, event: HandlerLagging, /) -> None:
        self.events.append(event)

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.events.append(event)
