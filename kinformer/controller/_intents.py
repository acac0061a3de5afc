"""Intents: what an object was last made to be, and whether it still is so. Pure."""

import hashlib
from collections.abc import Hashable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from kinformer.meta import Object

__all__ = ["Intents", "covers"]

K = TypeVar("K", bound=Hashable)


def covers(found: object, wanted: object) -> bool:
    """Whether something that was found says all that is wanted, whatever else it says.

    Lists must be equally long and agree one by one. What a server writes in another way, such as ``"1000m"`` for
    ``"1"``, does not agree; so this may be false where all is well, and not the other way round.
    """
    match found, wanted:
        case Mapping(), Mapping():
            return all(
                name in found and covers(found[name], value) if value is not None else found.get(name) is None
                for name, value in wanted.items()
            )
        case list(), list() | tuple():
            return len(found) == len(wanted) and all(map(covers, found, wanted))
        case _:
            return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


class _Intent(NamedTuple):
    uid: str
    digest: bytes


class Intents(Generic[K]):
    """The last intent for each object, as a digest.

    Only with the intent before can one tell that a new one says *less*, so that applying it takes something away.

    Invariant: at most ``capacity`` are remembered, those that were noted or asked for last.

    Args:
        capacity: How many; whoever is forgotten is applied once more than need be.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity: Final = capacity
        self._intents: dict[K, _Intent] = {}

    def __len__(self) -> int:
        return len(self._intents)

    def are_met(self, key: K, wanted: Mapping[str, Any], found: Object) -> bool:
        """Whether this very intent was the last for this very object, and the object is still as it says."""
        intent = self._intents.pop(key, None)
        if intent is None:
            return False
        self._intents[key] = intent  # it is the youngest now
        if intent != (found.metadata.uid, _digest(wanted)):
            return False
        return covers(found.thaw(), wanted)

    def note(self, key: K, wanted: Mapping[str, Any], made: Object) -> None:
        """An object was made to be so."""
        self._intents.pop(key, None)
        self._intents[key] = _Intent(made.metadata.uid, _digest(wanted))
        if len(self._intents) > self._capacity:
            del self._intents[next(iter(self._intents))]

    def forget(self, key: K) -> None:
        """The object is gone."""
        self._intents.pop(key, None)


def _digest(wanted: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(wanted, order="deterministic"), digest_size=16).digest()
