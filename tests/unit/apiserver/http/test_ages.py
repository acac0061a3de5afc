from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.apiserver.http._ages import age, human_duration

M, H, D = 60, 3600, 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (2 * M, "2m"),
        (3 * M + 2, "3m2s"),
        (10 * M + 5, "10m"),
        (179 * M, "179m"),
        (3 * H, "3h"),
        (3 * H + 5 * M, "3h5m"),
        (8 * H + 5 * M, "8h"),
        (47 * H, "47h"),
        (2 * D, "2d"),
        (2 * D + 3 * H, "2d3h"),
        (8 * D + 3 * H, "8d"),
        (729 * D, "729d"),
        (730 * D, "2y"),
        (731 * D, "2y1d"),
        (9 * 365 * D + 5 * D, "9y"),
    ],
)
def test_a_duration_is_told_in_the_units_that_tell_most_t_5(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ("2026-01-02T03:04:05Z", "55s"),
        ("2026-01-02T03:04:05.000000Z", "55s"),
        ("2026-01-02T03:04:05", "55s"),
        ("", "<unknown>"),
        (None, "<unknown>"),
        ("yesterday", "<invalid>"),
        (5, "<invalid>"),
    ],
)
def test_an_age_is_counted_from_a_timestamp(since: Any, text: str) -> None:
    assert age(since, datetime(2026, 1, 2, 3, 5, 0, tzinfo=UTC)) == text
