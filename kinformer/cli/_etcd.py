"""The etcd that ``--storage`` names: its address is an argument, and what it must be shown is in the environment."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from kinformer.cli._complaint import Complaint
from kinformer.cli._extras import require

if TYPE_CHECKING:
    from kinformer.apiserver.storage.etcd import EtcdKV, EtcdTls, EtcdUser

__all__ = ["access", "etcd_storage"]

_SECURE: Final = "etcds://"


@asynccontextmanager
async def etcd_storage(address: str, environ: Mapping[str, str] | None = None) -> "AsyncIterator[EtcdKV]":
    """Have an etcd as storage until the block ends.

    The variables are those of ``etcdctl``: ``ETCDCTL_CACERT``, ``ETCDCTL_CERT`` and ``ETCDCTL_KEY`` name files,
    ``ETCDCTL_USER`` is a name, or name and password with a colon between, and ``ETCDCTL_PASSWORD`` the password.

    Args:
        address: ``host:port``, or ``etcds://host:port`` where it speaks TLS.
        environ: The environment; by default that of the process.

    Raises:
        Complaint: The extra is missing, a file cannot be read, the variables do not fit together, or the etcd cannot be
            reached.
    """
    require("etcd", "grpc", "google")
    from kinformer.apiserver.storage import UnavailableError
    from kinformer.apiserver.storage.etcd import EtcdKV

    endpoint, tls, user = access(address, os.environ if environ is None else environ)
    async with AsyncExitStack() as resources:
        try:
            storage = await resources.enter_async_context(EtcdKV(endpoint, tls=tls, user=user))
            await storage.revision()
        except OSError as error:
            raise Complaint(f"{error.filename}: {error.strerror}") from error
        except UnavailableError as error:
            raise Complaint(str(error)) from error
        yield storage


def access(address: str, environ: Mapping[str, str]) -> "tuple[str, EtcdTls | None, EtcdUser | None]":
    """The endpoint, how to trust it and whom to log in as.

    Raises:
        Complaint: The variables do not fit together.
    """
    from kinformer.apiserver.storage.etcd import EtcdTls, EtcdUser

    ca, certificate, key = (environ.get(f"ETCDCTL_{name}") or None for name in ("CACERT", "CERT", "KEY"))
    name, colon, password = environ.get("ETCDCTL_USER", "").partition(":")
    endpoint = address.removeprefix(_SECURE)
    try:
        tls = EtcdTls(ca, certificate, key) if endpoint != address else None
    except ValueError as error:
        raise Complaint(f"ETCDCTL_CERT and ETCDCTL_KEY: {error}") from error
    user = EtcdUser(name, password if colon else environ.get("ETCDCTL_PASSWORD", "")) if name else None
    return endpoint, tls, user
