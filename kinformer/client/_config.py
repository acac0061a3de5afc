"""Config: where a cluster is and how to be let in; and the rule that finds one.

Nothing here appears in a ``repr`` that should not appear in a log.
"""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from kinformer.client._credentials import Anonymous, Credentials, TokenFile
from kinformer.errors import ConfigError

__all__ = ["SERVICE_ACCOUNT", "Config", "Tls", "load_config"]

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token, CA and namespace."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How the server proves who it is, and how we do with a certificate.

    Attributes:
        ca_file: PEM file of the authorities to trust; ``""`` means those of the machine, unless ``ca_data`` is given.
        ca_data: The same as PEM text.
        cert_file: PEM file of our own certificate, ``""`` for none.
        key_file: PEM file of its key; may be ``""`` where ``cert_file`` holds both.
        verify: Whether the server must prove itself. Without, anybody can read the credentials.
        server_name: The name that the server's certificate must have, where it is not the host of the URL.
    """

    ca_file: str = ""
    ca_data: str = ""
    cert_file: str = ""
    key_file: str = ""
    verify: bool = True
    server_name: str = ""

    def context(self) -> ssl.SSLContext:
        """Read the files into a context.

        Raises:
            ConfigError: A file is missing, or is no PEM file of the right content; the message has its name.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca_file or None, cadata=self.ca_data or None)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            where = f"file {self.ca_file}" if self.ca_file else "data"
            raise ConfigError(f"certificate-authority {where} cannot be used: {error}") from error
        # Python 3.13 turned this on. Go does not ask for it, and many a cluster's own CA does not comply.
        context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.cert_file:
            try:
                context.load_cert_chain(self.cert_file, self.key_file or None)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"client-certificate file {self.cert_file} with client-key file "
                    f"{self.key_file or self.cert_file} cannot be used: {error}"
                ) from error
        return context


@dataclass(frozen=True, slots=True)
class Config:
    """All that a client must know of a cluster.

    Args:
        url: ``http`` or ``https``, host, and port or path where needed.
        credentials: Who we are.
        tls: For ``https`` only.
        proxy: URL of a proxy; ``""`` means what the environment says (``HTTPS_PROXY``, ``NO_PROXY``), which is never
            asked for a server on this machine.
        namespace: The namespace of the pod or of the kubeconfig's context: for people's tools. No request is sent
            there unless it says so.

    Raises:
        ValueError: The URL is no such URL, or has a user, a query or a fragment in it.
    """

    url: str
    credentials: Credentials = field(default_factory=Anonymous)
    tls: Tls = field(default_factory=Tls)
    proxy: str = field(default="", repr=False)  # it may hold a password
    namespace: str = "default"

    def __post_init__(self) -> None:
        import httpx  # only where there is a server to speak to: it is a third of what "import kinformer" would cost

        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
            usable = usable and bool(
                httpx.URL(self.url).host
            )  # which also sees that the host can be looked up
        except (ValueError, httpx.InvalidURL):
            usable = False
        if not usable:
            raise ValueError("the server's url must be like 'https://host:6443'" + _shown(self.url))
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("the server's url must have no user, query or fragment: use credentials=")
        object.__setattr__(self, "url", self.url.rstrip("/"))

    @classmethod
    def in_cluster(
        cls, *, environ: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT
    ) -> Self:
        """The configuration that every pod is given (``rest.InClusterConfig``).

        Raises:
            ConfigError: This is no pod, or it has no service account token.
        """
        host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            missing = "KUBERNETES_SERVICE_HOST" if not host else "KUBERNETES_SERVICE_PORT"
            raise ConfigError(f"not in a cluster: {missing} is not set")
        try:
            credentials = TokenFile(service_account / "token")
        except ConfigError as error:
            raise ConfigError(f"in a cluster, but {error}; is automountServiceAccountToken false?") from error
        ca_file = service_account / "ca.crt"
        try:
            namespace = (service_account / "namespace").read_text().strip()
        except (OSError, UnicodeDecodeError):
            namespace = ""
        return cls(
            f"https://{f'[{host}]' if ':' in host else host}:{port}",
            credentials,
            Tls(ca_file=str(ca_file) if ca_file.exists() else ""),
            namespace=namespace or "default",
        )


async def load_config(
    *, environ: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT
) -> Config:
    """Find the cluster as ``Client()`` does: in-cluster, else the kubeconfig's current context.

    Raises:
        ConfigError: There is neither; the message says what was tried. Or the kubeconfig that was found is wrong.
    """
    from kinformer.client._kubeconfig import Kubeconfig

    try:
        return Config.in_cluster(environ=environ, service_account=service_account)
    except ConfigError as error:
        outside = error
    kubeconfig = Kubeconfig.find(environ)
    if kubeconfig is None:
        raise ConfigError(
            f"no cluster to talk to: {outside}; $KUBECONFIG is not set, and there is no ~/.kube/config. "
            "Set KUBECONFIG to the path of a kubeconfig, or give the client a URL or a Config"
        ) from outside
    return await kubeconfig.load()


def _shown(url: str) -> str:
    """The offending URL, unless it may hold a password."""
    return "" if "@" in url else f", not {url!r}"
