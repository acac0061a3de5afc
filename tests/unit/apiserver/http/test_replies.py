import msgspec
import pytest

from kinformer.apiserver.http._accept import Form, Media
from kinformer.apiserver.http._replies import (
    internal_error,
    json_reply,
    not_acceptable,
    refusal,
    text_reply,
    unknown_path,
    warning_headers,
)
from kinformer.apiserver.registry import StatusError


def test_json_ends_with_one_newline_h_12() -> None:
    for content in (b'{"a":1}', b'{"a":1}\n', {"a": 1}):
        reply = json_reply(content)
        assert reply.body == b'{"a":1}\n'
        assert reply.headers["content-type"] == "application/json"


def test_json_for_people_and_yaml() -> None:
    assert json_reply({"a": 1}, is_pretty=True).body == b'{\n  "a": 1\n}\n'
    reply = json_reply(b'{"b":1,"a":["x"]}', form=Form(Media.YAML), is_pretty=True)
    assert (reply.body, reply.headers["content-type"]) == (b"b: 1\na:\n- x\n", "application/yaml")


def test_a_refusal_is_a_status_and_says_when_to_come_back_e_2() -> None:
    reply = refusal(StatusError(429, "TooManyRequests", "slow down", retry_after=3))
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "3")
    status = msgspec.json.decode(reply.body)
    assert (status["kind"], status["code"], status["details"]) == ("Status", 429, {"retryAfterSeconds": 3})
    assert "retry-after" not in refusal(StatusError(500, "", "no")).headers


def test_what_went_wrong_inside_is_told_in_one_sentence() -> None:
    error = internal_error(KeyError("x"))
    assert (error.code, error.message) == (500, "Internal error occurred: KeyError: 'x'")
    assert internal_error(ValueError()).message == "Internal error occurred: ValueError"
    assert not_acceptable().code == 406


def test_plain_texts() -> None:
    assert unknown_path().body == b"404 page not found\n"
    assert text_reply("ok").headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("warnings", "values"),
    [
        ([], []),
        (["a", "b", "a"], ['299 - "a"', '299 - "b"']),
        (['say "x\\y"'], ['299 - "say \\"x\\\\y\\""']),
        (["two\nlines"], ['299 - "two lines"']),
        (["snow \u2603"], ['299 - "snow ?"']),
    ],
)
def test_warnings_become_headers_h_14(warnings: list[str], values: list[str]) -> None:
    assert warning_headers(warnings) == values


def test_too_many_warnings_are_cut_h_14() -> None:
    values = warning_headers([f"{number:03}" + "x" * 500 for number in range(100)])
    assert len(values) == 16
    assert {len(value) for value in values} == {256 + len('299 - ""')}
