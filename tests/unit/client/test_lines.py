import tracemalloc

import pytest

from kinformer.client._lines import LineSplitter
from kinformer.errors import DecodeError


def test_a_chunk_gives_the_lines_that_it_completes() -> None:
    lines = LineSplitter()
    assert lines.feed(b"a\nb\nc") == [b"a", b"b"]
    assert lines.feed(b"d") == []
    assert lines.feed(b"\n\ne\n") == [b"cd", b"", b"e"]
    assert lines.finish() == b""


def test_the_end_gives_what_has_no_line_end() -> None:
    lines = LineSplitter()
    lines.feed(b"a\nb")
    assert lines.finish() == b"b"
    assert lines.finish() == b""


@pytest.mark.parametrize("char", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_a_newline_ends_a_line(char: str) -> None:
    assert LineSplitter().feed(f"a{char}b\n".encode()) == [f"a{char}b".encode()]


@pytest.mark.parametrize("chunks", [[b"12345\n"], [b"123", b"45"], [b"1\n", b"12345"]])
def test_a_line_beyond_the_limit_is_refused(chunks: list[bytes]) -> None:
    lines = LineSplitter(4)
    with pytest.raises(DecodeError, match="longer than 4 bytes"):
        list(map(lines.feed, chunks))


def test_a_line_at_the_limit_is_taken() -> None:
    lines = LineSplitter(4)
    assert lines.feed(b"12") == []
    assert lines.feed(b"34\n5678\n") == [b"1234", b"5678"]


@pytest.mark.parametrize("size", [1, 1000])
def test_however_small_the_pieces_of_a_line_it_takes_little_more_room_than_its_size(size: int) -> None:
    lines, line = LineSplitter(), b"x" * 100_000
    tracemalloc.start()
    try:
        for start in range(0, len(line), size):
            assert lines.feed(line[start : start + size]) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.5 * len(line)
    assert lines.feed(b"\n") == [line]
