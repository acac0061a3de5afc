"""Where a watch begins: ``TestGetWatchCacheResourceVersion`` and ``TestGetBookmarkAfterResourceVersionLockedFunc`` upstream."""

import pytest

from kinformer.apiserver.cacher import Beginning

LATEST, KNOWN = 100, 99


@pytest.mark.parametrize(
    ("version", "initial_events", "has_state", "needs_latest", "ends_with_bookmark", "since"),
    [
        pytest.param(None, True, True, True, True, None, id="watch-list: the latest state"),
        pytest.param(0, True, True, False, True, None, id="watch-list: any state"),
        pytest.param(95, True, True, False, True, None, id="watch-list: a state that is not older"),
        pytest.param(None, False, False, True, False, LATEST, id="no state: from the latest on"),
        pytest.param(0, False, False, False, False, KNOWN, id="no state: from what is known on"),
        pytest.param(95, False, False, False, False, 95, id="no state: from a version on"),
        pytest.param(None, None, True, False, False, None, id="old clients: any state"),
        pytest.param(0, None, True, False, False, None, id="old clients: any state, said with 0"),
        pytest.param(95, None, False, False, False, 95, id="old clients: from a version on"),
        pytest.param(200, None, False, False, False, 200, id="old clients: from a version that is to come"),
    ],
)
def test_what_was_asked_for_decides_what_comes_first(
    version: int | None,
    initial_events: bool | None,
    has_state: bool,
    needs_latest: bool,
    ends_with_bookmark: bool,
    since: int | None,
) -> None:
    asked = Beginning(version, initial_events)
    assert (asked.has_state, asked.needs_latest, asked.ends_with_bookmark) == (
        has_state,
        needs_latest,
        ends_with_bookmark,
    )
    assert since is None or asked.since(LATEST, KNOWN) == since


@pytest.mark.parametrize(
    ("version", "initial_events", "becomes"),
    [
        (None, None, True),
        (0, None, True),
        (95, None, None),
        (None, False, False),
        (0, True, True),
    ],
)
def test_behaviour_22_whoever_names_no_version_gets_a_watch_list(
    version: int | None, initial_events: bool | None, becomes: bool | None
) -> None:
    assert Beginning(version, initial_events).defaulted() == Beginning(version, becomes)
