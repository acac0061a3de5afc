import gc

import pytest

from kinformer.meta import EventType, Object, ObjectList, Objects, Record, Resource, WatchEvent

NODES = Resource.builtin("Node")


def node(name: str) -> Record:
    return Record.decode(b'{"metadata":{"name":"%s"}}' % name.encode(), NODES)


def test_an_event_gives_a_handle_on_its_object() -> None:
    record = Record.decode(b'{"metadata":{"name":"a"}}', Resource.builtin("Node"))
    event = WatchEvent(EventType.ADDED, record, "1")
    assert event.obj.record is record


def test_a_bookmark_has_no_object() -> None:
    with pytest.raises(ValueError, match="a BOOKMARK event has no object"):
        WatchEvent(EventType.BOOKMARK, version="5").obj  # noqa: B018 -- reading is what raises


def test_objects_are_a_sequence_of_handles() -> None:
    records = [node("a"), node("b"), node("c")]
    objects = Objects(records)
    assert [obj.key.name for obj in objects] == ["a", "b", "c"]
    assert (len(objects), objects[1].record, objects[-1].record) == (3, records[1], records[2])
    assert [obj.key.name for obj in reversed(objects)] == ["c", "b", "a"]
    assert Object(records[1]) in objects
    assert objects.index(Object(records[2])) == 2
    with pytest.raises(IndexError):
        objects[3]
    assert not Objects(())


def test_a_slice_of_objects_is_objects() -> None:
    part = Objects([node("a"), node("b"), node("c")])[1:]
    assert isinstance(part, Objects)
    assert [obj.key.name for obj in part] == ["b", "c"]


def test_objects_are_equal_to_a_tuple_of_equal_ones_and_to_nothing_else() -> None:
    objects = Objects([node("a"), node("b")])
    same = (Object(node("a")), Object(node("b")))
    assert objects == same == objects
    assert objects == Objects([node("a"), node("b")])
    assert hash(objects) == hash(same)
    assert objects != same[:1]
    assert objects != list(same)
    assert repr(objects) == "(<Node a @ no version>, <Node b @ no version>)"


def test_a_list_gives_the_records_of_objects_in_any_sequence() -> None:
    record = node("a")
    for items in (Objects([record]), (Object(record),), [Object(record)]):
        (found,) = ObjectList(items, "1").records
        assert found is record


def test_the_collector_has_nothing_to_visit_in_a_list() -> None:
    objects = Objects([node("a"), node("b")])
    gc.collect()
    assert not gc.is_tracked(objects.records)
