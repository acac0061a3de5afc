"""Rbac: how an apiserver is told to ask who comes, and what they may do."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from kinformer.apiserver.auth._users import AUTHENTICATED, MASTERS, User

__all__ = ["Rbac"]


@dataclass(frozen=True, slots=True)
class Rbac:
    """Ask for bearer tokens, and let roles and their bindings decide; for ``ApiServer(auth=...)``.

    Service accounts get theirs from ``kubectl create token``, or the subresource ``token``; they are good with this server as long as
    it runs. https://kubernetes.io/docs/reference/access-authn-authz/rbac/

    Args:
        admin_token: The token of ``kubernetes-admin``, a member of ``system:masters``, who may do everything; the kubeconfig of an
            endpoint has it. Made up by default.
        tokens: Further tokens, each with its user; ``system:authenticated`` is added to their groups.
        anonymous: Whether requests without a token are those of ``system:anonymous``, as in most clusters, which may read the version
            and the health; otherwise they get 401.

    Raises:
        ValueError: A token is empty, or holds a letter that no header can carry.
    """

    admin_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    anonymous: bool = True

    def __post_init__(self) -> None:
        for token in (self.admin_token, *self.tokens):
            if not token or not token.isascii() or not token.isprintable() or " " in token:
                raise ValueError("a token must be letters, digits and signs of ASCII, without spaces")

    def user_of(self, token: str) -> User | None:
        """Whose token this is; ``None`` where it is none of those that are written down here."""
        if secrets.compare_digest(token.encode(), self.admin_token.encode()):
            return User("kubernetes-admin", (MASTERS, AUTHENTICATED))
        user = self.tokens.get(token)
        if user is None:
            return None
        groups = tuple(dict.fromkeys((*user.groups, AUTHENTICATED)))
        return User(user.name, groups, user.uid, user.extra)
