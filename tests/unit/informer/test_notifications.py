"""What handlers are told, as values."""

import pytest

from kinformer.informer import Added, Deleted, Notification, Updated


@pytest.mark.parametrize(
    ("notification", "told"),
    [
        (Added("a"), "a is new"),
        (Added("a", is_initial=True), "a was there"),
        (Updated("a", "b"), "a became b"),
        (Deleted("a"), "a is gone"),
        (Deleted("a", is_tombstone=True), "a is gone, unseen"),
    ],
)
def test_a_notification_is_taken_apart_by_position(notification: Notification[str], told: str) -> None:
    match notification:
        case Added(obj, is_initial):
            assert told == (f"{obj} was there" if is_initial else f"{obj} is new")
        case Updated(old, new):
            assert told == f"{old} became {new}"
        case Deleted(obj, is_tombstone):
            assert told == (f"{obj} is gone, unseen" if is_tombstone else f"{obj} is gone")


def test_a_notification_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Added("a").obj = "b"  # type: ignore[misc]  # that is the point
