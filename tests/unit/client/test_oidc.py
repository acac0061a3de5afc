import base64
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import anyio
import pytest

from kinformer.client import Tls
from kinformer.client._oidc import Oidc, OidcIssuer, expiry_of
from kinformer.errors import ConfigError
from kinformer.testing import FakeClock
from tests.certificates import Authority
from tests.responder import Asked, listening, responding

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def token(exp: float | None = None, **claims: Any) -> str:
    content = claims | ({} if exp is None else {"exp": exp})
    payload = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


def lasting(seconds: float) -> str:
    return token((BEGIN + timedelta(seconds=seconds)).timestamp())


class Provider:
    """An identity provider that gives numbered tokens."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[Asked] = []
        self.refusal: tuple[int, bytes] | None = None
        self.methods: list[str] = []
        self.endpoint = ""
        self.answer: dict[str, Any] = {
            "id_token": lasting(7200),
            "refresh_token": "refresh-2",
            "access_token": "x",
        }

    def __call__(self, asked: Asked) -> tuple[int, bytes]:
        if asked.path == "/realm/.well-known/openid-configuration":
            endpoint = self.endpoint or f"https://127.0.0.1:{self.port}/token"
            found: dict[str, Any] = {"token_endpoint": endpoint, "issuer": "x"}
            if self.methods:
                found["token_endpoint_auth_methods_supported"] = self.methods
            return 200, json.dumps(found).encode()
        self.asked.append(asked)
        return self.refusal or (200, json.dumps(self.answer).encode())

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.asked[-1].body.decode()).items()}


@asynccontextmanager
async def provider(authority: Authority, folder: Path) -> AsyncIterator[Provider]:
    made = Provider()
    async with responding(made, authority.server(folder, "127.0.0.1")) as made.port:
        yield made


class Keeper:
    def __init__(self, failure: ConfigError | None = None) -> None:
        self.kept: list[tuple[str, str]] = []
        self.failure = failure

    def __call__(self, *, id_token: str, refresh_token: str) -> None:
        if self.failure:
            raise self.failure
        self.kept.append((id_token, refresh_token))


def issuer(
    made: Provider,
    authority: Authority | None,
    keeper: Keeper | None = None,
    *,
    id_token: str = "",
    refresh_token: str = "refresh-1",
    secret: str = "",
    clock: FakeClock | None = None,
) -> OidcIssuer:
    url = f"https://127.0.0.1:{made.port}/realm/"
    tls = Tls(ca_data=authority.pem if authority else "")
    oidc = Oidc(url, "me & co", secret, id_token, refresh_token, tls)
    return OidcIssuer(oidc, keeper or Keeper(), clock or FakeClock(BEGIN))


async def test_a_token_that_is_good_is_given_without_asking(authority: Authority, tmp_path: Path) -> None:
    given = lasting(1)
    async with provider(authority, tmp_path) as made:
        issued = await issuer(made, authority, id_token=given).issue()
    assert issued.authorization == f"Bearer {given}"
    assert issued.expires == BEGIN + timedelta(seconds=1)
    assert made.asked == []


@pytest.mark.parametrize("given", ["", lasting(0)], ids=["none", "over"])
async def test_a_token_is_refreshed_and_kept(authority: Authority, tmp_path: Path, given: str) -> None:
    keeper = Keeper()
    async with provider(authority, tmp_path) as made:
        asking = issuer(made, authority, keeper, id_token=given)
        issued = await asking.issue()
        assert issued.authorization == f"Bearer {lasting(7200)}"
        assert issued.expires == BEGIN + timedelta(hours=2)
        assert keeper.kept == [(lasting(7200), "refresh-2")]
        assert made.form == {
            "grant_type": "refresh_token",
            "refresh_token": "refresh-1",
            "client_id": "me & co",
        }
        await asking.issue()
        assert made.form["refresh_token"] == "refresh-2"


async def test_the_second_time_a_token_is_not_given_again_however_good(
    authority: Authority, tmp_path: Path
) -> None:
    async with provider(authority, tmp_path) as made:
        asking = issuer(made, authority, id_token=lasting(100))
        await asking.issue()
        await asking.issue()
    assert len(made.asked) == 1


async def test_a_provider_may_keep_its_refresh_token(authority: Authority, tmp_path: Path) -> None:
    keeper = Keeper()
    async with provider(authority, tmp_path) as made:
        del made.answer["refresh_token"]
        await issuer(made, authority, keeper).issue()
    assert keeper.kept == [(lasting(7200), "refresh-1")]


@pytest.mark.parametrize(
    ("methods", "in_form"),
    [
        ([], False),
        (["client_secret_basic", "client_secret_post"], False),
        (["client_secret_post"], True),
        (["private_key_jwt"], False),
    ],
)
async def test_a_client_with_a_secret_proves_itself_as_the_provider_wants(
    authority: Authority, tmp_path: Path, methods: list[str], in_form: bool
) -> None:
    async with provider(authority, tmp_path) as made:
        made.methods = methods
        await issuer(made, authority, secret="pass:word").issue()
    header = made.asked[0].header("authorization")
    if in_form:
        assert (made.form["client_id"], made.form["client_secret"], header) == ("me & co", "pass:word", "")
    else:
        assert base64.b64decode(header.removeprefix("Basic ")) == b"me+%26+co:pass%3Aword"
        assert "client_secret" not in made.form


async def test_a_login_that_cannot_be_kept_is_used_all_the_same(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with provider(authority, tmp_path) as made:
        issued = await issuer(made, authority, Keeper(ConfigError("the disk is full"))).issue()
    assert issued.authorization
    assert "must be made again after a restart: the disk is full" in caplog.text
    assert "refresh-2" not in caplog.text


async def test_without_a_refresh_token_somebody_must_log_in_again(
    authority: Authority, tmp_path: Path
) -> None:
    async with provider(authority, tmp_path) as made:
        with pytest.raises(ConfigError, match="no refresh-token: log in again"):
            await issuer(made, authority, id_token=lasting(-1), refresh_token="").issue()


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            (400, b'{"error": "invalid_grant", "error_description": "hunter2"}'),
            "refused, with HTTP 400: invalid_grant$",
        ),
        ((502, b"<html>hunter2</html>"), "refused, with HTTP 502: an answer that cannot be read$"),
        ((200, b"hunter2"), "refused, with HTTP 200: an answer that cannot be read$"),
        (
            (200, b'{"access_token": "hunter2"}'),
            "without an id-token: it must have been made with scope openid$",
        ),
        ((200, b'{"id_token": "hunter2"}'), "must be a JSON Web Token"),
        ((302, b""), "refused, with HTTP 302"),
    ],
)
async def test_a_refusal_is_told_by_its_code_only(
    authority: Authority, tmp_path: Path, refusal: tuple[int, bytes], said: str
) -> None:
    async with provider(authority, tmp_path) as made:
        made.refusal = refusal
        with pytest.raises(ConfigError, match=said) as caught:
            await issuer(made, authority).issue()
    assert "hunter2" not in str(caught.value)


async def test_a_provider_must_prove_who_it_is(authority: Authority, tmp_path: Path) -> None:
    async with provider(authority, tmp_path) as made:
        with pytest.raises(
            ConfigError, match=r"cannot be reached: .*certificate.*; set certificate-authority"
        ) as caught:
            await issuer(made, None).issue()
    assert caught.value.__cause__ is None
    assert made.asked == []


@pytest.mark.parametrize("proxy", ["ftp://me:hunter2@proxy", "http://proxy:hunter"])
async def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ConfigError, match="the proxy that the environment names for the identity") as caught:
        await OidcIssuer(Oidc("https://idp", "me", refresh_token="r"), Keeper(), FakeClock(BEGIN)).issue()
    assert "hunter2" not in str(caught.value)


async def test_a_provider_on_this_machine_is_asked_without_a_proxy(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    async with provider(authority, tmp_path) as made:
        await issuer(made, authority).issue()
    assert [asked.path for asked in made.asked] == ["/token"]


async def test_secrets_are_not_sent_in_the_clear(authority: Authority, tmp_path: Path) -> None:
    async with provider(authority, tmp_path) as made:
        made.endpoint = "http://127.0.0.1:1/token"
        with pytest.raises(ConfigError, match=r"the token_endpoint of .* must be a URL like 'https:"):
            await issuer(made, authority).issue()


async def test_a_provider_that_says_nothing_is_given_up_on_and_can_be_cancelled(
    authority: Authority, tmp_path: Path
) -> None:
    clock, connected = FakeClock(BEGIN), anyio.Event()

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        connected.set()
        await anyio.sleep_forever()

    async with listening(handle, authority.server(tmp_path, "127.0.0.1")) as port:
        made = Provider()
        made.port = port
        asking = issuer(made, authority, clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asking.issue)
            await connected.wait()
            tasks.cancel_scope.cancel()
        assert clock.next_timer is None
        connected = anyio.Event()
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(ConfigError, match="did not answer within 30 s"):
                    await asking.issue()

            tasks.start_soon(ask)
            await connected.wait()
            await clock.advance(30)


@pytest.mark.parametrize(
    "text", ["", "hunter2", "a.b", "a.b.c.d", "a.hunter2.c", "a.e30=.c.", f"a.{'W10'}.c", token(1e300)]
)
def test_what_is_no_id_token_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigError, match="must be a JSON Web Token") as caught:
        expiry_of(text)
    assert "hunter2" not in str(caught.value)


def test_a_token_need_not_say_when_it_ends() -> None:
    assert expiry_of(token(sub="a?b>c~")) is None
