"""Continue tokens: rule L-6."""

import base64
import json
from typing import Any

import pytest

from kinformer.apiserver.cacher import Position, decode_continue, encode_continue


def token(**body: Any) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": 5, "start": "a\0", **body})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize("start", ["a\0", "ns/name\0", "ä/ö\0"])
def test_a_token_leads_back_to_its_position(start: str) -> None:
    assert decode_continue(encode_continue(Position(7, start))) == Position(7, start)


def test_a_token_has_the_form_of_the_real_server() -> None:
    text = encode_continue(Position(7, "a\0"))
    padded = text + "=" * (-len(text) % 4)
    assert base64.urlsafe_b64decode(padded) == b'{"v":"meta.k8s.io/v1","rv":7,"start":"a\\u0000"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("!!", "continue key is not valid", id="no base64"),
        pytest.param("aGFsbG8", "continue key is not valid", id="no JSON"),
        pytest.param("WzFd", "continue key is not valid", id="no object"),
        pytest.param("W1tb" * 20_000, "continue key is not valid", id="too deep"),
        pytest.param(
            token(rv=0), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)", id="revision 0"
        ),
        pytest.param(token(rv="x"), "incorrect encoded start resourceVersion", id="revision x"),
        pytest.param(token(start=""), "encoded start key empty (version meta.k8s.io/v1)", id="no start"),
        pytest.param(token(v="v2"), "server does not recognize this encoded version v2", id="other version"),
        pytest.param(token(start="../secrets/x"), "continue key is not valid", id="up"),
        pytest.param(token(start="./a"), "continue key is not valid", id="dot"),
        pytest.param(token(start="a/../.."), "continue key is not valid", id="up later"),
        pytest.param(token(start="//a"), "continue key is not valid", id="two slashes"),
    ],
)
def test_a_hostile_token_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the message is compared below
        decode_continue(text)
    assert message in str(caught.value)


def test_the_root_is_a_valid_start() -> None:
    assert decode_continue(token(start="/")) == Position(5, "")
