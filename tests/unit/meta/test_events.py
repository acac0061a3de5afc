import gc
from itertools import chain, islice

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
    for _ in range(2):  # the pieces, and then what is made of them
        gc.collect()
    assert not any(map(gc.is_tracked, (objects.pieces, *objects.pieces)))


@pytest.mark.parametrize("sizes", [[], [0], [3], [64], [65], [200], [2, 0, 3], [0, 1, 0]], ids=str)
def test_in_pieces_they_are_as_in_a_tuple(sizes: list[int]) -> None:
    """One size is that of records that are given whole; several are those of pieces."""
    records = [node(str(number)) for number in range(sum(sizes))]
    unread = iter(records)
    pieces = [tuple(islice(unread, size)) for size in sizes]
    objects = Objects(records) if len(sizes) == 1 else Objects.of_pieces(pieces)
    same = tuple(map(Object, records))
    assert objects == same
    assert len(objects) == len(same)
    assert [objects[at] for at in range(-len(same), len(same))] == [*same, *same]
    assert objects[1:] == same[1:]
    assert list(objects.records) == records
    for beyond in (len(same), -len(same) - 1):
        with pytest.raises(IndexError):
            objects[beyond]
    assert all(len(piece) <= 64 for piece in ObjectList(objects, "1").pieces)
    assert list(chain.from_iterable(ObjectList(same, "1").pieces)) == records
