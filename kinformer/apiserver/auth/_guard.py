"""Guard: finds out who comes, and keeps the policy at hand. The shell around the pure parts of this room."""

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from kinformer.apiserver.auth._caller import Caller
from kinformer.apiserver.auth._defaults import DEFAULT_BINDINGS, DEFAULT_ROLES
from kinformer.apiserver.auth._impersonation import Headers, impersonating
from kinformer.apiserver.auth._policy import RBAC, Policy
from kinformer.apiserver.auth._rbac import Rbac
from kinformer.apiserver.auth._token_requests import answer_token_request
from kinformer.apiserver.auth._tokens import AUDIENCE, Tokens
from kinformer.apiserver.auth._users import ANONYMOUS, EVERYTHING, User, service_account
from kinformer.apiserver.registry import Registry, StatusError
from kinformer.apiserver.rest import Target, Verbs, WriteOptions
from kinformer.apiserver.storage import KV, KeyRange, KeyValue
from kinformer.clock import Clock

__all__ = ["Guard"]

_log = logging.getLogger("kinformer.apiserver")

_STORED: Final = KeyRange.prefix(f"/registry/{RBAC}/")
_OWN: Final = WriteOptions(field_manager="kube-apiserver")
_BEARER: Final = "bearer"


class Guard:
    """Knows who comes by the token that they bring, and what they may do by what is stored.

    The policy is made of the roles and bindings in the storage, and made again when one of them has changed; a change counts from
    the next request on, whoever wrote it.

    Args:
        kv: The storage.
        clock: Tells when tokens expire.
        rbac: How to ask; ``None`` asks nobody, and lets everybody do everything.
    """

    def __init__(self, kv: KV, *, clock: Clock, rbac: Rbac | None = None) -> None:
        self._kv = kv
        self._clock = clock
        self._rbac = rbac
        self._tokens = Tokens(secrets.token_bytes(32))
        self._policy = Policy(())
        self._revision = 0
        self._versions: Mapping[str, int] = {}

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self._rbac is None

    async def bootstrap(self, verbs: Verbs, registry: Registry) -> None:
        """Create the default roles where they are missing; harmless when repeated."""
        if self._rbac is None:
            return
        for plural, contents in (("clusterroles", DEFAULT_ROLES), ("clusterrolebindings", DEFAULT_BINDINGS)):
            served = registry.find(RBAC, "v1", plural)
            assert served is not None  # noqa: S101 -- a built-in kind
            for content in contents:
                try:
                    await verbs.create(
                        Target(served), msgspec.json.decode(msgspec.json.encode(content)), _OWN
                    )
                except StatusError as error:
                    if error.reason != "AlreadyExists":
                        raise

    async def caller(self, headers: Headers) -> Caller:
        """Who sends these headers, or whom they act as (rules A-3, A-4).

        Raises:
            StatusError: 401 for a token that is not known, 403 for somebody whom they may not act as, 400 for half an
                impersonation.
        """
        if self._rbac is None:
            return Caller(EVERYTHING, self._policy)
        token = _bearer(headers.getlist("Authorization"))
        user: User | None = ANONYMOUS if self._rbac.anonymous else None
        if token is not None:
            user = await self.user_of(token)
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return impersonating(Caller(user, await self._current()), headers)

    async def user_of(self, token: str, audiences: Sequence[str] = ()) -> User | None:
        """Whose token this is; ``None`` where it is nobody's, or for none of these audiences."""
        if self._rbac is None:
            return EVERYTHING
        if user := self._rbac.user_of(token):
            return user
        claims = self._tokens.read(token, self._clock.now(), audiences or (AUDIENCE,))
        if claims is None:
            return None
        account = await self._kv.get(f"/registry/core/serviceaccounts/{claims.namespace}/{claims.name}")
        if account is None or msgspec.json.decode(account.value)["metadata"].get("uid") != claims.uid:
            return None  # it is gone, or another one has its name
        return service_account(claims.namespace, claims.name, claims.uid)

    def issue(self, account: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a ``TokenRequest`` for a service account (rule R-3).

        Raises:
            StatusError: 400 or 422, for what cannot be had.
        """
        return answer_token_request(account, request, self._tokens, self._clock.now())

    async def _current(self) -> Policy:
        revision = await self._kv.revision()
        if revision == self._revision:
            return self._policy
        found = await self._kv.range(_STORED)
        versions = {value.key: value.mod_revision for value in found.items}
        if versions != self._versions:
            self._policy, self._versions = Policy(_objects(found.items)), versions
        self._revision = found.revision
        return self._policy


def _bearer(values: Sequence[str]) -> str | None:
    """The token; ``None`` where there is none, as without the header or with another scheme in it."""
    scheme, _, token = (values[0] if values else "").strip().partition(" ")
    return token.strip() if scheme.lower() == _BEARER else None


def _objects(items: Sequence[KeyValue]) -> Iterator[Mapping[str, Any]]:
    for item in items:
        try:
            yield msgspec.json.decode(item.value, type=dict[str, Any])
        except msgspec.DecodeError:
            _log.warning("what lies at %s is no object, so it allows nothing", item.key)
