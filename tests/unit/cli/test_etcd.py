"""The etcd that ``--storage`` names, and the variables that go with it."""

import pytest

pytest.importorskip("grpc", reason="needs the extra etcd")

from kinformer.apiserver.storage.etcd import EtcdTls, EtcdUser
from kinformer.cli._complaint import Complaint
from kinformer.cli._etcd import access, etcd_storage
from tests.etcd import free_ports, needs_grpc

needs_grpc()


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"ETCDCTL_CERT": "c.pem"}, "ETCDCTL_CERT and ETCDCTL_KEY: key is missing"),
        ({"ETCDCTL_CACERT": "/none/ca.pem"}, "/none/ca.pem: No such file or directory"),
    ],
)
async def test_variables_that_do_not_fit_are_one_complaint(environ: dict[str, str], text: str) -> None:
    with pytest.raises(Complaint, match=f"^{text}"):
        async with etcd_storage("etcds://127.0.0.1:1", environ):
            pass


@pytest.mark.parametrize(
    ("environ", "user"),
    [
        ({}, None),
        ({"ETCDCTL_USER": "root:secret", "ETCDCTL_PASSWORD": "other"}, EtcdUser("root", "secret")),
        ({"ETCDCTL_USER": "root", "ETCDCTL_PASSWORD": "secret"}, EtcdUser("root", "secret")),
    ],
)
@pytest.mark.parametrize(("address", "tls"), [("here:1", None), ("etcds://here:1", EtcdTls("ca.pem"))])
def test_what_is_shown_comes_from_the_variables_of_etcdctl(
    environ: dict[str, str], user: EtcdUser | None, address: str, tls: EtcdTls | None
) -> None:
    assert access(address, {**environ, "ETCDCTL_CACERT": "ca.pem"}) == ("here:1", tls, user)


async def test_an_etcd_that_is_not_there_is_one_complaint() -> None:
    (port,) = free_ports(1)
    with pytest.raises(Complaint, match=f"etcd at 127.0.0.1:{port}: "):
        async with etcd_storage(f"127.0.0.1:{port}", {}):
            pass
