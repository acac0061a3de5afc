import json
from typing import Any

import pytest

from kinformer.client._calls import Call, delete_options, list_params, watch_params, write_params


def filled(params: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in params.items() if value}


def test_a_call_is_told_by_method_and_path() -> None:
    assert str(Call("GET", "/api/v1/pods")) == "GET /api/v1/pods"


def test_a_list_says_only_what_was_asked_for() -> None:
    assert filled(list_params("", "", 0, "")) == {}
    assert filled(list_params("7", "Exact", 5, "")) == {
        "resourceVersion": "7",
        "resourceVersionMatch": "Exact",
        "limit": "5",
    }
    assert filled(list_params("", "", 5, "t")) == {"limit": "5", "continue": "t"}


@pytest.mark.parametrize(
    ("params", "match"),
    [
        (("", "", -1, ""), "limit -1 must be 0 for no limit"),
        (("7", "exact", 0, ""), "version_match 'exact' must be one of Exact, NotOlderThan"),
        (
            ("7", "", 0, "t"),
            "version '7' and version_match '' must be left out where continue_token is given",
        ),
        (("", "Exact", 0, "t"), "version_match 'Exact' must be left out"),
    ],
)
def test_a_list_that_contradicts_itself_is_refused(params: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        list_params(*params)


def test_a_watch_list_says_how_it_means_its_version() -> None:
    assert filled(watch_params("", 0, bookmarks=False, initial_events=False)) == {"watch": "true"}
    assert filled(watch_params("7", 300, bookmarks=True, initial_events=True)) == {
        "watch": "true",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }


def test_a_watch_does_not_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="timeout -1 must be 0 to leave it to the server"):
        watch_params("7", -1, bookmarks=True, initial_events=False)


def test_a_write_says_who_and_whether_it_is_meant() -> None:
    assert filled(write_params("", None, dry_run=False)) == {}
    assert filled(write_params("me", "Strict", dry_run=True, force=True)) == {
        "fieldManager": "me",
        "fieldValidation": "Strict",
        "dryRun": "All",
        "force": "true",
    }


def test_a_deletion_without_wishes_has_no_body() -> None:
    assert delete_options() == b""
    options = delete_options(uid="u", version="7", propagation="Orphan", grace_period=0, dry_run=True)
    assert json.loads(options) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Orphan",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


def test_a_write_of_unknown_strictness_is_refused() -> None:
    strictly: Any = "strict"
    with pytest.raises(ValueError, match="field_validation 'strict' must be one of Ignore, Warn, Strict"):
        write_params("", strictly, dry_run=False)


@pytest.mark.parametrize(
    ("wish", "match"),
    [
        ({"uid": ""}, "uid is '', which no object has"),
        ({"version": ""}, "version is '', which no object has: give None to delete whatever is there"),
        (
            {"propagation": "background"},
            "propagation 'background' must be one of Background, Foreground, Orphan",
        ),
        ({"grace_period": -1}, "grace_period -1 must be 0 for now, or positive seconds"),
    ],
)
def test_a_wish_that_would_be_lost_is_refused(wish: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        delete_options(**wish)
