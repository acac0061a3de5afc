from collections.abc import Sequence

import httpx
import pytest

from kinformer.client import Anonymous, BearerToken, Credentials
from kinformer.client._auth import Authentication
from kinformer.errors import ConfigError


class Answers(httpx.AsyncBaseTransport):
    """Answers with codes, and notes what came and whether the connection was closed."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.seen: list[str | None] = []
        self.closed = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request.headers.get("authorization"))
        return httpx.Response(self.codes.pop(0), content=b"body", extensions={"network_stream": self})

    async def aclose(self) -> None:
        self.closed += 1


class Changing:
    """Gives the next one each time that one is refused."""

    def __init__(self, *values: str) -> None:
        self.values = list(values)

    async def authorization(self, *, rejected: str | None = None) -> str:
        if rejected == self.values[0] and len(self.values) > 1:
            self.values.pop(0)
        return self.values[0]


async def ask(answers: Answers, credentials: Credentials, *, has_certificate: bool = False) -> httpx.Response:
    http = httpx.AsyncClient(
        transport=answers, auth=Authentication(credentials, has_certificate=has_certificate)
    )
    return await http.get("http://server")


@pytest.mark.parametrize(
    ("codes", "values", "seen"),
    [
        ([200], ["a"], ["a"]),
        ([401, 200], ["a", "b"], ["a", "b"]),
        ([401, 401], ["a", "b", "c"], ["a", "b"]),
        ([401], ["a"], ["a"]),
        ([403], ["a", "b"], ["a"]),
        ([401], ["", ""], [None]),
        ([401, 200], ["", "b"], [None, "b"]),
        ([401], ["a", ""], ["a"]),
    ],
)
async def test_a_refusal_is_answered_once_with_other_credentials(
    codes: Sequence[int], values: Sequence[str], seen: list[str | None]
) -> None:
    answers = Answers(*codes)
    response = await ask(answers, Changing(*values))
    assert (response.status_code, response.content) == (codes[-1], b"body")
    assert answers.seen == seen
    assert answers.closed == 0


async def test_a_refusal_ends_the_connection_that_a_certificate_was_shown_on() -> None:
    answers = Answers(401)
    response = await ask(answers, Anonymous(), has_certificate=True)
    assert (response.content, answers.closed) == (b"body", 1)
    answers = Answers(200)
    await ask(answers, Anonymous(), has_certificate=True)
    assert answers.closed == 0


@pytest.mark.parametrize("secret", ["hunter2\n", "hünter2", "hunter2\x00"])
async def test_what_no_header_can_carry_is_refused_and_in_no_frame_of_ours(secret: str) -> None:
    with pytest.raises(ConfigError, match="no header can carry") as caught:
        await ask(Answers(200), BearerToken(secret))
    frame = caught.tb.tb_next
    while frame is not None:
        if frame.tb_frame.f_code.co_filename.endswith("_auth.py"):
            assert "nter2" not in repr(frame.tb_frame.f_locals)
        frame = frame.tb_next
    assert "nter2" not in str(caught.value)
