"""What the watch cache holds and tells."""

import pytest

from kinformer.apiserver.cacher import Attributes, CacheEvent, Element
from kinformer.apiserver.storage import InconsistentError, KeyValue

VALUE = KeyValue("/registry/core/pods/default/a", b"{}", 3, 7, 2)


def nothing(value: KeyValue) -> Attributes:  # noqa: ARG001 -- an object without any
    return Attributes({}, {})


def test_labels_and_fields_are_read_once_and_not_before_somebody_asks() -> None:
    read: list[str] = []

    def attributes(value: KeyValue) -> Attributes:
        read.append(value.key)
        return Attributes({"app": "x"}, {"spec.nodeName": "n1"})

    element = Element(VALUE, attributes)
    assert (element.key, element.revision, read) == (VALUE.key, 7, [])
    assert element.labels == {"app": "x"}
    assert element.fields["spec.nodeName"] == "n1"
    assert read == [VALUE.key]


A, B = Element(VALUE, nothing), Element(VALUE, nothing)


@pytest.mark.parametrize(
    ("current", "previous", "type_", "shown"),
    [
        pytest.param(A, None, "ADDED", A, id="created"),
        pytest.param(A, B, "MODIFIED", A, id="changed"),
        pytest.param(None, B, "DELETED", B, id="deleted"),
    ],
)
def test_an_event_is_called_after_what_was_there_and_shows_what_is_left(
    current: Element | None, previous: Element | None, type_: str, shown: Element
) -> None:
    event = CacheEvent.of(9, VALUE.key, current, previous, time=1.5)
    assert (event.type, event.revision, event.key, event.time) == (type_, 9, VALUE.key, 1.5)
    assert event.shown is shown


def test_a_deletion_of_nothing_is_no_event() -> None:
    with pytest.raises(InconsistentError, match=r"revision 9 deletes '/registry/.*', which is not there"):
        CacheEvent.of(9, VALUE.key, None, None, time=0.0)


def test_an_element_is_printed_with_its_key_and_revision() -> None:
    assert repr(Element(VALUE, nothing)) == "</registry/core/pods/default/a at 7>"
