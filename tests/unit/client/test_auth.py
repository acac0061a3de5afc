import ssl
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Anonymous, BearerToken, Certificate, Credentials, Tls
from kinformer.client._auth import Authentication
from kinformer.errors import ConfigError
from kinformer.testing import settle
from tests.certificates import Authority


class Connection:
    """What httpcore puts beside an answer."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context
        self.closed = 0

    def get_extra_info(self, info: str) -> Any:
        if info != "ssl_object" or self.context is None:
            return None
        return self.context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="host")

    async def aclose(self) -> None:
        self.closed += 1


class Answers(httpx.AsyncBaseTransport):
    """Answers with codes, and notes what came."""

    def __init__(self, *codes: int, connection: Connection | None = None) -> None:
        self.codes = list(codes)
        self.seen: list[str | None] = []
        self.connection = connection

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request.headers.get("authorization"))
        extensions = {} if self.connection is None else {"network_stream": self.connection}
        return httpx.Response(self.codes.pop(0), content=b"body", extensions=extensions)


class Changing:
    """Gives the next one each time that one is refused."""

    def __init__(self, *values: str) -> None:
        self.values = list(values)

    async def authorization(self, *, rejected: str | None = None) -> str:
        if rejected == self.values[0] and len(self.values) > 1:
            self.values.pop(0)
        return self.values[0]


async def ask(answers: Answers, credentials: Credentials) -> httpx.Response:
    auth = Authentication(credentials, lambda: None)
    return await httpx.AsyncClient(transport=answers, auth=auth).get("http://server")


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


class Rotating:
    """Holds another certificate after each refusal, as a plugin does."""

    def __init__(self, *pairs: Certificate) -> None:
        self.pairs = list(pairs)

    @property
    def certificate(self) -> Certificate:
        return self.pairs[0]

    async def authorization(self, *, rejected: str | None = None) -> str:
        if rejected is not None and len(self.pairs) > 1:
            self.pairs.pop(0)
        return ""


class Kept(Connection):
    """One that was made before anything changed."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context)
        self.made = super().get_extra_info("ssl_object")

    def get_extra_info(self, info: str) -> Any:
        return self.made


async def test_connections_that_were_made_with_another_certificate_are_closed_after_a_refusal(
    authority: Authority,
) -> None:
    rotating = Rotating(*(Certificate(*authority.sign(name)) for name in ("one", "two")))
    answers = Answers(401, 401, 200)
    answers.connection = Kept(Tls(certificates=rotating).context())
    response = await ask(answers, rotating)
    assert (response.status_code, answers.connection.closed) == (200, 2)


@pytest.mark.parametrize("is_encrypted", [True, False])
async def test_a_refusal_on_a_connection_that_is_up_to_date_is_final(is_encrypted: bool) -> None:
    connection = Connection(Tls().context() if is_encrypted else None)
    answers = Answers(401, connection=connection)
    response = await ask(answers, Anonymous())
    assert (response.status_code, response.content, connection.closed) == (401, b"body", 0)


async def test_connections_that_are_never_up_to_date_are_not_tried_for_ever(authority: Authority) -> None:
    rotating = Rotating(*(Certificate(*authority.sign(name)) for name in ("one", "two")))
    answers = Answers(*[401] * 100)
    answers.connection = Kept(Tls(certificates=rotating).context())
    assert (await ask(answers, rotating)).status_code == 401
    assert len(answers.seen) == 17


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


class Hanging:
    """Takes for ever, from the first time or from the first refusal on."""

    def __init__(self, *, from_the_first: bool) -> None:
        self.from_the_first = from_the_first

    async def authorization(self, *, rejected: str | None = None) -> str:
        if self.from_the_first or rejected is not None:
            await anyio.sleep_forever()
        return "a"


class Body(httpx.AsyncByteStream):
    """A body that never comes."""

    def __init__(self) -> None:
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await anyio.sleep_forever()
        yield b""

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("where", ["credentials", "fresh credentials", "the body of a refusal"])
async def test_cancelling_anywhere_closes_the_answer(authority: Authority, where: str) -> None:
    body, connection = Body(), Connection(None)
    rotating = Rotating(*(Certificate(*authority.sign(name)) for name in ("one", "two")))
    credentials: Credentials = Hanging(from_the_first=where == "credentials")
    if where == "the body of a refusal":
        credentials, connection = rotating, Kept(Tls(certificates=rotating).context())

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, stream=body, extensions={"network_stream": connection})

    auth = Authentication(credentials, lambda: None)
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answer), auth=auth) as http,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(http.get, "http://server")
        await settle()
        tasks.cancel_scope.cancel()
    assert body.is_closed is (where != "credentials")
