import pytest

from kinformer.observe._questions import HEAD, Question, Questions


def test_a_question_is_its_method_and_its_path() -> None:
    questions = Questions()
    asked = questions.feed(b"GET /debug?x=1#y HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n")
    assert asked == [Question("GET", "/debug", may_stay=True)]
    assert not questions.is_over
    assert not questions.is_midway


@pytest.mark.parametrize(
    ("request_line", "headers", "may_stay"),
    [
        pytest.param(b"GET / HTTP/1.1", b"", True, id="1.1"),
        pytest.param(b"GET / HTTP/1.1", b"Connection: close\r\n", False, id="1.1-close"),
        pytest.param(b"GET / HTTP/1.0", b"", False, id="1.0"),
        pytest.param(b"GET / HTTP/1.0", b"Connection: keep-alive\r\n", True, id="1.0-keep-alive"),
        pytest.param(b"POST / HTTP/1.1", b"Content-Length: 0\r\n", True, id="empty-body"),
    ],
)
def test_whether_the_connection_stays_is_the_clients_choice(
    request_line: bytes, headers: bytes, may_stay: bool
) -> None:
    questions = Questions()
    (question,) = questions.feed(request_line + b"\r\n" + headers + b"\r\n")
    assert question.may_stay is may_stay
    assert questions.is_over is not may_stay


@pytest.mark.parametrize(
    "headers",
    [b"Content-Length: 7\r\n", b"Transfer-Encoding: chunked\r\n", b"content-length:  7\r\n"],
    ids=["length", "chunked", "spelled-otherwise"],
)
def test_after_a_question_with_a_body_nothing_more_is_read(headers: bytes) -> None:
    questions = Questions()
    asked = questions.feed(b"POST / HTTP/1.1\r\n" + headers + b"\r\nGET /b HTTP/1.1\r\n\r\n")
    assert asked == [Question("POST", "/", may_stay=False)]
    assert questions.is_over
    assert questions.feed(b"GET / HTTP/1.1\r\n\r\n") == []
    assert not questions.failure


def test_who_asks_for_another_protocol_gets_one_answer_in_this_one() -> None:
    questions = Questions()
    asked = questions.feed(
        b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\n"
    )
    assert asked == [Question("GET", "/", may_stay=False)]
    assert questions.is_over


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00",
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno header\r\n\r\n",
    ],
    ids=["tls", "greeting", "version", "header"],
)
def test_what_is_no_request_is_a_failure_and_the_end(data: bytes) -> None:
    questions = Questions()
    assert questions.feed(data) == []
    assert questions.failure
    assert questions.is_over
    assert not questions.is_midway


def test_what_came_before_a_failure_is_still_asked() -> None:
    questions = Questions()
    assert [question.path for question in questions.feed(b"GET /a HTTP/1.1\r\n\r\n\x00\x00")] == ["/a"]
    assert questions.failure


@pytest.mark.parametrize("line", [b"GET /" + b"a" * HEAD, b"GET / HTTP/1.1\r\nX: " + b"a" * HEAD])
def test_a_head_that_does_not_end_is_refused_when_it_is_too_long(line: bytes) -> None:
    questions = Questions()
    for start in range(0, len(line), 1000):
        assert questions.feed(line[start : start + 1000]) == []
    assert "more than 16384 bytes" in questions.failure


def test_a_path_is_decoded() -> None:
    (question,) = Questions().feed(b"GET /a%20b/%C3%A9 HTTP/1.1\r\n\r\n")
    assert question.path == "/a b/é"
