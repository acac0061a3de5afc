"""How an etcd is reached where it does not trust everybody: TLS, and a user."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

__all__ = ["EtcdTls", "EtcdUser"]


@dataclass(frozen=True, slots=True)
class EtcdTls:
    """What to trust, and what to show, in files of PEM. They are read when the storage is entered.

    Attributes:
        ca: Who may have signed the certificate of the etcd; ``None`` takes the authorities that gRPC trusts.
        certificate: A certificate to show, with those that lead to its authority; ``None`` shows none.
        key: The key of that certificate.
    """

    ca: Path | str | None = None
    certificate: Path | str | None = None
    key: Path | str | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) is not (self.key is None):
            missing = "key" if self.key is None else "certificate"
            raise ValueError(f"{missing} is missing: a certificate is shown together with its key")

    def credentials(self) -> Any:
        """Credentials for a channel.

        Raises:
            OSError: A file cannot be read.
        """
        ca, certificate, key = (
            None if path is None else Path(path).read_bytes()
            for path in (self.ca, self.certificate, self.key)
        )
        return grpc.ssl_channel_credentials(ca, key, certificate)


@dataclass(frozen=True, slots=True)
class EtcdUser:
    """A user of an etcd that demands one, as ``etcdctl auth enable`` makes it do."""

    name: str
    password: str = field(repr=False)
