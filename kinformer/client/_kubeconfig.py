"""Kubeconfig: a kubeconfig and a context in it, turned into a ``Config``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from kinformer.client._config import Config
from kinformer.client._credentials import Anonymous
from kinformer.client._issued import IssuedCredentials
from kinformer.client._kubeconfig_fields import fixed_credentials_of, impersonation_of, issuer_of, tls_of
from kinformer.client._kubeconfig_files import choose
from kinformer.clock import Clock
from kinformer.errors import ConfigError
from kinformer.system_clock import SystemClock

__all__ = ["Kubeconfig"]


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Which kubeconfig, and which context in it.

    Attributes:
        path: The file, or several with the system's path separator between them; the first one wins in what they have
            in common. ``""`` means ``$KUBECONFIG``, else ``~/.kube/config``.
        context: The context's name; ``""`` means the current one.
    """

    path: str | Path = ""
    context: str = ""

    @classmethod
    def find(cls, environ: Mapping[str, str] | None = None) -> Self | None:
        """The one that ``$KUBECONFIG`` names, whether it exists or not; else ``~/.kube/config`` if it exists."""
        if named := (os.environ if environ is None else environ).get("KUBECONFIG"):
            return cls(named)
        try:
            usual = Path.home() / ".kube" / "config"
        except RuntimeError:  # as for a user without a name, such as pods may have
            return None
        return cls(usual) if os.path.exists(usual) else None  # noqa: PTH110 -- pathlib raises where it may not look

    async def load(self, *, clock: Clock | None = None) -> Config:
        """Read the files, run the exec plugin or ask the identity provider if there is one, and say what came out.

        What is read later, and not now: token files, certificates in files, and new credentials of a plugin or provider.

        Args:
            clock: Tells how long a plugin or provider may take, and when to ask it again.

        Raises:
            ConfigError: A file or context is missing or malformed, or the plugin failed; the message names the file,
                the field, and what to do.
        """
        try:
            return await self._load(clock or SystemClock())
        except ConfigError as error:
            # Its traceback begins here: the frames below hold secrets, which some tools show.
            raise error.with_traceback(None)  # noqa: B904 -- its own cause stays

    async def _load(self, clock: Clock) -> Config:
        chosen = choose(self._paths(), self.context)
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

    def _paths(self) -> list[Path]:
        found = self if self.path else self.find()
        if found is None:
            raise ConfigError("there is no ~/.kube/config: write one, set KUBECONFIG, or give the path")
        try:
            return [Path(part).expanduser() for part in str(found.path).split(os.pathsep) if part]
        except RuntimeError as error:  # a user without a home, or nobody of that name
            raise ConfigError(f"kubeconfig {found.path} cannot be found: {error}") from error
