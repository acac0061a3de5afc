import gzip
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from kinformer.client._receiving import Whole, body_of


class Pieces(httpx.AsyncByteStream):
    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        for piece in self.pieces:
            yield piece


async def read(response: httpx.Response) -> list[bytes]:
    return [chunk async for chunk in body_of(response)]


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "identity"}, {"Content-Type": "text/plain"}])
async def test_a_body_comes_in_the_pieces_in_which_the_transport_has_it(headers: dict[str, str]) -> None:
    assert await read(httpx.Response(200, headers=headers, stream=Pieces(b"a", b"bc"))) == [b"a", b"bc"]


async def test_a_packed_body_is_unpacked() -> None:
    packed = gzip.compress(b"abc" * 100)
    headers: dict[str, Any] = {"Content-Encoding": "gzip"}
    response = httpx.Response(200, headers=headers, stream=Pieces(packed[:9], packed[9:]))
    assert b"".join(await read(response)) == b"abc" * 100


def test_a_body_that_is_wanted_whole_is_put_together() -> None:
    whole = Whole()
    for chunk in (b"a", b"", b"bc"):
        whole.feed(chunk)
    assert whole.finish() == b"abc"
    assert Whole().finish() == b""
