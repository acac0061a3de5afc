"""OwnerGraph: who owns whom, and who must go because of it (rules G-1 to G-5).

The rules are those of ``pkg/controller/garbagecollector`` of Kubernetes:
https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

from collections.abc import Callable, Iterator
from enum import Enum

from kinformer.apiserver.loops._actions import Action, Delete, Detach, ReleaseFinalizer, Unblock
from kinformer.apiserver.loops._nodes import FOREGROUND, ORPHAN, Node
from kinformer.apiserver.rest import Propagation
from kinformer.meta import OwnerReference

__all__ = ["OwnerGraph", "Scope", "ScopeOf"]


class Scope(Enum):
    """Where the objects of an owner's kind live, as far as this server knows the kind."""

    NAMESPACED = "namespaced"
    CLUSTER = "cluster"
    UNKNOWN = "unknown"


ScopeOf = Callable[[str, str], Scope]
"""The scope of the kind with this ``apiVersion`` and ``kind``."""


class _Standing(Enum):
    """What an owner reference is worth."""

    SOLID = "its owner lives"
    WAITING = "its owner waits for its dependents"
    DANGLING = "its owner is gone"
    UNKNOWN = "nobody can tell"


class OwnerGraph:
    """All objects of one moment, by place and uid, with their dependents; pure.

    ``put`` and ``remove`` bring it up to date and note whom that concerns; ``decide`` says what is to be done about
    those. What is decided is right for the moment of the graph, so performing it needs preconditions.

    Invariant: ``_dependents[uid]`` holds the places of exactly those nodes with an owner reference to ``uid``.

    Args:
        scope_of: Tells known kinds from unknown ones; the references to those count as neither solid nor dangling.
    """

    def __init__(self, scope_of: ScopeOf) -> None:
        self._scope_of = scope_of
        self._nodes: dict[str, Node] = {}
        self._places: dict[str, str] = {}
        self._dependents: dict[str, set[str]] = {}
        self._concerned: dict[str, None] = {}  # an ordered set of places

    def __len__(self) -> int:
        return len(self._nodes)

    def put(self, node: Node) -> None:
        """Take in the present state of an object."""
        before = self._nodes.get(node.place)
        if before is not None and before.uid != node.uid:
            self.remove(node.place)
        elif before is not None and before.owners != node.owners:
            self._forget(before)
        self._nodes[node.place] = node
        self._places[node.uid] = node.place
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(node.place)
        self._concern(node.place)
        self._concern_relatives(node)

    def remove(self, place: str) -> None:
        """Take out an object that is gone; harmless when it was not there."""
        node = self._nodes.pop(place, None)
        if node is not None:
            self._forget(node)
            self._concern_relatives(node)

    def concern(self, place: str) -> None:
        """Look at an object again, as after an action that failed."""
        self._concern(place)

    def concern_all(self) -> None:
        """Look at all objects again, as after kinds became known."""
        self._concerned = dict.fromkeys(self._nodes)

    def decide(self) -> Iterator[Action]:
        """What is to be done about whatever has changed since the last time; each concern is answered once."""
        concerned, self._concerned = self._concerned, {}
        for place in concerned:
            node = self._nodes.get(place)
            if node is not None:
                yield from self._decide(node)

    def _decide(self, node: Node) -> Iterator[Action]:
        if node.is_deleting:
            yield from self._decide_deleting(node)
            return
        standings = {owner: self._standing(owner, node) for owner in node.owners}
        found = set(standings.values())
        if not found or _Standing.UNKNOWN in found:
            return
        if _Standing.SOLID in found:
            lost = frozenset(owner.uid for owner, worth in standings.items() if worth is not _Standing.SOLID)
            if lost:
                yield Detach(node, lost)
        elif _Standing.WAITING in found and self._dependents.get(node.uid):
            if any(dependent.waits_for_dependents for dependent in self._dependents_of(node)):
                yield Unblock(node)  # the two wait for each other, perhaps over others
            yield Delete(node, "Foreground")
        else:
            yield Delete(node, _kept_propagation(node))

    def _decide_deleting(self, node: Node) -> Iterator[Action]:
        """The object's own finalizers of garbage collection."""
        dependents = self._dependents_of(node)
        if node.waits_for_orphans:
            for dependent in dependents:
                yield Detach(dependent, frozenset({node.uid}))
            if not dependents:
                yield ReleaseFinalizer(node, ORPHAN)
        elif node.waits_for_dependents and not any(_blocks(dependent, node.uid) for dependent in dependents):
            yield ReleaseFinalizer(node, FOREGROUND)

    def _dependents_of(self, node: Node) -> list[Node]:
        return [self._nodes[place] for place in sorted(self._dependents.get(node.uid, ()))]

    def _standing(self, owner: OwnerReference, node: Node) -> _Standing:
        scope = self._scope_of(owner.api_version, owner.kind)
        if scope is Scope.UNKNOWN or (scope is Scope.NAMESPACED and not node.namespace):
            return _Standing.UNKNOWN
        found = self._nodes.get(self._places.get(owner.uid, ""))
        is_it = found is not None and (found.group, found.kind, found.name, found.namespace) == (
            owner.api_version.rpartition("/")[0],
            owner.kind,
            owner.name,
            node.namespace if scope is Scope.NAMESPACED else "",
        )
        if found is None or not is_it:
            return _Standing.DANGLING
        return _Standing.WAITING if found.waits_for_dependents else _Standing.SOLID

    def _concern_relatives(self, node: Node) -> None:
        for place in self._dependents.get(node.uid, ()):
            self._concern(place)
        for owner in node.owners:
            self._concern(self._places.get(owner.uid, ""))

    def _concern(self, place: str) -> None:
        if place in self._nodes:
            self._concerned[place] = None

    def _forget(self, node: Node) -> None:
        if self._places.get(node.uid) == node.place:
            del self._places[node.uid]
        for owner in node.owners:
            dependents = self._dependents.get(owner.uid, set())
            dependents.discard(node.place)
            if not dependents:
                self._dependents.pop(owner.uid, None)
            self._concern(self._places.get(owner.uid, ""))


def _blocks(dependent: Node, uid: str) -> bool:
    is_another = dependent.uid != uid  # one that owns itself need not wait for itself
    return is_another and any(owner.uid == uid and owner.block_owner_deletion for owner in dependent.owners)


def _kept_propagation(node: Node) -> Propagation:
    """What the object's own finalizers ask for."""
    if ORPHAN in node.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in node.finalizers else "Background"
