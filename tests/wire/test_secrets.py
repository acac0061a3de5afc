"""No secret is shown: not in a repr, a log record, an error, or a frame of ours that an error leads to.

Secrets are planted wherever a configuration can hold one. Then a client lives through all that can go wrong.
"""

import base64
import logging
import traceback
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinformer.client import (
    BasicAuth,
    BearerToken,
    Certificate,
    Client,
    Config,
    Kubeconfig,
    Tls,
    TokenFile,
)
from kinformer.errors import ConfigError
from kinformer.meta import Resource
from tests.certificates import Authority
from tests.kubeconfigs import content, plugin, write
from tests.responder import listening, proxying, read_request

pytestmark = pytest.mark.wire

CANARY = "canary7d1f"
BASIC = base64.b64encode(f"me:{CANARY}".encode()).decode()
PODS = Resource.builtin("Pod")
POD = {"metadata": {"name": "a", "namespace": "b"}}
EMPTY = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}'


class Moods:
    """A server that answers in another way each time: refusals, failures, garbage, a lost connection."""

    def __init__(self) -> None:
        self.sent: set[str] = set()
        self._answers = [
            b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 X\r\nContent-Length: %d\r\n\r\n" % len(EMPTY) + EMPTY,
            b"HTTP/1.1 403 X\r\nContent-Length: 2\r\n\r\nno",
            b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{",
            b"garbage\r\n\r\n",
            b"",
        ]
        self._turn = 0

    async def __call__(self, reader: StreamReader, writer: StreamWriter) -> None:
        asked = await read_request(reader, writer)
        self.sent.add(asked.header("authorization"))
        writer.write(self._answers[self._turn % len(self._answers)])
        self._turn += 1
        await writer.drain()


class Shown:
    """All that somebody could come to see."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def error(self, error: BaseException) -> None:
        self.texts.append(f"{error} {error!r}")
        told: traceback.TracebackException | None
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        while told is not None:
            for frame in told.stack:
                if not frame.filename.startswith(str(Path(__file__).parents[1])):
                    self.texts.append(f"{frame.filename}:{frame.lineno} {frame.locals}")
            told = told.__cause__ or (None if told.__suppress_context__ else told.__context__)

    def log(self, records: list[logging.LogRecord]) -> None:
        for record in records:
            self.texts.append(f"{record.getMessage()} {record.__dict__}")

    def check(self) -> None:
        assert self.texts
        for text in self.texts:
            for secret in (CANARY, BASIC, BASIC[:-4], base64.b64encode(CANARY.encode()).decode()):
                assert secret not in text


async def live(config: Config | Kubeconfig, shown: Shown) -> None:
    """Do all kinds of things until each has met all that can happen."""
    client = Client(config, timeout=1.0)
    shown.texts.append(repr(client))
    try:
        async with client:
            pods = client.resource(PODS).without_retries()
            shown.texts += [
                repr(pods),
                repr(client.config),
                str(client.config),
                repr(client.config.credentials),
            ]
            for _ in range(8):
                for use in (
                    pods.list,
                    lambda: pods.create({"metadata": {"name": "a", "namespace": "b"}}),
                    lambda: watch(pods),
                ):
                    try:
                        await use()
                    except Exception as error:  # noqa: BLE001 -- all of them
                        shown.error(error)
    except ConfigError as error:
        shown.error(error)


async def watch(pods: Any) -> None:
    async with pods.watch() as batches:
        async for _ in batches:
            pass


Given = Callable[[Path, str, Authority], Config | Kubeconfig]


def bearer(folder: Path, url: str, authority: Authority) -> Config:
    return Config(url, BearerToken(CANARY), Tls(ca_data=authority.pem))


def basic(folder: Path, url: str, authority: Authority) -> Config:
    return Config(url, BasicAuth("me", CANARY), Tls(ca_data=authority.pem))


def token_file(folder: Path, url: str, authority: Authority) -> Config:
    (folder / "token").write_text(CANARY)
    return Config(url, TokenFile(folder / "token"), Tls(ca_data=authority.pem))


def token_with_a_line_break(folder: Path, url: str, authority: Authority) -> Config:
    return Config(url, BearerToken(f"{CANARY}\n"), Tls(ca_data=authority.pem))


def certificate(folder: Path, url: str, authority: Authority) -> Config:
    pair = authority.sign("me")
    return Config(
        url, tls=Tls(ca_data=authority.pem, certificates=Certificate(pair.chain, f"{CANARY}\n{pair.key}"))
    )


def no_certificate(folder: Path, url: str, authority: Authority) -> Config:
    return Config(url, tls=Tls(ca_data=authority.pem, certificates=Certificate("x", CANARY)))


def in_file(folder: Path, url: str, authority: Authority, **user: Any) -> Kubeconfig:
    made = content(**user)
    ca = base64.b64encode(authority.pem.encode()).decode()
    made["clusters"][0]["cluster"] = {"server": url, "certificate-authority-data": ca}
    return write(folder / "config", made)


def token_in_a_file(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    return in_file(folder, url, authority, token=CANARY)


def exec_plugin(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    made = plugin(folder / "config", None) | {"env": [{"name": "A", "value": CANARY}], "args": [CANARY]}
    script = Path(made["command"])
    script.write_text(script.read_text().replace("token-N", f"{CANARY}-N"))
    return in_file(folder, url, authority, exec=made)


def exec_plugin_that_fails(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    text = 'echo "$A $1" >&2; echo "$A"; exit 1'
    made = plugin(folder / "config", None) | {"env": [{"name": "A", "value": CANARY}], "args": [CANARY]}
    Path(made["command"]).write_text(f"#!/bin/sh\n{text}\n")
    return in_file(folder, url, authority, exec=made)


def exec_plugin_that_babbles(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    made = plugin(folder / "config", None)
    Path(made["command"]).write_text(f'#!/bin/sh\necho \'{{"status": "{CANARY}"}}\'\n')
    return in_file(folder, url, authority, exec=made)


def oidc_that_nobody_answers(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    provider = {
        "idp-issuer-url": "https://127.0.0.1:1",
        "client-id": "x",
        "client-secret": CANARY,
        "refresh-token": CANARY,
        "id-token": f"e30.e30.{CANARY}",
    }
    return in_file(folder, url, authority, **{"auth-provider": {"name": "oidc", "config": provider}})


def oidc_with_a_broken_token(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    provider = {"idp-issuer-url": "https://idp", "client-secret": CANARY, "id-token": CANARY}
    return in_file(folder, url, authority, **{"auth-provider": {"name": "oidc", "config": provider}})


def key_that_is_none(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    data = {"client-certificate-data": "eA==", "client-key-data": base64.b64encode(CANARY.encode()).decode()}
    return in_file(folder, url, authority, **data)


def key_that_is_no_base64(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    return in_file(folder, url, authority, **{"client-certificate-data": "eA==", "client-key-data": CANARY})


def password_that_yaml_takes_for_something_else(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    return write(folder / "config", f"users:\n- name: u\n  user:\n    password: *{CANARY}\n")


def two_ways_in(folder: Path, url: str, authority: Authority) -> Kubeconfig:
    return in_file(folder, url, authority, token=CANARY, password=CANARY)


async def live_with(config: Config | Kubeconfig, caplog: pytest.LogCaptureFixture) -> None:
    """Do all of it with everything logged, and look at what is shown."""
    caplog.set_level("DEBUG")
    shown = Shown()
    await live(config, shown)
    shown.log(caplog.records)
    shown.check()


@pytest.mark.parametrize("trusts", [True, False], ids=["trusted", "not trusted"])
@pytest.mark.parametrize("given", [bearer, basic, token_file, token_in_a_file, exec_plugin, certificate])
async def test_what_lets_us_in_is_not_shown(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture, given: Given, trusts: bool
) -> None:
    moods = Moods()
    async with listening(moods, authority.server(tmp_path, "127.0.0.1")) as port:
        trusted = authority if trusts else Authority("another")
        await live_with(given(tmp_path, f"https://127.0.0.1:{port}", trusted), caplog)
    sent = {text for text in moods.sent if CANARY in text or BASIC in text}
    assert bool(sent) is (trusts and given is not certificate)


@pytest.mark.parametrize(
    "given",
    [
        token_with_a_line_break,
        no_certificate,
        exec_plugin_that_fails,
        exec_plugin_that_babbles,
        oidc_that_nobody_answers,
        oidc_with_a_broken_token,
        key_that_is_none,
        key_that_is_no_base64,
        password_that_yaml_takes_for_something_else,
        two_ways_in,
    ],
)
async def test_what_cannot_be_used_is_not_shown(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture, given: Given
) -> None:
    await live_with(given(tmp_path, "https://127.0.0.1:1", authority), caplog)


async def test_the_password_of_a_proxy_is_not_shown(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    moods = Moods()
    async with (
        listening(moods, authority.server(tmp_path, "127.0.0.1")) as port,
        proxying(password=BASIC) as (proxy_port, places),
    ):
        for password in (CANARY, f"{CANARY}-wrong"):
            proxy = f"http://me:{password}@127.0.0.1:{proxy_port}"
            config = Config(
                f"https://127.0.0.1:{port}", BearerToken(CANARY), Tls(ca_data=authority.pem), proxy
            )
            await live_with(config, caplog)
    assert len(places) > 10
    assert f"Bearer {CANARY}" in moods.sent
