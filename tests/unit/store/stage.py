"""Records, and the parts of a store as tests need them."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from kinformer.meta import EventType, ObjectKey, Record, Resource, WatchEvent
from kinformer.store import Change, Delta, DeltaFIFO, DeltaQueue, InOrderFIFO, Item, Replacement, Store

PODS = Resource.builtin("Pod")

QUEUES: dict[str, Callable[[Store], DeltaQueue]] = {
    "delta": DeltaFIFO,
    "in-order": lambda known: InOrderFIFO(),
}


def key(name: str, namespace: str = "default") -> ObjectKey:
    return ObjectKey(namespace, name)


def record(
    name: str, version: str = "1", *, namespace: str = "default", uid: str = "", app: str = "", spec: int = 0
) -> Record:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": version,
        "labels": {"app": app},
    }
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": spec}), PODS)


def event(kind: str, name: str, version: str = "1") -> WatchEvent:
    return WatchEvent(EventType(kind), record(name, version), version)


def delta(change: Change, name: str, version: str = "1") -> Delta:
    return Delta(change, key(name), record(name, version))


def by_app(found: Record) -> Iterable[str]:
    """An index function of several values, which cannot bear one of them."""
    app = found.metadata.labels["app"]
    if app == "bad":
        raise ValueError("no such app")
    return app.split("+") if app else ()


def replacement(
    *records: Record,
    version: str = "9",
    kept: Iterable[ObjectKey] = (),
    is_initial: bool = False,
    deletes_first: bool = False,
) -> Replacement:
    """What a queue makes of a snapshot."""
    queue: DeltaQueue = InOrderFIFO() if deletes_first else DeltaFIFO(Store())
    if not is_initial:
        queue.add(delta(Change.ADDED, "before"))
        take(queue)
    queue.replace(records, version, kept=tuple(kept))
    made = queue.pop()
    assert isinstance(made, Replacement)
    return made


def take(queue: DeltaQueue) -> Item:
    """Pop and be done at once."""
    item = queue.pop()
    queue.done()
    return item


def drain(queue: DeltaQueue) -> list[list[Delta]]:
    """All deltas, as they are given out."""
    batches = []
    while queue:
        item = take(queue)
        assert isinstance(item, Sequence)
        batches.append(list(item))
    return batches
