"""Who we are, as a server wants to hear it: the ``Authorization`` header, asked for anew at each request."""

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Protocol

from kinformer.errors import ConfigError

__all__ = ["Anonymous", "BasicAuth", "BearerToken", "Credentials", "TokenFile", "fits_header"]


class Credentials(Protocol):
    """Anything that knows the present ``Authorization`` header."""

    async def authorization(self, *, rejected: str | None = None) -> str:
        """The header's value, or ``""`` to send none.

        Args:
            rejected: The value that the server has just answered with 401, ``""`` where none was sent. If another one
                can be had, it is returned, and the request is made once more; else the same value.

        Raises:
            ConfigError: There is none to be had, and never was.
        """


@dataclass(frozen=True, slots=True)
class Anonymous:
    """No header at all: for servers that ask nobody, and for client certificates."""

    async def authorization(self, *, rejected: str | None = None) -> str:  # noqa: ARG002 -- the protocol's
        """Always ``""``."""
        return ""


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that stays the same."""

    token: str = field(repr=False)

    async def authorization(self, *, rejected: str | None = None) -> str:  # noqa: ARG002 -- the protocol's
        """The token as a header."""
        return f"Bearer {self.token}"


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """A user name and password; Kubernetes itself dropped them in 1.19, proxies before it did not."""

    username: str
    password: str = field(repr=False)

    async def authorization(self, *, rejected: str | None = None) -> str:  # noqa: ARG002 -- the protocol's
        """The pair as a header."""
        return f"Basic {base64.b64encode(f'{self.username}:{self.password}'.encode()).decode()}"


class TokenFile:
    """A token in a file that is replaced from time to time, as the kubelet does with those of service accounts.

    The file is looked at before each request and read when it has changed, so a rotated token is used at once.
    https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken

    Raises:
        ConfigError: The file cannot be read, or is empty. Once a token was read, a file that goes bad is ignored: the
            old token is as good as any until the server refuses it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._token = ""
        self._refresh()

    async def authorization(self, *, rejected: str | None = None) -> str:
        """The present token as a header."""
        if rejected is not None:
            self._seen = None
        try:
            self._refresh()
        except ConfigError:
            if not self._token:
                raise
        return f"Bearer {self._token}"

    def _refresh(self) -> None:
        try:
            stat = os.stat(self.path)  # noqa: PTH116 -- follows the link that the kubelet swaps
            if not S_ISREG(stat.st_mode):  # reading a pipe would hold up the whole loop
                raise ConfigError(f"token file {self.path} cannot be read: it must be a regular file")  # noqa: TRY301
            seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if seen == self._seen:
                return
            token = self.path.read_text().strip()
        except (OSError, ValueError) as error:  # the latter: a path with NUL, or what is no UTF-8
            raise ConfigError(f"token file {self.path} cannot be read: {error}") from error
        if not token:
            raise ConfigError(f"token file {self.path} is empty: it must hold a bearer token")
        if not fits_header(token):
            raise ConfigError(f"token file {self.path} must hold one line of ASCII letters: a bearer token")
        self._token, self._seen = token, seen

    def __repr__(self) -> str:
        return f"TokenFile({str(self.path)!r})"


def fits_header(value: str) -> bool:
    """Whether a header can carry a value: no line break, no other control letter, nothing but ASCII."""
    return value.isascii() and value.isprintable()
