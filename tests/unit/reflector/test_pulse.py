"""How old the last signs of life are."""

import math

import pytest

from kinformer.reflector._pulse import Ages, Pulse


def test_what_never_came_is_infinitely_old() -> None:
    assert Pulse().ages(5.0) == Ages(math.inf, math.inf)


@pytest.mark.parametrize(
    ("events", "bookmarks", "ages"),
    [
        (3, 0, Ages(4.0, 13.0)),
        (0, 1, Ages(13.0, 4.0)),
        (2, 2, Ages(4.0, 4.0)),
        (0, 0, Ages(13.0, 13.0)),
    ],
)
def test_each_beat_counts_for_what_it_brings(events: int, bookmarks: int, ages: Ages) -> None:
    pulse = Pulse()
    pulse.beat(1.0, events=1, bookmarks=1)
    pulse.beat(10.0, events=events, bookmarks=bookmarks)
    assert pulse.ages(14.0) == ages
