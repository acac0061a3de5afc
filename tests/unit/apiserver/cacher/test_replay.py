"""What a watch begins with."""

from kinformer.apiserver.cacher._replay import InitialState
from tests.unit.apiserver.cacher.watching import element


def test_objects_come_as_if_each_were_added_just_now() -> None:
    objects = [element(3, key="default/a"), element(2, key="default/b"), element(9, key="default/c")]
    state = InitialState(objects, 5.0)
    first = state.take(2)
    assert [(event.type, event.current, event.revision, event.time) for event in first] == [
        ("ADDED", objects[0], 3, 5.0),
        ("ADDED", objects[1], 2, 5.0),
    ]
    assert [event.current for event in state.take(2)] == [objects[2]]
    assert state.take(2) == []
