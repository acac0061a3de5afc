from typing import Any

import pytest

from kinformer.controller._own_writes import OwnWrite, OwnWrites, has_arrived
from kinformer.meta import Object, ObjectKey, Record, Resource
from kinformer.store import Store, StoreWriter

CONFIG_MAPS = Resource.builtin("ConfigMap")
KEY = ObjectKey("default", "a")


def record(version: str, uid: str = "u") -> Record:
    metadata: dict[str, Any] = {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": version}
    return Record.decode(Object.from_mapping({"metadata": metadata}, CONFIG_MAPS).raw, CONFIG_MAPS)


def store(version: str, cached: Record | None) -> Store:
    writer = StoreWriter()
    if cached is not None:
        writer.put(cached)
    writer.publish(version)
    return writer.store


def written(version: str, uid: str = "u") -> OwnWrite:
    return OwnWrite(KEY, uid, version, record(version, uid))


def gone(version: str) -> OwnWrite:
    return OwnWrite(KEY, "u", version, None, is_gone=True)


def left(version: str) -> OwnWrite:
    return OwnWrite(KEY, "u", version, None)


@pytest.mark.parametrize(
    ("write", "version", "cached", "arrived"),
    [
        pytest.param(written("5"), "4", None, False, id="created, not there yet"),
        pytest.param(written("5"), "6", None, True, id="created, and deleted by another since"),
        pytest.param(written("5"), "5", record("4"), False, id="changed, the old state is there"),
        pytest.param(written("5"), "5", record("5"), True, id="changed, and there"),
        pytest.param(written("5"), "10", record("10"), True, id="changed, and by another since"),
        pytest.param(written("5", "v"), "5", record("3"), False, id="made anew, the old one is there"),
        pytest.param(written("5"), "9", record("9", "v"), True, id="changed, and made anew by another since"),
        pytest.param(gone("5"), "9", record("5"), False, id="deleted, still there"),
        pytest.param(gone("5"), "9", record("8"), False, id="deleted, a later state is still there"),
        pytest.param(gone("5"), "9", None, True, id="deleted, and gone"),
        pytest.param(gone("5"), "4", None, False, id="deleted, and not even there yet"),
        pytest.param(gone("5"), "9", record("8", "v"), True, id="deleted, and made anew by another"),
        pytest.param(left("5"), "9", record("4"), False, id="out of the cache, still there"),
        pytest.param(left("5"), "9", None, True, id="out of the cache, and gone from it"),
        pytest.param(left("5"), "9", record("8"), True, id="out of the cache, and back in"),
        pytest.param(written("abc"), "xyz", record("xyz"), False, id="versions that cannot be compared"),
        pytest.param(written("abc"), "abc", record("abc"), True, id="versions that are equal"),
    ],
)
def test_a_cache_shows_a_write_or_not(
    write: OwnWrite, version: str, cached: Record | None, arrived: bool
) -> None:
    assert has_arrived(write, store(version, cached)) is arrived


def test_a_write_that_is_not_shown_in_time_is_given_up_and_told_of() -> None:
    told: list[tuple[str, float]] = []
    writes = OwnWrites(
        store("4", None), patience=60, given_up=lambda write, age: told.append((write.version, age))
    )
    writes.note(written("5"), 0)
    assert writes.pending(KEY, 59.9) == written("5")
    assert writes.pending(KEY, 60) is None
    assert told == [("5", 60)]


def test_a_write_that_is_shown_by_then_is_not_told_of() -> None:
    told: list[OwnWrite] = []
    writer = StoreWriter()
    writes = OwnWrites(writer.store, patience=60, given_up=lambda write, age: told.append(write))
    writes.note(written("5"), 0)
    writer.put(record("5"))
    writes.sweep(61)
    assert (told, len(writes)) == ([], 0)


def test_versions_that_cannot_be_compared_are_in_the_order_of_the_answers() -> None:
    writes = OwnWrites(store("4", None), patience=60, given_up=lambda write, age: None)
    for version in ("abc", "xyz", "bcd"):
        writes.note(written(version), 0)
    assert writes.known(KEY) == written("bcd")
