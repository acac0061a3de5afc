"""Oidc: id-tokens of an identity provider, refreshed when they expire, as a kubeconfig's ``auth-provider`` asks.

What client-go's ``plugin/pkg/client/auth/oidc`` does. kubernetes-asyncio's own does not verify the provider's
certificate, and fails where an authority is given (36.1), so it is not used.
https://openid.net/specs/openid-connect-core-1_0.html#RefreshTokens
"""

import base64
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from urllib.parse import quote_plus, urlsplit

import msgspec

from kinformer.client._issuer import Issued
from kinformer.client._tls import Tls, advice_on
from kinformer.clock import Clock
from kinformer.errors import ConfigError

if TYPE_CHECKING:
    import httpx

__all__ = ["Oidc", "OidcIssuer", "TokenKeeper", "check_url", "expiry_of"]

T = TypeVar("T")

_logger: Final = logging.getLogger("kinformer.client")

_PATIENCE: Final = 30.0
"""Seconds that the identity provider has for both of its answers."""

_DISCOVERY: Final = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class Oidc:
    """What is known about a provider and a login there.

    Attributes:
        issuer: The provider's URL.
        client_id: Who asks.
        client_secret: Its password, ``""`` for none.
        id_token: The present token; ``""`` for none.
        refresh_token: What another one is given for; ``""`` for none.
        tls: How the provider proves who it is.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    tls: Tls = field(default_factory=Tls)


class TokenKeeper(Protocol):
    """Who writes new tokens to where the old ones came from."""

    def __call__(self, *, id_token: str, refresh_token: str) -> None:
        """Keep them. Providers may take each refresh token once only, so that the old one is worth nothing now.

        Raises:
            ConfigError: They could not be kept.
        """


class OidcIssuer:
    """Gives the id-token that there is while it is good, then asks the provider for others."""

    def __init__(self, oidc: Oidc, keep: TokenKeeper, clock: Clock) -> None:
        self._oidc = oidc
        self._keep = keep
        self._clock = clock
        self._given = oidc.id_token
        self._refresh_token = oidc.refresh_token

    async def issue(self) -> Issued:
        """The token that was given, the first time, if it is not over; else another one.

        Raises:
            ConfigError: The provider cannot be asked, or refuses; no token is in the message.
        """
        given, self._given = self._given, ""
        if given:
            expires = expiry_of(given)
            if expires is None or expires > self._clock.now():
                return Issued(f"Bearer {given}", expires=expires)
        if not self._refresh_token:
            raise ConfigError(
                f"{self} must be asked for another id-token, and there is no refresh-token: log in again"
            )
        tokens: _Tokens | None = None
        with self._clock.move_on_after(_PATIENCE):
            tokens = await self._refresh()
        if tokens is None:
            raise ConfigError(f"{self} did not answer within {_PATIENCE:g} s")
        if not tokens.id_token:
            raise ConfigError(
                f"{self} refreshed the login without an id-token: it must have been made with scope openid"
            )
        self._refresh_token = tokens.refresh_token or self._refresh_token
        try:
            self._keep(id_token=tokens.id_token, refresh_token=self._refresh_token)
        except ConfigError as error:
            _logger.warning("the login was refreshed, and must be made again after a restart: %s", error)
        return Issued(f"Bearer {tokens.id_token}", expires=expiry_of(tokens.id_token))

    async def _refresh(self) -> "_Tokens":
        import httpx

        try:
            async with self._http(self._oidc.issuer) as http:
                answer = await http.get(self._oidc.issuer.rstrip("/") + _DISCOVERY)
            provider = self._understood(answer.status_code, answer.content, _decode_provider)
            check_url(f"the token_endpoint of {self}", provider.token_endpoint)
            form, headers = self._request(provider)
            async with self._http(provider.token_endpoint) as http:
                answer = await http.post(provider.token_endpoint, data=form, headers=headers)
            return self._understood(answer.status_code, answer.content, _decode_tokens)
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            advice = advice_on(error)
            # Without its cause, whose frames hold what was sent.
            raise ConfigError(f"{self} cannot be reached: {error}{advice and '; '}{advice}") from None

    def _http(self, url: str) -> "httpx.AsyncClient":
        """A client for one request, through the proxy that the environment names, by the same rules as for a server."""
        import httpx

        from kinformer.client._proxies import environment_proxy

        context, proxy = self._oidc.tls.context(), environment_proxy(url) or None
        try:
            return httpx.AsyncClient(verify=context, timeout=_PATIENCE, trust_env=False, proxy=proxy)
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise ConfigError(
                f"the proxy that the environment names for {self} cannot be used: {error}"
            ) from None

    def _request(self, provider: "_Provider") -> tuple[dict[str, str], dict[str, str]]:
        """The form and the headers of a refresh (RFC 6749, sections 2.3.1 and 6)."""
        oidc = self._oidc
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        methods = provider.token_endpoint_auth_methods_supported
        if oidc.client_secret and ("client_secret_basic" in methods or "client_secret_post" not in methods):
            pair = f"{quote_plus(oidc.client_id)}:{quote_plus(oidc.client_secret)}"
            return form, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        secret = {"client_secret": oidc.client_secret} if oidc.client_secret else {}
        return {**form, "client_id": oidc.client_id, **secret}, {}

    def _understood(self, code: int, body: bytes, decode: Callable[[bytes], T]) -> T:
        """The content of an answer; of a refusal no more than its code, since the rest may hold anything."""
        try:
            if code == 200:
                return decode(body)
            refusal = _decode_refusal(body).error
        except (msgspec.DecodeError, RecursionError):
            refusal = "an answer that cannot be read"
        raise ConfigError(f"{self} refused, with HTTP {code}: {refusal}")

    def __str__(self) -> str:
        return f"the identity provider {self._oidc.issuer}"


def check_url(what: str, url: str) -> None:
    """Refuse to send secrets in the clear.

    Raises:
        ConfigError: It is no such URL.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.password:
        raise ConfigError(f"{what} must be a URL like 'https://host/path', without a user")


def expiry_of(token: str) -> datetime | None:
    """When an id-token is over; ``None`` where it does not say.

    Raises:
        ConfigError: It is no id-token.
    """
    parts = token.split(".")
    try:
        _, payload, _ = parts
        claims = _decode_claims(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return None if claims.exp is None else datetime.fromtimestamp(claims.exp, UTC)
    except (ValueError, OverflowError, OSError):  # msgspec's errors are ValueErrors
        raise ConfigError(
            "the id-token must be a JSON Web Token: three parts with dots between, the second JSON in base64"
        ) from None


class _Provider(msgspec.Struct):
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str] = []


class _Tokens(msgspec.Struct):
    id_token: str = ""
    refresh_token: str = ""


class _Refusal(msgspec.Struct):
    error: str


class _Claims(msgspec.Struct):
    exp: float | None = None


_decode_provider: Final = msgspec.json.Decoder(_Provider).decode
_decode_tokens: Final = msgspec.json.Decoder(_Tokens).decode
_decode_refusal: Final = msgspec.json.Decoder(_Refusal).decode
_decode_claims: Final = msgspec.json.Decoder(_Claims).decode
