"""Scopes: which watchers a change can concern, by namespace and name.

``indexedWatchers`` of ``k8s.io/apiserver/pkg/storage/cacher``: a change of one object reaches those who watch it, its
namespace, its name in all namespaces, or everything, and nobody else is looked at.
"""

from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Scope", "Scopes"]

W = TypeVar("W", bound=Hashable)


class Scope(NamedTuple):
    """The objects of a namespace, of a name, or of both; ``""`` means any."""

    namespace: str = ""
    name: str = ""

    def holds(self, namespace: str, name: str) -> bool:
        """Whether an object is in it."""
        return self.namespace in {"", namespace} and self.name in {"", name}


class Scopes(Generic[W]):
    """Watchers by their scope, each in one; those of a scope in the order in which they came."""

    def __init__(self) -> None:
        self._watchers: dict[Scope, dict[W, None]] = {}
        self._scopes: dict[W, Scope] = {}

    def __len__(self) -> int:
        """How many watchers are in it."""
        return len(self._scopes)

    def __contains__(self, watcher: W) -> bool:
        return watcher in self._scopes

    def __iter__(self) -> Iterator[W]:
        return iter(self._scopes)

    def add(self, watcher: W, scope: Scope) -> None:
        """Enter a watcher, in place of its former entry."""
        self.discard(watcher)
        self._watchers.setdefault(scope, {})[watcher] = None
        self._scopes[watcher] = scope

    def discard(self, watcher: W) -> None:
        """Take a watcher out, if it is in."""
        scope = self._scopes.pop(watcher, None)
        if scope is not None:
            watchers = self._watchers[scope]
            del watchers[watcher]
            if not watchers:
                del self._watchers[scope]

    def of(self, namespace: str, name: str) -> list[W]:
        """Those whose scope holds an object; the list is the caller's."""
        found: list[W] = []
        for scope in {
            Scope(namespace, name): None,
            Scope(namespace): None,
            Scope("", name): None,
            Scope(): None,
        }:
            found += self._watchers.get(scope, ())
        return found
