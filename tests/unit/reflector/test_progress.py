"""Which versions a stream has earned."""

import pytest

from kinformer.errors import DecodeError
from kinformer.meta import EventType, WatchEvent
from kinformer.reflector._progress import Progress

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED
BOOKMARK, ERROR = EventType.BOOKMARK, EventType.ERROR


@pytest.mark.parametrize(
    ("start", "events", "version"),
    [
        ("10", [], "10"),
        ("10", [(ADDED, "55"), (ADDED, "32")], "32"),
        ("0", [(ADDED, "55"), (ADDED, "32")], "0"),
        ("", [(ADDED, "55")], ""),
        ("0", [(ADDED, "55"), (MODIFIED, "60"), (ADDED, "58")], "58"),
        ("0", [(ADDED, "55"), (DELETED, "60")], "60"),
        ("0", [(ADDED, "55"), (BOOKMARK, "60")], "60"),
        ("0", [(ADDED, "55"), (BOOKMARK, "")], "0"),
        ("10", [(MODIFIED, "")], "10"),
        ("10", [(MODIFIED, "abc"), (BOOKMARK, "9")], "9"),
        ("0", [(ERROR, ""), (ADDED, "55")], "0"),
    ],
)
def test_the_last_version_that_was_earned_counts(
    start: str, events: list[tuple[EventType, str]], version: str
) -> None:
    whole = [
        WatchEvent(kind, version=at, error=DecodeError("") if kind is ERROR else None) for kind, at in events
    ]
    assert Progress.start(start).after(whole).version == version
    piecewise = Progress.start(start)
    for event in whole:
        piecewise = piecewise.after([event])
    assert piecewise.version == version


def test_what_was_earned_in_one_batch_counts_in_the_next() -> None:
    progress = Progress.start("0").after([WatchEvent(BOOKMARK, version="")])
    assert progress.after([WatchEvent(ADDED, version="7")]).version == "7"


def test_events_without_news_make_no_new_value() -> None:
    progress = Progress.start("5")
    assert progress.after([WatchEvent(BOOKMARK, version="5")]) is progress
