"""Registry: what is served at this moment."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kinformer.apiserver.registry._builtins import builtin_kinds
from kinformer.apiserver.registry._served import Served

__all__ = ["Registry", "version_rank"]

_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY: Final = {None: 0, "beta": 1, "alpha": 2}


class Registry:
    """The served resources: the built-in kinds, those that were registered, and custom ones.

    Invariant: a group, version and plural lead to at most one entry; an entry that did not change stays the same
    object, so that ``registry.find(...) is served`` tells whether a running watch is still about the truth.
    """

    def __init__(self) -> None:
        self._fixed = list(builtin_kinds())
        self._custom: dict[str, tuple[Served, ...]] = {}
        self._generation = 0
        self._listeners: dict[object, Callable[[], None]] = {}
        self._index: dict[tuple[str, str, str], Served] = {}
        self._rebuild()

    @property
    def generation(self) -> int:
        """A number that grows whenever anything is added, changed or removed."""
        return self._generation

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The entry for a path, or ``None`` where nothing is served."""
        return self._index.get((group, version, plural))

    def find_kind(self, api_version: str, kind: str) -> Served | None:
        """The entry that objects of this ``apiVersion`` and ``kind`` belong to, or ``None``."""
        group, _, version = api_version.rpartition("/")
        wanted = (group, version, kind)
        return next((s for s in self._index.values() if (s.group, s.version, s.kind) == wanted), None)

    def locate(self, key: str) -> tuple[Served, str, str] | None:
        """What lies at a storage key: the entry of the storage version (or another served one), namespace and name.

        ``None`` where the key belongs to nothing that is served.
        """
        match key.split("/"):
            case ["", "registry", place, plural, *path] if 1 <= len(path) <= 2:
                group = "" if place == "core" else place
                found = [s for s in self._index.values() if s.group == group and s.plural == plural]
                if found and found[0].namespaced is (len(path) == 2):
                    best = next((s for s in found if s.version == s.storage_version), found[0])
                    return best, path[0] if best.namespaced else "", path[-1]
        return None

    def served(self) -> Sequence[Served]:
        """Everything that is served: built-in kinds in their order, then custom ones in order of their creation."""
        return tuple(self._index.values())

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Each group with its versions, the preferred one first; core is the group ``""`` and comes first."""
        versions: dict[str, set[str]] = {"": set()}
        for served in self._index.values():
            versions.setdefault(served.group, set()).add(served.version)
        return {group: tuple(sorted(found, key=version_rank)) for group, found in versions.items()}

    def register(self, served: Served) -> None:
        """Serve one more kind, for good.

        Raises:
            ValueError: That group, version and plural is served already.
        """
        if self.find(served.group, served.version, served.plural) is not None:
            raise ValueError(f"{served.qualified} in version {served.version} is served already")
        self._fixed.append(served)
        self._rebuild()

    def put_custom(self, name: str, served: Iterable[Served]) -> None:
        """Serve what the definition ``name`` (``plural.group``) says, instead of what it said before."""
        before = {entry.version: entry for entry in self._custom.get(name, ())}
        after = tuple(before[s.version] if before.get(s.version) == s else s for s in served)
        if after != self._custom.get(name):
            self._custom[name] = after
            self._rebuild()

    def remove_custom(self, name: str) -> None:
        """Serve it no longer; harmless when it was not."""
        if self._custom.pop(name, None) is not None:
            self._rebuild()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener()`` after each change, from inside the call that made it; gives the way to end that."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    def _rebuild(self) -> None:
        self._generation += 1
        index: dict[tuple[str, str, str], Served] = {}
        for served in [*self._fixed, *(entry for group in self._custom.values() for entry in group)]:
            index.setdefault((served.group, served.version, served.plural), served)  # who came first stays
        self._index = index
        for listener in list(self._listeners.values()):
            listener()


def version_rank(version: str) -> tuple[int, int, int, str]:
    """A sort key: stable before beta before alpha, higher numbers first, anything else last by the alphabet.

    The order is that of ``version.CompareKubeAwareVersionStrings`` (apimachinery).
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        return (len(_STABILITY), 0, 0, version)
    major, stability, minor = found.groups()
    return (_STABILITY[stability], -int(major), -int(minor or 0), version)
