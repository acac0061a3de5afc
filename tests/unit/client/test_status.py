from typing import Any

import pytest

from kinformer.client._status import from_response, from_status
from kinformer.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    FutureVersionError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", BadRequestError),
        (401, "Unauthorized", UnauthorizedError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", MethodNotAllowedError),
        (406, "NotAcceptable", BadRequestError),
        (409, "AlreadyExists", AlreadyExistsError),
        (409, "Conflict", ConflictError),
        (410, "Expired", ExpiredError),
        (410, "Gone", ExpiredError),
        (413, "RequestEntityTooLarge", BadRequestError),
        (415, "UnsupportedMediaType", BadRequestError),
        (422, "Invalid", InvalidError),
        (429, "TooManyRequests", ThrottledError),
        (500, "InternalError", ServerError),
        (500, "ServerTimeout", ServerError),
        (503, "ServiceUnavailable", ServerError),
        (504, "Timeout", ServerError),
    ],
)
def test_each_reason_and_each_code_alone_have_their_class(
    code: int, reason: str, kind: type[ApiError]
) -> None:
    assert type(from_status({"code": code, "reason": reason})) is kind
    assert type(from_status({"reason": reason})) is kind
    assert isinstance(
        from_status({"code": code, "reason": "Unheard"}), kind.__mro__[1 if kind is AlreadyExistsError else 0]
    )


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (500, "NotFound", NotFoundError),
        (409, "Expired", ExpiredError),
        (200, "Forbidden", ForbiddenError),
        (599, "", ServerError),
        (418, "", ApiError),
        (0, "", ApiError),
    ],
)
def test_the_reason_wins_over_the_code(code: int, reason: str, kind: type[ApiError]) -> None:
    error = from_status({"code": code, "reason": reason, "message": "no"})
    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, reason, "no")


@pytest.mark.parametrize(
    "status",
    [
        {"code": 504, "reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}},
        {
            "code": 504,
            "reason": "Timeout",
            "details": {"causes": [{"message": "Too large resource version"}]},
        },
        {"code": 504, "reason": "Timeout", "message": "Timeout: Too large resource version: 9, current: 1"},
    ],
    ids=["1.19", "1.17", "1.16"],
)
def test_a_version_of_the_future_is_known_in_its_three_shapes(status: dict[str, Any]) -> None:
    assert type(from_status(status)) is FutureVersionError


def test_another_timeout_is_not_a_version_of_the_future() -> None:
    assert type(from_status({"code": 504, "reason": "Timeout", "message": "Timeout: request"})) is ServerError
    assert type(
        from_status({"code": 400, "reason": "BadRequest", "message": "Too large resource version"})
    ) is (BadRequestError)


@pytest.mark.parametrize(
    ("headers", "details", "expected"),
    [
        ({}, {}, None),
        ({"retry-after": "7"}, {}, 7.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({"retry-after": "7"}, {"retryAfterSeconds": 3}, 7.0),
        ({"retry-after": "soon"}, {"retryAfterSeconds": 3}, 3.0),
        ({"retry-after": "-1"}, {}, None),
        ({"retry-after": "nan"}, {}, None),
        ({"retry-after": "inf"}, {}, None),
        ({}, {"retryAfterSeconds": "3"}, None),
        ({}, {"retryAfterSeconds": True}, None),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            {},
            30.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, {}, None),
        ({"retry-after": f"Wed, 21 Oct {10**20} 07:28:30 GMT"}, {}, None),
        ({"retry-after": f"Wed, 21 Oct 2026 07:28:30 +{10**20}"}, {}, None),
    ],
)
def test_the_server_says_when_to_come_back(
    headers: dict[str, str], details: dict[str, Any], expected: float | None
) -> None:
    import json

    body = json.dumps({"kind": "Status", "code": 429, "details": details}).encode()
    assert from_response(429, body, headers).retry_after == expected


@pytest.mark.parametrize(
    ("code", "body", "kind", "message"),
    [
        (404, b"404 page not found\n", NotFoundError, "404 page not found"),
        (
            429,
            b"Too many requests, please try again later.\n",
            ThrottledError,
            "Too many requests, please try again later.",
        ),
        (502, b"<html>\n  <h1>Bad gateway</h1>\n</html>", ServerError, "<html> <h1>Bad gateway</h1> </html>"),
        (503, b"", ServerError, ""),
        (503, b"\xff\xfe", ServerError, "\ufffd\ufffd"),
        (500, b'{"kind":"Pod","message":"not me"}', ServerError, '{"kind":"Pod","message":"not me"}'),
        (403, b"[" * 100_000, ForbiddenError, "[" * 300 + "..."),
        (500, b"null", ServerError, "null"),
    ],
)
def test_an_answer_that_is_no_status_is_judged_by_its_code(
    code: int, body: bytes, kind: type[ApiError], message: str
) -> None:
    error = from_response(code, body)
    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, "", message)


def test_a_status_without_a_code_gets_that_of_the_answer() -> None:
    error = from_response(503, b'{"kind":"Status","message":"later"}')
    assert (type(error), error.code, error.message) == (ServerError, 503, "later")


@pytest.mark.parametrize(
    "status",
    [
        None,
        [],
        "text",
        {"code": "404", "reason": 7, "message": None, "details": []},
        {"details": {"causes": "none"}},
        {"details": {"causes": [None, {"reason": []}]}, "code": 500},
    ],
)
def test_a_status_of_nonsense_is_still_an_error(status: Any) -> None:
    assert isinstance(from_status(status), ApiError)


def test_the_details_are_kept() -> None:
    error = from_status(
        {"reason": "Invalid", "code": 422, "details": {"name": "x", "causes": [{"field": "spec"}]}}
    )
    assert error.details["causes"][0]["field"] == "spec"
