"""A context of a kubeconfig, turned into a ``Config``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kinformer.client._config import Config
from kinformer.client._credentials import Anonymous
from kinformer.client._issued import IssuedCredentials
from kinformer.client._kubeconfig_fields import fixed_credentials_of, impersonation_of, issuer_of, tls_of
from kinformer.client._kubeconfig_files import choose
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["load"]


async def load(paths: Sequence[Path], context: str, clock: Clock) -> Config:
    """Read the files, and ask whoever issues the credentials; see ``Kubeconfig.load``.

    Raises:
        ConfigError: See there.
    """
    chosen = choose(paths, context)
    cluster, user = chosen.cluster, chosen.user
    url, tls, impersonation = cluster.text("server"), tls_of(cluster, user), impersonation_of(user)
    if not url:
        raise cluster.error("server", "is missing: give a URL")
    credentials = fixed_credentials_of(user)
    issuer = issuer_of(chosen, tls, clock) if credentials is None else None
    where = f"kubeconfig {cluster.path}, context {chosen.name!r}"
    try:
        if issuer is not None:
            credentials = issued = await IssuedCredentials.of(issuer, clock)
            tls = tls if tls.has_certificate else replace(tls, certificates=issued)
        config = Config(
            url,
            credentials or Anonymous(),
            tls,
            proxy=cluster.text("proxy-url"),
            namespace=chosen.context.text("namespace") or "default",
            impersonation=impersonation,
        )
        if config.url.startswith("https:"):
            config.tls.context()
    except (ValueError, ConfigError) as error:
        raise ConfigError(f"{where}: {error}") from error.__cause__
    return config
