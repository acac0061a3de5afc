import json

from kinformer.client._calls import Call, delete_options, list_params, watch_params, write_params


def filled(params: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in params.items() if value}


def test_a_call_is_told_by_method_and_path() -> None:
    assert str(Call("GET", "/api/v1/pods")) == "GET /api/v1/pods"


def test_a_list_says_only_what_was_asked_for() -> None:
    assert filled(list_params("", "", 0, "")) == {}
    assert filled(list_params("7", "Exact", 5, "t")) == {
        "resourceVersion": "7",
        "resourceVersionMatch": "Exact",
        "limit": "5",
        "continue": "t",
    }


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


def test_a_write_says_who_and_whether_it_is_meant() -> None:
    assert filled(write_params("", dry_run=False)) == {}
    assert filled(write_params("me", dry_run=True, force=True)) == {
        "fieldManager": "me",
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
