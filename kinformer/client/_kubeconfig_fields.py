"""What the fields of a kubeconfig's cluster and user mean.

The rules are client-go's (``clientcmd``), but for one: credentials are sent to ``http`` servers too.
"""

import base64
import os
from functools import partial
from pathlib import Path
from typing import Any

from kinformer.client._credentials import BasicAuth, BearerToken, Credentials, TokenFile, fits_header
from kinformer.client._exec_issuer import ExecIssuer
from kinformer.client._exec_plugin import EXTENSION, ExecPlugin
from kinformer.client._gcp import GcpIssuer
from kinformer.client._impersonation import Impersonation
from kinformer.client._issuer import Issuer
from kinformer.client._kubeconfig_files import Chosen, Entry, keep
from kinformer.client._oidc import Oidc, OidcIssuer, check_url
from kinformer.client._tls import Certificate, Tls
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["fixed_credentials_of", "impersonation_of", "issuer_of", "tls_of"]


def tls_of(cluster: Entry, user: Entry) -> Tls:
    certificate = _certificate(user)
    return Tls(
        ca_file=cluster.file("certificate-authority"),
        ca_data=cluster.data("certificate-authority-data"),
        cert_file=user.file("client-certificate") if certificate is None else "",
        key_file=user.file("client-key") if certificate is None else "",
        verify=not cluster.flag("insecure-skip-tls-verify"),
        server_name=cluster.text("tls-server-name"),
        certificates=certificate,
    )


def _certificate(user: Entry) -> Certificate | None:
    """The client certificate, if a part of it stands in the kubeconfig itself; what does so wins over a file."""
    chain, key = user.data("client-certificate-data"), user.data("client-key-data")
    chain_file, key_file = user.file("client-certificate"), user.file("client-key")
    for name, has_one, has_other in (
        ("client-key", chain or chain_file, key or key_file),
        ("client-certificate", key or key_file, chain or chain_file),
    ):
        if has_one and not has_other:
            raise user.error(name, f"or {name}-data must be there, beside the other half of the pair")
    if not chain and not key:
        return None
    return Certificate(
        chain or _read(user, "client-certificate", chain_file), key or _read(user, "client-key", key_file)
    )


def _read(user: Entry, name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # the latter: a path with NUL, or what is no UTF-8
        raise user.error(name, f"cannot be read: {error}") from error


def fixed_credentials_of(user: Entry) -> Credentials | None:
    """Credentials that nobody has to be asked for; where there are any, plugins and providers are not asked."""
    token, token_file = user.text("token"), user.file("tokenFile")
    username, password = user.text("username"), user.text("password")
    if (token or token_file) and (username or password):
        raise user.error("token", "and username are both set: only one way to be let in can be used")
    if token_file:  # it may change, so it counts before the token
        try:
            return TokenFile(token_file)
        except ConfigError as error:
            raise user.error("tokenFile", f"cannot be used: {error}") from error
    if token:
        if not fits_header(token):
            raise user.error("token", "must be one line of ASCII letters")
        return BearerToken(token)
    return BasicAuth(username, password) if username or password else None


def issuer_of(chosen: Chosen, tls: Tls, clock: Clock) -> Issuer | None:
    plugin, provider = chosen.user.mapping("exec"), chosen.user.mapping("auth-provider")
    if plugin and provider:
        raise chosen.user.error("exec", "and auth-provider are both set: only one of them can be asked")
    if plugin:
        if tls.has_certificate:
            return None
        return ExecIssuer(_exec_plugin(chosen.user, plugin, chosen.cluster), clock)
    return _auth_provider(chosen.user, provider, clock) if provider else None


def _exec_plugin(user: Entry, plugin: Entry, cluster: Entry) -> ExecPlugin:
    command = plugin.text("command")
    if os.path.dirname(command):  # noqa: PTH120 -- "./plugin" has one, and pathlib drops the dot
        command = plugin.file("command")
    try:
        return ExecPlugin.of(plugin.fields, command=command, cluster=_told(cluster))
    except ConfigError as error:  # it begins with "exec"
        raise ConfigError(f"kubeconfig {user.path}: {user.where}.{error}") from None


def _told(cluster: Entry) -> dict[str, Any]:
    """What a plugin hears about the cluster (``clientauthentication.Cluster``)."""
    ca_data = cluster.text("certificate-authority-data")
    if not ca_data and (ca_file := cluster.file("certificate-authority")):
        ca_data = base64.b64encode(_read(cluster, "certificate-authority", ca_file).encode()).decode()
    extensions = cluster.mappings("extensions")
    config = [each.get("extension") for each in extensions if each.get("name") == EXTENSION]
    told = {
        "server": cluster.text("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
        "certificate-authority-data": ca_data,
        "proxy-url": cluster.text("proxy-url"),
        "config": config[0] if config else None,
    }
    return {name: value for name, value in told.items() if value}


def _auth_provider(user: Entry, provider: Entry, clock: Clock) -> Issuer:
    name, config = provider.text("name"), provider.mapping("config") or Entry(provider.path, provider.where)
    if name == "gcp":
        return GcpIssuer(config.text("cmd-path"), config.text("cmd-args"), clock)
    if name != "oidc":
        raise provider.error("name", f"{name!r} must be oidc or gcp: use an exec plugin instead")
    issuer = config.text("idp-issuer-url")
    check_url(f"kubeconfig {config.path}: {config.where}.idp-issuer-url", issuer)
    oidc = Oidc(
        issuer,
        config.text("client-id"),
        config.text("client-secret"),
        config.text("id-token"),
        config.text("refresh-token"),
        Tls(config.file("idp-certificate-authority"), config.data("idp-certificate-authority-data")),
    )
    return OidcIssuer(oidc, partial(keep, user), clock)


def impersonation_of(user: Entry) -> Impersonation | None:
    extra = user.mapping("as-user-extra")
    values = {name: extra.texts(name) for name in extra.fields} if extra else {}
    name, uid, groups = user.text("as"), user.text("as-uid"), user.texts("as-groups")
    if not (name or uid or groups or values):
        return None
    try:
        return Impersonation(name, uid, groups, values)
    except ValueError as error:
        raise user.error("as", f"cannot be used: {error}") from None
