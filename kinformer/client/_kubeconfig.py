"""Kubeconfig: a kubeconfig and a context in it, read by kubernetes-asyncio.

Merging of files, exec plugins, OIDC and the rest are that library's work; what is ours is the translation into a
``Config``, the words when something is wrong, and when to ask for a fresh token. The library is imported when a file
is loaded and not before: it takes 0.6 s and 60 MB.
https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from kinformer.client._config import Config, Tls
from kinformer.client._credentials import Anonymous, Credentials
from kinformer.clock import Clock
from kinformer.errors import ConfigError
from kinformer.system_clock import SystemClock

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

__all__ = ["Kubeconfig"]

_logger: Final = logging.getLogger("kinformer.client")

_NO_TEXTS: Final[Mapping[str, tuple[type, str]]] = {
    "as-groups": (list, "a list"),
    "as-user-extra": (dict, "a mapping"),
    "auth-provider": (dict, "a mapping"),
    "disable-compression": (bool, "true or false"),
    "exec": (dict, "a mapping"),
    "extensions": (list, "a list"),
    "insecure-skip-tls-verify": (bool, "true or false"),
}
"""The fields of clusters, contexts and users that are not text (``clientcmd/api/v1``)."""

_LOOK_AGAIN: Final = 60.0
"""Seconds between two looks at whether a token is about to expire."""


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
    def find(cls, environ: Mapping[str, str] = os.environ) -> Self | None:
        """The one that ``$KUBECONFIG`` names, whether it exists or not; else ``~/.kube/config`` if it exists."""
        if named := environ.get("KUBECONFIG"):
            return cls(named)
        usual = Path.home() / ".kube" / "config"
        return cls(usual) if usual.exists() else None

    async def load(self, *, clock: Clock | None = None) -> Config:
        """Read the files, run the exec plugin if there is one, and say how the cluster is reached.

        Args:
            clock: Tells when to look whether the token must be renewed.

        Raises:
            ConfigError: A file or context is missing or malformed, or the plugin failed; the message names the file,
                the field, and what to do.
        """
        paths = self._paths()
        context = _check(paths, self.context)
        where = f"kubeconfig {', '.join(map(str, paths))}, context {context['name']!r}"

        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger

        loaded = Configuration()
        loaded.host = ""
        try:
            files = KubeConfigMerger(os.pathsep.join(map(str, paths)))
            loader = KubeConfigLoader(
                files.config, context["name"], config_base_path=None, config_persister=files.save_changes
            )
            if loader._user is None:
                loader._user = ConfigNode("nobody", {})  # or it trips over https without a user
            await loader.load_and_set(loaded)
        except Exception as error:  # exec plugins and identity providers fail in ways of their own
            raise ConfigError(f"{where}: {error}") from error
        try:
            config = Config(
                loaded.host,
                _credentials(loader, loaded, clock or SystemClock()),
                Tls(
                    ca_file=loaded.ssl_ca_cert or "",
                    cert_file=loaded.cert_file or "",
                    key_file=loaded.key_file or "",
                    verify=bool(loaded.verify_ssl),
                    server_name=loaded.tls_server_name or "",
                ),
                proxy=loaded.proxy or "",
            )
            config.tls.context()
        except ValueError as error:
            raise ConfigError(f"{where}: field cluster.server: {error}") from error
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        namespace = context["context"].get("namespace")
        return replace(config, namespace=namespace) if namespace else config

    def _paths(self) -> list[Path]:
        found = self if self.path else self.find()
        if found is None:
            raise ConfigError("there is no ~/.kube/config: write one, set KUBECONFIG, or give the path")
        return [Path(part).expanduser() for part in str(found.path).split(os.pathsep) if part]


class _Renewed:
    """A header that the loader renews: exec plugins, OIDC, token files.

    It is looked at once a minute and whenever the server has refused it; requests that come meanwhile use the old one.
    A renewal that fails is logged, and the server has the last word on the old header.
    """

    def __init__(self, loader: "KubeConfigLoader", configuration: "Configuration", clock: Clock) -> None:
        self._loader = loader
        self._configuration = configuration
        self._clock = clock
        self._look_at = clock.monotonic() + _LOOK_AGAIN

    async def authorization(self, *, rejected: str = "") -> str:
        """The present header."""
        present = self._header()
        if present == rejected or self._clock.monotonic() >= self._look_at:
            self._look_at = self._clock.monotonic() + _LOOK_AGAIN
            if present == rejected and hasattr(self._loader, "exec_plugin_expiry"):
                del self._loader.exec_plugin_expiry  # so that the plugin runs although its token looks young
            try:
                await self._loader.load_and_set(self._configuration)
            except Exception as error:  # noqa: BLE001 -- exec plugins and identity providers fail in ways of their own
                _logger.warning("the credentials of the kubeconfig could not be renewed: %s", error)
        return self._header()

    def _header(self) -> str:
        return str(self._configuration.api_key.get("BearerToken", ""))

    def __repr__(self) -> str:
        return "<credentials of a kubeconfig>"


def _credentials(loader: "KubeConfigLoader", configuration: "Configuration", clock: Clock) -> Credentials:
    has_token = "BearerToken" in configuration.api_key
    return _Renewed(loader, configuration, clock) if has_token else Anonymous()


def _check(paths: list[Path], wanted: str) -> dict[str, Any]:
    """Read the files the plain way, to say in good words what is wrong with them; return the wanted context.

    The first file wins in ``current-context`` and in each name, as in ``clientcmd``.
    """
    import yaml

    found: dict[str, dict[str, tuple[Path, dict[str, Any]]]] = {"contexts": {}, "clusters": {}, "users": {}}
    current, read = "", []
    for path in paths:
        if not path.exists():
            continue
        try:
            content = yaml.safe_load(path.read_text())
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"kubeconfig {path} cannot be read: {error}") from error
        except yaml.YAMLError as error:
            raise ConfigError(
                f"kubeconfig {path} is not valid YAML: {' '.join(str(error).split())}"
            ) from error
        if not isinstance(content, dict):
            raise ConfigError(f"kubeconfig {path} must be a mapping with clusters, contexts and users")
        read.append(path)
        current = current or str(content.get("current-context") or "")
        for section, names in found.items():
            for name, entry in _entries(path, content, section):
                names.setdefault(name, (path, entry))
    if not read:
        raise ConfigError(
            f"kubeconfig {', '.join(map(str, paths))} does not exist: correct the path or $KUBECONFIG"
        )
    where = f"kubeconfig {', '.join(map(str, read))}"
    name = wanted or current
    if not name:
        raise ConfigError(f"{where}: current-context is not set: set it, or name a context")
    if name not in found["contexts"]:
        known = ", ".join(sorted(found["contexts"])) or "none"
        field = "context" if wanted else "current-context"
        raise ConfigError(f"{where}: {field} {name!r} is not among the contexts there: {known}")
    path, context = found["contexts"][name]
    _check_types(path, f"contexts[{name}].context", context["context"])
    cluster = context["context"].get("cluster")
    if cluster not in found["clusters"]:
        known = ", ".join(sorted(found["clusters"])) or "none"
        raise ConfigError(
            f"kubeconfig {path}: contexts[{name}].context.cluster {cluster!r} is not among the clusters: {known}"
        )
    path, entry = found["clusters"][cluster]
    _check_types(path, f"clusters[{cluster}].cluster", entry["cluster"])
    if not entry["cluster"].get("server"):
        raise ConfigError(f"kubeconfig {path}: clusters[{cluster}].cluster.server is missing: give a URL")
    user = context["context"].get("user")
    if user and user not in found["users"]:
        known = ", ".join(sorted(found["users"])) or "none"
        raise ConfigError(
            f"kubeconfig {path}: contexts[{name}].context.user {user!r} is not among the users: {known}"
        )
    if user:
        path, entry = found["users"][user]
        _check_types(path, f"users[{user}].user", entry["user"])
    return context


def _check_types(path: Path, where: str, fields: Mapping[str, Any]) -> None:
    """Refuse what is neither text nor what else it must be; without the value, which may be a secret."""
    for name, value in fields.items():
        kind, word = _NO_TEXTS.get(name, (str, "text"))
        if value is not None and not isinstance(value, kind):
            hint = ": put it in quotes" if kind is str and not isinstance(value, list | dict) else ""
            raise ConfigError(
                f"kubeconfig {path}: {where}.{name} must be {word}, not {type(value).__name__}{hint}"
            )


def _entries(path: Path, content: Mapping[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    """The named entries of a section, each holding a mapping under the section's singular."""
    entries = content.get(section) or []
    if not isinstance(entries, list):
        raise ConfigError(f"kubeconfig {path}: {section} must be a list")
    singular = section[:-1]
    found = []
    for index, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise ConfigError(f"kubeconfig {path}: {section}[{index}] must be a mapping with a name")
        if not isinstance(entry.get(singular) or {}, dict):
            raise ConfigError(f"kubeconfig {path}: {section}[{name}].{singular} must be a mapping")
        found.append((name, {**entry, singular: entry.get(singular) or {}}))
    return found
