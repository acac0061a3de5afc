"""A real etcd for tests: one that is running already, or one that lives as long as the tests."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.certificates import Authority

__all__ = ["ENDPOINT", "needs_grpc", "running_or_skipped", "secured_or_skipped"]

ENDPOINT = "KINFORMER_ETCD_ENDPOINT"
"""The variable that names an etcd to be used instead, as host:port; tests write into it below keys of their own."""
PATIENCE = 15.0
_kept: list[object] = []


def needs_grpc() -> None:
    """Skip without the extra. To be called by whatever opens a connection.

    What gRPC shares between connections stays open from then on. It would be closed some time after the last one, when
    another test is counting descriptors.
    """
    grpc_aio = pytest.importorskip("grpc.aio", reason="needs the extra etcd")
    if not _kept:
        grpc_aio.init_grpc_aio()
        _kept.append(grpc_aio)


@contextmanager
def running_or_skipped(folder: Path) -> Iterator[str]:
    """Where a real etcd listens; without one, or without the extra, the test is skipped."""
    needs_grpc()
    if ENDPOINT not in os.environ and shutil.which("etcd") is None:
        pytest.skip(f"needs etcd on the path, or one that {ENDPOINT} names")
    with running(folder) as endpoint:
        yield endpoint


@contextmanager
def secured_or_skipped(folder: Path, authority: "Authority") -> Iterator[str]:
    """Where a real etcd listens over TLS, to whom the authority has signed a certificate; it is started for this."""
    needs_grpc()
    if shutil.which("etcd") is None:
        pytest.skip("needs etcd on the path")
    certificate, key = authority.sign("etcd", "127.0.0.1").write(folder, "etcd")
    ca = folder / "ca.pem"
    ca.write_text(authority.pem)
    files = ("--cert-file", certificate, "--key-file", key, "--trusted-ca-file", str(ca))
    with started(folder, "https", *files, "--client-cert-auth") as endpoint:
        yield endpoint


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Where it listens, with its data in a folder where it was started for this."""
    if ENDPOINT in os.environ:
        yield os.environ[ENDPOINT]
        return
    with started(folder, "http") as endpoint:
        yield endpoint


@contextmanager
def started(folder: Path, scheme: str, *options: str) -> Iterator[str]:
    client, peer = (f"127.0.0.1:{port}" for port in free_ports(2))
    command = [
        *("etcd", "--name", "kinformer", "--data-dir", str(folder / "etcd")),
        *("--listen-client-urls", f"{scheme}://{client}", "--advertise-client-urls", f"{scheme}://{client}"),
        *("--listen-peer-urls", f"http://{peer}", "--initial-advertise-peer-urls", f"http://{peer}"),
        *("--initial-cluster", f"kinformer=http://{peer}", "--log-level", "error", *options),
    ]
    with (folder / "etcd.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait_for(client, process)
            yield client
        finally:
            process.kill()


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = []
    for each in sockets:
        with closing(each):
            ports.append(each.getsockname()[1])
    return ports


def wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until it listens, which it does once it has a leader."""
    host, _, port = address.partition(":")
    deadline = time.monotonic() + PATIENCE  # noqa: TID251 -- it lives in real time
    while time.monotonic() < deadline and process.poll() is None:  # noqa: TID251
        try:
            socket.create_connection((host, int(port)), 0.1).close()
        except OSError:
            time.sleep(0.02)  # noqa: TID251
        else:
            return
    raise RuntimeError(f"etcd did not come up at {address}; see etcd.log in its folder")
