"""From what changed in the store to what handlers are told."""

import msgspec
import pytest

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._digest import told_of
from kinformer.meta import Record, Resource
from kinformer.store import Difference, Removed, Stored, Tombstone

PODS = Resource.builtin("Pod")


def record(version: str, *, uid: str = "u") -> Record:
    metadata = {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": version}
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


R1, R2, NEXT = record("1"), record("2"), record("9", uid="v")

CASES: dict[str, tuple[Difference, tuple[Notification[Record], ...]]] = {
    "new": (Stored(None, R1), (Added(R1),)),
    "changed": (Stored(R1, R2), (Updated(R1, R2),)),
    "a successor": (Stored(R1, NEXT), (Deleted(R1, is_tombstone=True), Added(NEXT))),
    "seen to go": (Removed(R2), (Deleted(R2),)),
    "gone unseen": (Tombstone(R1.key, R1), (Deleted(R1, is_tombstone=True),)),
}


@pytest.mark.parametrize(("difference", "told"), CASES.values(), ids=CASES)
def test_a_difference_is_told(difference: Difference, told: tuple[Notification[Record], ...]) -> None:
    assert told_of(difference) == told
