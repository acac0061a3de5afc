"""A real etcd that demands certificates and a user."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("grpc", reason="needs the extra etcd")

import grpc.aio

from kinformer.apiserver.storage import KeyRange, UnavailableError
from kinformer.apiserver.storage.etcd import EtcdKV, EtcdTls, EtcdUser
from kinformer.apiserver.storage.etcd._messages import MESSAGES
from tests.etcd import secured_or_skipped

if TYPE_CHECKING:
    from tests.certificates import Authority

pytestmark = pytest.mark.wire


@pytest.mark.parametrize(
    ("options", "missing"),
    [({"certificate": "c.pem"}, "key"), ({"ca": "ca.pem", "key": "k.pem"}, "certificate")],
)
def test_a_certificate_is_shown_with_its_key(options: dict[str, str], missing: str) -> None:
    with pytest.raises(ValueError, match=f"^{missing} is missing"):
        EtcdTls(**options)


def test_no_password_is_printed() -> None:
    assert repr(EtcdUser("root", "secret")) == "EtcdUser(name='root')"


async def test_files_are_read_when_it_is_entered(tmp_path: Path) -> None:
    kv = EtcdKV("127.0.0.1:1", tls=EtcdTls(ca=tmp_path / "ca.pem"))
    with pytest.raises(FileNotFoundError):
        await kv.__aenter__()


async def test_an_etcd_is_reached_with_certificates_and_a_user(
    tmp_path: Path, authority: "Authority"
) -> None:
    with secured_or_skipped(tmp_path, authority) as endpoint:
        certificate, key = authority.sign("kinformer").write(tmp_path, "client")
        tls = EtcdTls(tmp_path / "ca.pem", certificate, key)
        async with EtcdKV(endpoint, tls=EtcdTls(tmp_path / "ca.pem")) as nobody:
            with pytest.raises(UnavailableError):
                await nobody.revision()
        async with EtcdKV(endpoint, tls=tls) as trusted:
            await trusted.put("/a", b"1")
            await demand_a_user(tls, endpoint)
            with pytest.raises(UnavailableError):
                await trusted.get("/a")
        async with EtcdKV(endpoint, tls=tls, user=EtcdUser("root", "wrong")) as stranger:
            with pytest.raises(UnavailableError, match="authentication failed"):
                await stranger.revision()
        async with EtcdKV(endpoint, tls=tls, user=EtcdUser("root", "secret")) as kv:
            async with kv.watch(KeyRange.prefix("/"), 0) as watch:
                watch.request_progress()
                await anext(watch)
                kv._calls._token = "forgotten"  # as a token is after some minutes
                assert (await kv.put("/a", b"2")).version == 2
                assert [change.key for change in (await anext(watch)).changes] == ["/a"]
            kv._calls._token = "forgotten"
            async with kv.watch(KeyRange.prefix("/"), 2) as watch:  # which is opened again with another
                assert (await anext(watch)).changes


async def demand_a_user(tls: EtcdTls, endpoint: str) -> None:
    """What ``etcdctl user add``, ``role add``, ``user grant-role`` and ``auth enable`` do."""
    pair, nothing = MESSAGES["AuthenticateRequest"], MESSAGES["StatusRequest"]
    steps: list[tuple[str, Any]] = [
        ("UserAdd", pair(name="root", password="secret")),
        ("RoleAdd", pair(name="root")),
        ("UserGrantRole", pair(name="root", password="root")),
        ("AuthEnable", nothing()),
    ]
    async with grpc.aio.secure_channel(endpoint, tls.credentials()) as channel:
        for method, message in steps:
            call = channel.unary_unary(
                f"/etcdserverpb.Auth/{method}",
                request_serializer=lambda sent: sent.SerializeToString(),
                response_deserializer=MESSAGES["StatusResponse"].FromString,
            )
            await call(message)
