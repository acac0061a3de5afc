from http import HTTPStatus

import pytest

from kinformer.observe._answers import Answer, answer_to, encoded
from kinformer.observe._questions import Question


def fail() -> Answer:
    raise ZeroDivisionError


ROUTES = {"/healthz": lambda: Answer("ok\n"), "/broken": fail}


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/healthz", 200, "ok\n"),
        ("HEAD", "/healthz", 200, "ok\n"),
        ("GET", "/healthz/", 404, "nothing is here; there are:\n/healthz\n/broken\n"),
        ("GET", "/nothing", 404, "nothing is here; there are:\n/healthz\n/broken\n"),
        ("POST", "/healthz", 405, "only GET and HEAD\n"),
        ("OPTIONS", "/nothing", 405, "only GET and HEAD\n"),
    ],
)
def test_each_question_has_an_answer(method: str, path: str, status: int, body: str) -> None:
    answer = answer_to(Question(method, path, may_stay=True), ROUTES)
    assert (answer.status, answer.body) == (status, body)


def test_what_a_path_fails_with_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    answer = answer_to(Question("GET", "/broken", may_stay=True), ROUTES)
    assert answer.status is HTTPStatus.INTERNAL_SERVER_ERROR
    assert "ZeroDivisionError" not in str(answer.body)
    assert "/broken cannot be answered" in caplog.text


def test_a_refused_method_says_which_are_allowed() -> None:
    answer = answer_to(Question("DELETE", "/healthz", may_stay=True), ROUTES)
    assert b"\r\nAllow: GET, HEAD\r\n" in encoded(answer, "", may_stay=True)


def test_an_answer_has_its_length_in_bytes_and_its_end() -> None:
    head, _, body = encoded(Answer(""), "é", may_stay=False).partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert {b"Content-Length: 2", b"Connection: close", b"X-Content-Type-Options: nosniff"} <= set(lines)
    assert body == "é".encode()


def test_a_head_is_the_same_without_the_body() -> None:
    whole = encoded(Answer(""), "text", may_stay=True)
    assert encoded(Answer(""), "text", may_stay=True, is_head=True) == whole.removesuffix(b"text")


def test_what_cannot_be_sent_as_it_is_is_written_out() -> None:
    assert encoded(Answer(""), "name \ud800\n", may_stay=True).endswith(b"name \\ud800\n")
