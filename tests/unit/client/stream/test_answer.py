import pytest

from kinformer.client._stream._answer import MOST_HEADERS, SILENCE, Answer

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def fed(*parts: bytes, ends: bool = False) -> tuple[Answer, bytes]:
    answer = Answer()
    body = b"".join([answer.feed(part) for part in parts])
    if ends:
        answer.end()
    return answer, body


@pytest.mark.parametrize(
    ("answer", "status", "body", "may_stay"),
    [
        (OK + b"Content-Length: 3\r\n\r\nabc", 200, b"abc", True),
        (OK + b"Content-Length: 0\r\n\r\n", 200, b"", True),
        (OK + b"content-LENGTH: 3\r\nConnection: close\r\n\r\nabc", 200, b"abc", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc", 200, b"abc", True),
        (b"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", True),
        (CHUNKED + b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", 200, b"abc0123456789", True),
        (CHUNKED + b"0003\r\nabc\r\n0000\r\n\r\n", 200, b"abc", True),
        (CHUNKED + b'3;a=b;c="d"\r\nabc\r\n0;x\r\nA: b\r\nC: d\r\n\r\n', 200, b"abc", True),
        (OK + b"Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 200, b"", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", 304, b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\na", 200, b"a", True),
        (
            b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 199 X\r\n\r\n" + CHUNKED + b"0\r\n\r\n",
            200,
            b"",
            True,
        ),
        (b"\r\n" + OK + b"Content-Length: 1\r\n\r\na", 200, b"a", True),
        (b"HTTP/1.1 410 Gone\r\nContent-Length: 1\r\n\r\na", 410, b"a", True),
    ],
    ids=[
        "length",
        "no length",
        "close",
        "old",
        "old and kept",
        "no reason",
        "chunks",
        "zeros",
        "extensions and trailers",
        "another case",
        "204",
        "304",
        "continue",
        "interim",
        "blank line before",
        "refusal",
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_an_answer_is_the_same_however_it_is_cut(
    answer: bytes, status: int, body: bytes, may_stay: bool, step: int
) -> None:
    found, read = fed(*[answer[at : at + step] for at in range(0, len(answer), step)])
    assert not found.failure
    assert (found.status, read, found.is_whole, found.may_stay) == (status, body, True, may_stay)


@pytest.mark.parametrize("head", [OK, b"HTTP/1.0 200 OK\r\n", OK + b"Connection: close\r\n"])
def test_a_body_without_a_length_ends_with_the_connection(head: bytes) -> None:
    answer, _ = fed(head + b"\r\nab", b"c")
    assert not answer.is_over
    answer, body = fed(head + b"\r\nab", b"c", ends=True)
    assert body == b"abc"
    assert answer.is_whole
    assert not answer.may_stay


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"garbage", "Expected HTTP/"),
        (b"\0", "Expected HTTP/"),
        (b"GET / HTTP/1.1\r\n", "Expected HTTP/"),
        (b"<html>", "Expected HTTP/"),
        (b"HTTP/9.9 200 OK\r\n\r\n", "Invalid HTTP version"),
        (b"HTTP/1.1 twohundred\r\n\r\n", "Invalid status code"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "Invalid response status"),
        (b"HTTP/1.1 000 OK\r\n\r\n", "0 is no status"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "another protocol"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "another protocol"),
        (b"HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\n", "a body in an interim answer"),
        (b"HTTP/1.1 199 X\r\nTransfer-Encoding: chunked\r\n\r\n", "a body in an interim answer"),
        (b"HTTP/1.1 200 OK\nContent-Length: 1\n\na", "Missing expected CR"),
        (OK + b"A b: c\r\n\r\n", "Invalid header token"),
        (OK + b"Content-Length : 1\r\n\r\na", "Invalid header field char"),
        (OK + b": a\r\n\r\n", "Invalid header token"),
        (OK + b"A: b\0c\r\n\r\n", "Invalid header value char"),
        (OK + b"A: b\r\n c\r\n\r\n", "Unexpected whitespace"),
        (OK + b"Content-Length: -1\r\n\r\na", "Invalid character in Content-Length"),
        (OK + b"Content-Length: 1, 1\r\n\r\na", "Invalid character in Content-Length"),
        (OK + b"Content-Length: 0x1\r\n\r\na", "Invalid character in Content-Length"),
        (OK + b"Content-Length: 99999999999999999999\r\n\r\na", "Content-Length overflow"),
        (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "Duplicate Content-Length"),
        (OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "can't be present with"),
        (OK + b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "can't be present with"),
        (OK + b"Transfer-Encoding: gzip\r\n\r\n", "other than chunked"),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "other than chunked"),
        (OK + b"Transfer-Encoding: chunked, identity\r\n\r\n", "other than chunked"),
        (CHUNKED + b"-3\r\nabc", "Invalid character in chunk size"),
        (CHUNKED + b"0x3\r\nabc", "Invalid character in chunk size"),
        (CHUNKED + b"\r\nabc", "Invalid character in chunk size"),
        (CHUNKED + b"one\r\nabc", "Invalid character in chunk size"),
        (CHUNKED + b"3 \r\nabc", "Invalid character in chunk size"),
        (CHUNKED + b"fffffffffffffffff\r\nabc", "Chunk size overflow"),
        (CHUNKED + b"3\nabc", "Missing expected CR"),
        (CHUNKED + b"0\r\nno header\r\n\r\n", "Invalid header token"),
        (CHUNKED + b"0\r\nContent-Length: 3\r\n\r\n", "can't be present with"),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_what_is_no_answer_is_told(answer: bytes, failure: str, step: int) -> None:
    found, body = fed(*[answer[at : at + step] for at in range(0, len(answer), step)])
    assert found.failure.startswith("no HTTP answer: ")
    assert failure in found.failure
    assert not found.is_whole
    assert body == b""


@pytest.mark.parametrize("step", [1, 1000])
def test_what_came_before_a_broken_chunk_is_given(step: int) -> None:
    answer = CHUNKED + b"3\r\nabc\r\n3\r\ndefXX"
    found, body = fed(*[answer[at : at + step] for at in range(0, len(answer), step)])
    assert body == b"abcdef"
    assert "Expected LF after chunk data" in found.failure


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"", "without an answer"),
        (b"HTTP", "in the middle"),
        (OK, "in the middle"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "in the middle"),
        (OK + b"Content-Length: 3\r\n\r\n", "in the middle"),
        (OK + b"Content-Length: 3\r\n\r\nab", "in the middle"),
        (CHUNKED, "in the middle"),
        (CHUNKED + b"3\r\nab", "in the middle"),
        (CHUNKED + b"3\r\nabc\r\n", "in the middle"),
        (CHUNKED + b"3\r\nabc\r\n0\r\n", "in the middle"),
    ],
)
def test_a_connection_that_ends_too_early_is_told(answer: bytes, failure: str) -> None:
    found, _ = fed(*[answer] if answer else [], ends=True)
    assert found.failure.startswith("the server closed the connection")
    assert failure in found.failure
    assert not found.is_whole


