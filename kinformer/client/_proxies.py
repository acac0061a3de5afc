"""The proxy that the environment names for a server, by the rules that Go and curl have in common.

``HTTPS_PROXY`` or ``HTTP_PROXY``, by the scheme of the server, else ``ALL_PROXY``, in small letters too; not for what
``NO_PROXY`` lists: hosts, which stand for what is below them, also with a port; networks such as ``10.0.0.0/8``; ``*``.
On macOS and Windows the system's settings count where the environment says nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

__all__ = ["Proxy", "environment_proxy", "proxy_for"]


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and which setting names it. As text it is what an error may say of it: no user, no password."""

    url: str = field(repr=False)
    setting: str

    def __str__(self) -> str:
        return f"the proxy {urlsplit(self.url).netloc.rpartition('@')[2]} of {self.setting}"


def proxy_for(url: str, configured: str) -> Proxy | None:
    """The proxy through which a server is reached: the one that its configuration names, else the environment's."""
    if configured:
        return Proxy(configured, "proxy-url (Config.proxy)")
    found = environment_proxy(url)
    if not found:
        return None
    scheme = urlsplit(url).scheme
    return Proxy(found, f"${scheme.upper() if getproxies().get(scheme) else 'ALL'}_PROXY")


def environment_proxy(url: str) -> str:
    """The URL of the proxy through which ``url`` is reached, or ``""`` for none; never one for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_here(host.removesuffix(".")):
        return ""
    settings = getproxies()
    proxy = settings.get(parts.scheme) or settings.get("all", "")
    place = f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    if not proxy or proxy_bypass(place) or _is_within(host, settings.get("no", "").split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_within(host: str, names: Iterable[str]) -> bool:
    """Whether the host is an address in one of the networks among the names; the standard library knows no networks."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    for name in names:
        try:
            if address in ip_network(name.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False
