import pytest

from kinformer.controller._overlay import OverlayStore
from kinformer.controller._own_writes import OwnWrite, OwnWrites
from kinformer.meta import Object, ObjectKey, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, NAMESPACE_INDEX, StoreWriter

CONFIG_MAPS = Resource.builtin("ConfigMap")


def record(name: str, version: int, colour: str = "red") -> Record:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "resourceVersion": str(version),
        "labels": {"colour": colour},
    }
    return Record.decode(Object.from_mapping({"metadata": metadata}, CONFIG_MAPS).raw, CONFIG_MAPS)


def by_colour(record: Record) -> list[str]:
    return [record.metadata.labels["colour"]]


class Scene:
    """A cache with ``a`` and ``b`` in it, and writes over it."""

    def __init__(self) -> None:
        self.writer = StoreWriter({**BUILTIN_INDEXERS, "colour": by_colour})
        for name in "ab":
            self.writer.put(record(name, 1))
        self.writer.publish("1")
        self.writes = OwnWrites(self.writer.store, patience=60, given_up=lambda write, age: None)
        self.store = OverlayStore(self.writer.store, self.writes, lambda: 0.0)

    def write(self, written: Record) -> None:
        version = written.metadata.resource_version
        self.writes.note(OwnWrite(written.key, written.metadata.uid, version, written), 0.0)

    def names(self, *records: Record) -> list[str]:
        return sorted(f"{each.key.name}{each.metadata.resource_version}" for each in records)


def test_without_writes_it_is_the_store_below() -> None:
    scene = Scene()
    assert scene.names(*scene.store) == ["a1", "b1"]
    assert scene.store.content == scene.writer.store.content
    assert (scene.store.version, scene.store.size) == ("1", scene.writer.store.size)
    assert scene.store.index_names == scene.writer.store.index_names
    assert set(scene.store.index_values("colour")) == {"red"}


def test_what_is_written_is_in_the_indexes_that_every_store_has() -> None:
    scene = Scene()
    scene.write(record("a", 2))
    scene.write(record("c", 3))
    assert scene.names(*scene.store.by_index(NAMESPACE_INDEX, "default")) == ["a2", "b1", "c3"]
    assert scene.store.by_index(NAMESPACE_INDEX, "other") == ()


def test_in_other_indexes_what_is_written_is_where_it_was() -> None:
    scene = Scene()
    scene.write(record("a", 2, "blue"))
    scene.write(record("c", 3, "blue"))
    scene.writes.note(OwnWrite(ObjectKey("default", "b"), "b", "1", None, is_gone=True), 0.0)
    assert scene.names(*scene.store.by_index("colour", "red")) == ["a2"]
    with pytest.raises(LookupError, match="no index is called 'shape'"):
        scene.store.by_index("shape", "round")
