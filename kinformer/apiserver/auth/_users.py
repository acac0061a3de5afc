"""User: who asks (rule A-3).

The names are Kubernetes': https://kubernetes.io/docs/reference/access-authn-authz/authentication/
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["ANONYMOUS", "AUTHENTICATED", "EVERYTHING", "MASTERS", "User", "account_of", "service_account"]

MASTERS: Final = "system:masters"
"""The group that may do everything, whatever the roles say."""
AUTHENTICATED: Final = "system:authenticated"
"""The group of all that said who they are."""

_UNAUTHENTICATED: Final = "system:unauthenticated"
_ACCOUNT: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who asks.

    Attributes:
        name: The name, such as ``"jane"`` or ``"system:serviceaccount:shop:cart"``.
        groups: The groups; ``system:authenticated`` is added to what a token or an impersonation says.
        uid: The uid; ``""`` for none.
        extra: Further facts, each with its values.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_master(self) -> bool:
        """Whether no role can refuse it anything."""
        return MASTERS in self.groups

    def to_object(self) -> dict[str, Any]:
        """The ``UserInfo`` of reviews."""
        members = {
            "username": self.name,
            "uid": self.uid,
            "groups": list(self.groups),
            "extra": {key: list(values) for key, values in self.extra.items()},
        }
        return {key: value for key, value in members.items() if value}


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a service account is."""
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{_ACCOUNT}{namespace}:{name}", groups, uid)


def account_of(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name stands for; ``None`` where it is another's."""
    namespace, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    is_one = name.startswith(_ACCOUNT) and colon and ":" not in account
    return (namespace, account) if is_one else None


ANONYMOUS: Final = User("system:anonymous", (_UNAUTHENTICATED,))
"""Who sends no token."""
EVERYTHING: Final = User("system:anonymous", (MASTERS, _UNAUTHENTICATED))
"""Everybody, where nobody is asked for a token."""
