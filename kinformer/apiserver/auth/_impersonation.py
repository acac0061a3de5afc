"""Impersonation: acting as somebody else (rule A-4).

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
"""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol
from urllib.parse import unquote

from kinformer.apiserver.auth._access import ResourceAccess
from kinformer.apiserver.auth._caller import Caller
from kinformer.apiserver.auth._users import ANONYMOUS, AUTHENTICATED, User, account_of, service_account
from kinformer.apiserver.registry import bad_request

__all__ = ["Headers", "impersonating"]

_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"


class Headers(Protocol):
    """What is read of a request's headers; names in any case."""

    def keys(self) -> Iterable[str]:
        """The names, in lower case."""

    def getlist(self, key: str) -> list[str]:
        """Every value of one header."""


def impersonating(caller: Caller, headers: Headers) -> Caller:
    """Whom the caller acts as; the caller itself where the headers name nobody.

    Raises:
        StatusError: 403, it may not act as them; 400, a part is there without the user.
    """
    names = headers.getlist("Impersonate-User")
    groups = tuple(headers.getlist("Impersonate-Group"))
    uids = headers.getlist("Impersonate-Uid")
    keys = sorted({key for key in headers.keys() if key.startswith(_EXTRA)})  # noqa: SIM118 -- no mapping
    if not names:
        if groups or uids or keys:
            raise bad_request("requested impersonation without impersonating a user")
        return caller
    extra = {unquote(key.removeprefix(_EXTRA)): tuple(headers.getlist(key)) for key in keys}
    user = User(names[0], groups, uids[0] if uids else "", extra)
    for access in _needed(user):
        caller.require(access)
    return Caller(_completed(user), caller.policy)


def _needed(user: User) -> Iterator[ResourceAccess]:
    account = account_of(user.name)
    if account is None:
        yield ResourceAccess("impersonate", "", "users", name=user.name)
    else:
        yield ResourceAccess("impersonate", "", "serviceaccounts", namespace=account[0], name=account[1])
    for group in user.groups:
        yield ResourceAccess("impersonate", "", "groups", name=group)
    if user.uid:
        yield ResourceAccess("impersonate", _AUTHENTICATION, "uids", name=user.uid)
    for key, values in user.extra.items():
        for value in values:
            yield ResourceAccess("impersonate", _AUTHENTICATION, "userextras", key, name=value)


def _completed(user: User) -> User:
    """With the groups that a user of this name has anyway."""
    account = account_of(user.name)
    groups = user.groups
    if account is not None and not groups:
        groups = service_account(*account).groups
    if user.name != ANONYMOUS.name and AUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return User(user.name, groups or ANONYMOUS.groups, user.uid, user.extra)
