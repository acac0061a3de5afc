"""Impersonation: acting as somebody else, where the server lets us."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

__all__ = ["Impersonation"]

_SAFE: Final = "!#$&'*+^`|"
"""What a header's name may hold beside letters, digits and ``-._~`` (RFC 9110); the percent sign is the escape."""


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as: the fields ``as...`` of a kubeconfig's user, ``kubectl --as``.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation

    Attributes:
        user: The user's name, such as ``"system:serviceaccount:shop:cart"``.
        uid: The user's uid; ``""`` leaves it out.
        groups: The groups; without any, the user has those that the server gives to everybody.
        extra: Further facts about the user, each with its values.

    Raises:
        ValueError: There is no user, or a part of it could not stand in a header.
    """

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user:
            raise ValueError("impersonation needs a user: set user, beside uid, groups or extra")
        for name, value in self.headers:
            if not value.isascii() or not value.isprintable():
                raise ValueError(f"{name}: {value!r} holds a letter that no header can carry")

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that say so, in the order of the fields."""
        uid = (("Impersonate-Uid", self.uid),) if self.uid else ()
        groups = (("Impersonate-Group", group) for group in self.groups)
        extra = (
            (f"Impersonate-Extra-{quote(key, safe=_SAFE)}", value)
            for key, values in self.extra.items()
            for value in values
        )
        return (("Impersonate-User", self.user), *uid, *groups, *extra)
