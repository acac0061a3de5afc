import pytest

from kinformer.meta import EventType, Record, Resource, WatchEvent


def test_an_event_gives_a_handle_on_its_object() -> None:
    record = Record.decode(b'{"metadata":{"name":"a"}}', Resource.builtin("Node"))
    event = WatchEvent(EventType.ADDED, record, "1")
    assert event.obj.record is record


def test_a_bookmark_has_no_object() -> None:
    with pytest.raises(ValueError, match="a BOOKMARK event has no object"):
        WatchEvent(EventType.BOOKMARK, version="5").obj  # noqa: B018 -- reading is what raises
