"""Consistency: reads of a reconciler are never older than what its controller has written."""

from collections.abc import Iterable
from functools import partial
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import anyio
import msgspec

from kinformer.client import Call
from kinformer.clock import Clock
from kinformer.controller._overlay import OverlayStore
from kinformer.controller._own_writes import OwnWrite, OwnWrites
from kinformer.controller._reconcile import Cache
from kinformer.controller._sources import Scope
from kinformer.errors import DecodeError
from kinformer.hooks import Hooks, WriteUnseen
from kinformer.informer import Added, Lister, Notification, Registration, SharedInformer, Updated
from kinformer.meta import Object, ObjectKey, Record, Resource, prune_managed_fields

__all__ = ["Consistency", "Place", "WriteLog", "place_of"]

Consistency: TypeAlias = Literal["overlay", "barrier", "none"]
"""How a reconciler reads what its controller has just written, with ``request.lister`` after a write by ``request.client``.

``"overlay"``: the answer of the write is laid over the cache until the cache shows it, or something later.
``"barrier"``: the write returns when the cache shows it, so that lists of other keys are as new too.
``"none"``: the cache is read as it is, and may be behind.
"""

_OVERLAY_PATIENCE: Final = 60.0
_BARRIER_PATIENCE: Final = 10.0
"""Seconds after which a cache is read as it is, whatever it shows: its stream may be gone, or the object out of its sight."""


class Place(NamedTuple):
    """What a request is about; ``name`` and ``subresource`` may be empty."""

    group: str
    version: str
    plural: str
    key: ObjectKey
    subresource: str


