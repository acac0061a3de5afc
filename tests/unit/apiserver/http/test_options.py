from typing import Any

import pytest

from kinformer.apiserver.http._options import delete_options, list_options, write_options
from kinformer.apiserver.http._query import Query
from kinformer.apiserver.registry import StatusError
from kinformer.apiserver.rest import DeleteOptions
from kinformer.meta import FieldSelector, LabelSelector


def ignore(_: str) -> None:
    pass


def test_list_options_are_taken_from_the_query() -> None:
    options = list_options(
        Query(
            "limit=5&continue=c&resourceVersion=7&resourceVersionMatch=Exact&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx"
        )
    )
    assert (options.limit, options.continue_token, options.version, options.version_match) == (
        5,
        "c",
        "7",
        "Exact",
    )
    assert options.labels == LabelSelector.parse("a=b")
    assert options.fields == FieldSelector.parse("metadata.name=x")


@pytest.mark.parametrize("query", ["labelSelector=a in", "fieldSelector=a", "limit=x"])
def test_what_cannot_be_read_is_a_400(query: str) -> None:
    with pytest.raises(StatusError) as caught:
        list_options(Query(query))
    assert caught.value.code == 400


def test_write_options_are_taken_from_the_query_w_1() -> None:
    query = Query("dryRun=All&fieldManager=me&fieldValidation=Strict&force=True")
    options = write_options("PatchOptions", query, user_agent="x/1", warn=ignore)
    assert (options.dry_run, options.field_manager, options.field_validation) == (True, "me", "Strict")
    assert (options.force, options.user_agent) == (True, "x/1")
    plain = write_options("CreateOptions", Query("dryRun="), user_agent="", warn=ignore)
    assert (plain.dry_run, plain.force) == (False, None)


def test_another_dry_run_than_all_is_a_422_w_1() -> None:
    with pytest.raises(
        StatusError, match=r"CreateOptions.*dryRun: Unsupported value.*x.*supported values.*All"
    ) as caught:
        write_options("CreateOptions", Query("dryRun=x"), user_agent="", warn=ignore)
    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "fieldValidation=frob",
            'fieldValidation: Unsupported value: "frob": supported values: "", "Ignore"',
        ),
        (f"fieldManager={'m' * 129}", "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=a%0Ab", "fieldManager: Invalid value: .*should only contain printable characters"),
    ],
)
def test_wrong_write_options_are_a_422_w_1(query: str, text: str) -> None:
    with pytest.raises(StatusError, match=f'PatchOptions.meta.k8s.io "" is invalid: {text}') as caught:
        write_options("PatchOptions", Query(query), user_agent="", warn=ignore)
    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("query", "body", "expected"),
    [
        ("", None, DeleteOptions(warn=ignore)),
        ("propagationPolicy=Orphan", None, DeleteOptions(propagation="Orphan", warn=ignore)),
        ("propagationPolicy=Orphan", {}, DeleteOptions(warn=ignore)),
        ("gracePeriodSeconds=0&dryRun=All", None, DeleteOptions(grace_period=0, dry_run=True, warn=ignore)),
        ("orphanDependents=false", None, DeleteOptions(propagation="Background", warn=ignore)),
        ("", {"orphanDependents": True}, DeleteOptions(propagation="Orphan", warn=ignore)),
        (
            "",
            {
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 5,
                "propagationPolicy": "Foreground",
                "preconditions": {"uid": "u", "resourceVersion": "7"},
                "dryRun": ["All"],
            },
            DeleteOptions("Foreground", 5, "u", "7", dry_run=True, warn=ignore),
        ),
        ("", {"preconditions": None, "dryRun": None, "propagationPolicy": ""}, DeleteOptions(warn=ignore)),
    ],
)
def test_delete_options_come_from_the_body_else_from_the_query_w_16(
    query: str, body: dict[str, Any] | None, expected: DeleteOptions
) -> None:
    assert delete_options(Query(query), body, warn=ignore) == expected


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ({"propagationPolicy": "Sideways"}, 422, "Sideways"),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, "both"),
        ({"propagationPolicy": 5}, 400, "propagationPolicy"),
        ({"gracePeriodSeconds": "5"}, 400, "gracePeriodSeconds"),
        ({"preconditions": []}, 400, "preconditions"),
        ({"dryRun": ["x"]}, 422, "dryRun"),
    ],
)
def test_wrong_delete_options_are_refused(body: dict[str, Any], code: int, text: str) -> None:
    with pytest.raises(StatusError, match=text) as caught:
        delete_options(Query(""), body, warn=ignore)
    assert caught.value.code == code
