"""Config: where a cluster is and how to be let in; and the rule that finds one.

Nothing here appears in a ``repr`` that should not appear in a log.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

from kinformer.client._credentials import Anonymous, Credentials, TokenFile
from kinformer.client._impersonation import Impersonation
from kinformer.client._tls import Tls
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["SERVICE_ACCOUNT", "Config", "load_config"]

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token, CA and namespace."""


_PROXIES: Final = ("http", "https", "socks5", "socks5h")
"""The schemes of proxies; the last two need ``httpx[socks]``."""

_NAME: Final = re.compile(r"[\w:-][\w.:-]*", re.ASCII)
"""Names and addresses as certificates have them."""


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
        impersonation: Whom to act as, where that is not who we are.

    Raises:
        ValueError: The URL is no such URL, or has a user, a query or a fragment in it; or the proxy's is none; or
            ``tls.server_name`` could be in no certificate.
    """

    url: str
    credentials: Credentials = field(default_factory=Anonymous)
    tls: Tls = field(default_factory=Tls)
    proxy: str = field(default="", repr=False)  # it may hold a password
    namespace: str = "default"
    impersonation: Impersonation | None = None

    def __post_init__(self) -> None:
        parts = _parts(self.url)
        if parts is None or parts.scheme not in {"http", "https"}:
            raise ValueError("the server's url must be like 'https://host:6443'" + _shown(self.url))
        if parts.username or parts.password or "?" in self.url or "#" in self.url:
            raise ValueError("the server's url must have no user, query or fragment: use credentials=")
        if self.tls.server_name and not _NAME.fullmatch(self.tls.server_name):
            raise ValueError(
                f"tls-server-name must be a name such as 'api.example', not {self.tls.server_name!r}"
            )
        if self.proxy:
            proxy = _parts(self.proxy)
            if proxy is None or proxy.scheme not in _PROXIES:
                raise ValueError(
                    f"the proxy's url must be like 'http://host:3128', with {', '.join(_PROXIES)}"
                    + _shown(self.proxy)
                )
        object.__setattr__(self, "url", self.url.rstrip("/"))

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """What each request says beside its credentials."""
        return self.impersonation.headers if self.impersonation is not None else ()

    @classmethod
    def in_cluster(
        cls, *, environ: Mapping[str, str] | None = None, service_account: Path = SERVICE_ACCOUNT
    ) -> Self:
        """The configuration that every pod is given (``rest.InClusterConfig``).

        Raises:
            ConfigError: This is no pod, or it has no service account token.
        """
        environ = os.environ if environ is None else environ
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
    *,
    environ: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    clock: Clock | None = None,
) -> Config:
    """Find the cluster as ``Client()`` does: in-cluster, else the kubeconfig's current context.

    Args:
        environ: The environment; by default that of the process.
        service_account: Where a pod has its token, CA and namespace.
        clock: As for ``Kubeconfig.load``.

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
    return await kubeconfig.load(clock=clock)


def _parts(url: str) -> SplitResult | None:
    """The parts of a URL that leads to a host."""
    import httpx  # only where there is a server to speak to: it is a third of what "import kinformer" would cost

    try:
        parts = urlsplit(url)
        leads_there = (
            bool(parts.hostname) and parts.port != 0 and bool(httpx.URL(url).host)
        )  # can be looked up
    except (ValueError, httpx.InvalidURL):
        return None
    return parts if leads_there else None


def _shown(url: str) -> str:
    """The offending URL, unless it may hold a password."""
    return "" if "@" in url else f", not {url!r}"