@pytest.mark.parametrize("surplus", [b"x", b"\r\n", OK + b"Content-Length: 1\r\n\r\nX", CHUNKED])
@pytest.mark.parametrize("is_apart", [True, False])
def test_bytes_behind_the_end_spoil_the_connection_and_not_the_answer(surplus: bytes, is_apart: bool) -> None:
    answer = OK + b"Content-Length: 3\r\n\r\nabc"
    found, body = fed(answer, surplus) if is_apart else fed(answer + surplus)
    assert (found.status, body, found.is_whole, found.failure) == (200, b"abc", True, "")
    assert found.headers == [(b"Content-Length", b"3")]
    if surplus != b"\r\n" or is_apart:  # a line end behind an answer is an old custom
        assert not found.may_stay


def test_an_end_behind_the_end_spoils_the_connection_and_not_the_answer() -> None:
    found, _ = fed(OK + b"Content-Length: 3\r\n\r\nabc", ends=True)
    assert found.is_whole
    assert not found.failure
    assert not found.may_stay


def test_headers_keep_their_order_and_spelling_and_trailers_are_dropped() -> None:
    found, _ = fed(OK + b"B: 1\r\na: 2\r\nB:\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nC: 3\r\n\r\n")
    assert found.headers == [(b"B", b"1"), (b"a", b"2"), (b"B", b""), (b"Transfer-Encoding", b"chunked")]


def test_headers_of_interim_answers_are_dropped() -> None:
    found, _ = fed(b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\n" + OK + b"B: 1\r\n\r\n", ends=True)
    assert found.headers == [(b"B", b"1")]
    assert found.is_whole


def test_as_many_headers_as_may_be_are_taken_and_one_more_is_refused() -> None:
    lines = [b"H%d: v\r\n" % number for number in range(MOST_HEADERS)]
    found, _ = fed(OK + b"".join(lines) + b"\r\n")
    assert len(found.headers) == MOST_HEADERS
    assert not found.failure
    found, _ = fed(OK + b"".join(lines) + b"One: more\r\n\r\n")
    assert f"more than {MOST_HEADERS} headers" in found.failure


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"\r\n", b"\r\n"),
        (b"HTTP/1.1 200 O", b"K"),
        (OK + b"A", b"a"),
        (OK + b"A: ", b"a"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED, b"0"),
        (CHUNKED + b"3;", b"a"),
        (CHUNKED + b"0\r\nA: ", b"a"),
        (CHUNKED + b"0\r\n", b"Many: of us\r\n"),
    ],
    ids=["blank lines", "reason", "name", "value", "interim", "zeros", "extension", "trailer", "trailers"],
)
def test_what_goes_on_for_ever_without_a_body_is_given_up(begin: bytes, more: bytes) -> None:
    answer, taken = Answer(), len(begin)
    answer.feed(begin)
    while not answer.failure:
        answer.feed(more)
        taken += len(more)
        assert taken <= SILENCE + len(more)
    assert "without a byte of the body" in answer.failure
    assert answer.feed(more) == b""
    assert not answer.is_whole


def test_each_byte_of_the_body_begins_the_count_anew() -> None:
    answer, taken = Answer(), 0
    answer.feed(CHUNKED)
    while taken < 3 * SILENCE:
        for part in (b"1;" + b"x" * 1000, b"\r\n", b"a", b"\r\n"):
            answer.feed(part)
            taken += len(part)
    assert not answer.failure