def place_of(path: str) -> Place | None:
    """Read the path of a request; ``None`` where it is about no resource."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    plural, name, subresource = (*rest[:3], "", "")[:3]
    return Place(group, version, plural, ObjectKey(namespace, name), subresource)


class _Details(msgspec.Struct):
    uid: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Answer(msgspec.Struct, rename="camel"):
    """What tells an answer that is the object from one that is about it: a ``Status``, or a ``Scale``."""

    kind: str = ""
    api_version: str = ""
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    details: _Details = msgspec.field(default_factory=_Details)


class _Watched:
    """One cache of the controller, and what has been written there."""

    def __init__(self, informer: SharedInformer[Object], scope: Scope, writes: OwnWrites) -> None:
        self.informer: Final = informer
        self.scope: Final = scope
        self.writes: Final = writes
        self.moved = anyio.Event()

    def hear(self, notification: Notification[Object]) -> None:
        match notification:
            case Updated(new=obj) | Added(obj=obj):
                key = obj.key
            case _:
                key = notification.obj.key
        self.writes.settle(key)
        self.moved.set()
        self.moved = anyio.Event()


class Fence(Protocol):
    """Says whether it is still allowed to write; a ``Leadership`` fits."""

    def check(self) -> None:
        """Raise where it is not."""


class WriteLog:
    """A client's witness, for one controller and cluster: knows its writes, and the caches as its reconciler sees them.

    Args:
        controller: The controller's name, for hooks.
        mode: How it reads.
        fence: Asked right before each write; ``None`` for no fence.
        clock: The time.
        hooks: Hear of a write that the cache has not shown for too long.
    """

    def __init__(
        self, controller: str, mode: Consistency, *, fence: Fence | None, clock: Clock, hooks: Hooks
    ) -> None:
        self._controller = controller
        self._mode = mode
        self.fence = fence
        self._clock = clock
        self._hooks = hooks
        self._watched: dict[tuple[str, str, str], _Watched] = {}

    def cover(self, informer: SharedInformer[Object], scope: Scope) -> Cache:
        """From now on know what is written to a resource; gives the cache as reconcilers are to see it."""
        if self._mode == "none":
            return informer
        resource = informer.lister.resource
        patience = _OVERLAY_PATIENCE if self._mode == "overlay" else _BARRIER_PATIENCE
        writes = OwnWrites(informer.store, patience=patience, given_up=partial(self._give_up, resource))
        watched = _Watched(informer, scope, writes)
        self._watched[resource.group, resource.version, resource.plural] = watched
        if self._mode == "barrier":
            return informer
        return _Overlaid(informer.lister.over(OverlayStore(informer.store, writes, self._clock.monotonic)))

    def listen(self) -> Iterable[tuple[SharedInformer[Object], Registration]]:
        """Add the handlers by which writes are forgotten; to be removed by the caller."""
        for watched in self._watched.values():
            name = f"{self._controller}: own writes"
            yield watched.informer, watched.informer.add_handler(watched.hear, name=name)

    def sending(self, call: Call, /) -> None:  # noqa: ARG002 -- the signature is the witness's
        """Check the fence.

        Raises:
            LeadershipLostError: The lease may be another's by now.
        """
        if self.fence is not None:
            self.fence.check()

    async def answered(self, call: Call, answer: bytes, /) -> None:
        """Remember a write; with a barrier, wait until the cache shows it."""
        place = place_of(call.path)
        watched = None if place is None else self._watched.get(place[:3])
        if place is None or watched is None or _is_dry(call):
            return
        write = _write_of(call, place, watched, answer)
        if write is None:
            return
        # No await between the answer and this: a reconcile that is cancelled now has written nevertheless.
        watched.writes.note(write, self._clock.monotonic())
        if (
            self._mode == "barrier" or place.subresource == "scale"
        ):  # whose answer shows nothing of the object
            await self._wait_shown(watched, write.key)

    async def _wait_shown(self, watched: _Watched, key: ObjectKey) -> None:
        while watched.writes.pending(key, self._clock.monotonic()) is not None:
            with self._clock.move_on_after(_BARRIER_PATIENCE):
                await watched.moved.wait()

    def _give_up(self, resource: Resource, write: OwnWrite, waited: float) -> None:
        self._hooks.write_unseen(WriteUnseen(self._controller, str(resource), write.key, waited))


class _Overlaid:
    """A cache that is read through its overlay."""

    def __init__(self, lister: Lister[Object]) -> None:
        self.lister: Final = lister


def _write_of(call: Call, place: Place, watched: _Watched, answer: bytes) -> OwnWrite | None:
    """What a write has done to an object of the cache; ``None`` where that cannot be told."""
    resource = watched.informer.lister.resource
    try:
        told = msgspec.json.decode(answer, type=_Answer)
        if (told.api_version, told.kind) == (resource.api_version, resource.kind):
            return _shown(call, Record.decode(prune_managed_fields(answer), resource), watched.scope)
    except (msgspec.DecodeError, DecodeError):
        return None
    cached = watched.informer.store.get(place.key)
    if call.method == "DELETE" and place.key.name and not place.subresource:
        return _gone(place.key, told.details.uid, watched.writes.known(place.key), cached)
    if place.subresource == "scale" and cached is not None and cached.metadata.uid == told.metadata.uid:
        return OwnWrite(place.key, told.metadata.uid, told.metadata.resource_version, cached)
    return None


def _shown(call: Call, record: Record, scope: Scope) -> OwnWrite:
    metadata = record.metadata
    is_gone = call.method == "DELETE" and not metadata.finalizers and not _grace_of(record)
    is_there = not scope.namespaces or record.key.namespace in scope.namespaces
    is_in = is_there and (scope.labels is None or scope.labels.matches(metadata.labels))
    return OwnWrite(
        record.key,
        metadata.uid,
        metadata.resource_version,
        record if is_in and not is_gone else None,
        is_gone,
    )


def _gone(key: ObjectKey, uid: str, known: OwnWrite | None, cached: Record | None) -> OwnWrite | None:
    """What the server tells of a deletion is at most the uid, so the version is that of what we know."""
    if known is not None and uid in {"", known.uid}:
        return OwnWrite(key, known.uid, known.version, None, is_gone=True)
    if cached is not None and uid in {"", cached.metadata.uid}:
        return OwnWrite(key, cached.metadata.uid, cached.metadata.resource_version, None, is_gone=True)
    return None


def _grace_of(record: Record) -> int:
    """Seconds for which a pod that is deleted lives on."""
    return Object(record).at("metadata", "deletionGracePeriodSeconds", default=0) or 0


def _is_dry(call: Call) -> bool:
    return call.params.get("dryRun") == "All" or (call.method == "DELETE" and b'"dryRun"' in call.content)
