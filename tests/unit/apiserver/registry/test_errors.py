"""Errors: section 14 of the specification."""

from kinformer.apiserver.registry import (
    FieldProblem,
    Registry,
    StatusError,
    conflict,
    expired,
    forbidden,
    invalid,
    method_not_allowed,
    not_found,
)

REGISTRY = Registry()
PODS = next(each for each in REGISTRY.served() if each.plural == "pods")
DEPLOYMENTS = next(each for each in REGISTRY.served() if each.plural == "deployments")


def test_an_invalid_object_names_its_kind_and_a_cause_for_each_problem() -> None:
    problems = [FieldProblem.required("spec.a"), FieldProblem.invalid("spec.b", "x", "no good")]
    assert invalid(DEPLOYMENTS, "d", problems).to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Deployment.apps "d" is invalid: [spec.a: Required value, spec.b: Invalid value: "x": no good]',
        "reason": "Invalid",
        "details": {
            "name": "d",
            "group": "apps",
            "kind": "Deployment",
            "causes": [
                {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
                {"reason": "FieldValueInvalid", "message": 'Invalid value: "x": no good', "field": "spec.b"},
            ],
        },
        "code": 422,
    }


def test_one_problem_stands_without_brackets() -> None:
    assert invalid(PODS, "p", [FieldProblem.required("a")]).message == 'Pod "p" is invalid: a: Required value'


def test_details_leave_out_the_core_group() -> None:
    assert not_found(PODS, "p").details == {"name": "p", "kind": "pods"}
    assert conflict(DEPLOYMENTS, "d", "text").message == (
        'Operation cannot be fulfilled on deployments.apps "d": text'
    )
    assert forbidden(PODS, "p", "no").to_status()["message"] == 'pods "p" is forbidden: no'


def test_a_verb_that_is_missing_is_said_differently_for_custom_resources() -> None:
    assert method_not_allowed(PODS, "create", is_custom=False).details == {}
    custom = method_not_allowed(DEPLOYMENTS, "create", is_custom=True)
    assert custom.message == 'create is not supported on resources of kind "deployments.apps"'


def test_an_expired_page_carries_a_token_and_others_do_not() -> None:
    assert expired("old", continue_token="t").to_status()["metadata"] == {"continue": "t"}
    assert expired("old").to_status()["metadata"] == {}


def test_an_error_without_a_reason_or_details_leaves_them_out() -> None:
    assert StatusError(500, "", "text").to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "text",
        "code": 500,
    }


def test_a_time_to_come_back_is_part_of_the_details() -> None:
    assert StatusError(429, "x", "y", retry_after=1).to_status()["details"] == {"retryAfterSeconds": 1}
