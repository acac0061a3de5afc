import pytest

from kinformer.client._stream._question import encode_question


def test_a_question_is_written_as_it_was_meant() -> None:
    headers = [(b"Host", b"h:1"), (b"X-Empty", b""), (b"Accept", b"a, b;q=1"), (b"X-Latin", b"\xe9\t")]
    written = encode_question(b"GET", b"/api?a=b%20c", headers)
    assert written == (
        b"GET /api?a=b%20c HTTP/1.1\r\nHost: h:1\r\nX-Empty: \r\nAccept: a, b;q=1\r\nX-Latin: \xe9\t\r\n\r\n"
    )


@pytest.mark.parametrize("target", [b"", b"/a b", b"/a\r\nHost: x", b"/\xe9", b"/a\0"])
def test_a_target_that_would_end_the_line_is_refused(target: bytes) -> None:
    with pytest.raises(ValueError, match="no request line can carry"):
        encode_question(b"GET", target, [])


def test_a_method_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no request line can carry"):
        encode_question(b"GET ", b"/", [])


@pytest.mark.parametrize(
    "header",
    [(b"", b"a"), (b"A b", b"c"), (b"A:", b"b"), (b"A", b"b\r\nC: d"), (b"A", b"b\nc"), (b"A", b"b\0")],
)
def test_a_header_that_would_be_more_than_one_is_refused(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="no header can carry"):
        encode_question(b"GET", b"/", [header])


def test_the_refusal_does_not_show_what_the_header_holds() -> None:
    with pytest.raises(ValueError, match="Authorization") as caught:
        encode_question(b"GET", b"/", [(b"Authorization", b"Bearer secret\n")])
    assert "secret" not in str(caught.value)
