"""Tls: how the server proves who it is, how we do, and what to do where that fails.

Certificates are replaced while programs run: by kubelets, cert-manager, exec plugins. A context made here looks at its
files before each connection, so that a new connection is made with what is there at that time (client-go reloads
client certificates, and authorities behind its gate ``ClientsAllowCARotation``). Connections that are open stay so.

It also knows whom it has to do with, where that is not the host that is dialled: whoever makes the connection need not
be told, which httpcore cannot be where a proxy lies between.
"""

import logging
import os
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, Self

from kinformer.errors import ConfigError

__all__ = ["Certificate", "Certificates", "FollowingContext", "Tls", "advice_on", "is_about_certificates"]

_logger: Final = logging.getLogger("kinformer.client")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate that is in no file.

    Attributes:
        chain: The certificate, and those between it and its authority, as PEM text.
        key: Its private key, as PEM text, not encrypted.
    """

    chain: str
    key: str = field(repr=False)

    @property
    def certificate(self) -> Self:
        """Itself: one that stays the same is all that there is to know."""
        return self


class Certificates(Protocol):
    """Anything that knows the present client certificate, such as an exec plugin."""

    @property
    def certificate(self) -> Certificate | None:
        """The one to use for the next connection; ``None`` for none."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How the server proves who it is, and how we do with a certificate.

    Attributes:
        ca_file: PEM file of the authorities to trust; ``""`` means those of the machine, unless ``ca_data`` is given.
        ca_data: The same as PEM text; where both are given, this counts.
        cert_file: PEM file of our own certificate, ``""`` for none.
        key_file: PEM file of its key, not encrypted; may be ``""`` where ``cert_file`` holds both.
        verify: Whether the server must prove itself. Without, anybody can read the credentials.
        server_name: The name that the server's certificate must have, where it is not the host of the URL.
        certificates: Who knows our certificate where it is in no file; where both are given, this counts.
    """

    ca_file: str = ""
    ca_data: str = field(default="", repr=False)
    cert_file: str = ""
    key_file: str = ""
    verify: bool = True
    server_name: str = ""
    certificates: Certificates | None = None

    @property
    def has_certificate(self) -> bool:
        """Whether we may have a certificate to show."""
        return bool(self.cert_file) or self.certificates is not None

    def context(self) -> ssl.SSLContext:
        """Read the files into a context; from then on it follows their changes, one connection at a time.

        A file that goes bad later is logged, and what was read before stays in use.

        Raises:
            ConfigError: A file is missing, or is no PEM file of the right content; the message has its name.
        """
        return FollowingContext.of(self)

    def read_into(self, context: ssl.SSLContext) -> None:
        """Read the files into a new client context, which stays so.

        Raises:
            ConfigError: As for ``context``.
        """
        # As Go does, and unlike Python's default from 3.13 on: an authority need not be at the root, nor follow each
        # rule of RFC 5280, which many a cluster's own does not.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        if self.verify:
            self._load_authorities(context)
        else:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self._load_certificate(context)

    def stamp(self) -> tuple[object, ...]:
        """What differs once a file, or the certificate, is another."""
        files = (self.ca_file, self.cert_file, self.key_file)
        certificate = self.certificates.certificate if self.certificates else None
        return (*map(_stamp_of, filter(None, files)), certificate)

    def _load_authorities(self, context: ssl.SSLContext) -> None:
        try:
            if self.ca_data:
                context.load_verify_locations(cadata=self.ca_data)
            elif self.ca_file:
                context.load_verify_locations(cafile=self.ca_file)
            else:
                context.load_default_certs()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            where = "data" if self.ca_data else f"file {self.ca_file}"
            raise ConfigError(f"certificate-authority {where} cannot be used: {error}") from error

    def _load_certificate(self, context: ssl.SSLContext) -> None:
        certificate = self.certificates.certificate if self.certificates else None
        try:
            # The empty password fails where a key is encrypted; without one OpenSSL would ask at the terminal.
            if certificate is not None:
                with _written(certificate) as path:
                    context.load_cert_chain(path, password="")
            elif self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file or None, password="")
        except (OSError, ValueError) as error:
            files = f"file {self.cert_file} with client-key file {self.key_file or self.cert_file}"
            where = "and client-key data" if certificate is not None else files
            raise ConfigError(
                f"client-certificate {where} cannot be used (the key must not be encrypted): {error}"
            ) from error


class FollowingContext(ssl.SSLContext):
    """A context that makes each connection with the present files; there is one for each state of theirs.

    Invariant of the first one, the root: ``_present`` is what could be read last, perhaps itself, and ``_seen`` the
    stamp of what was last tried.
    """

    _tls: Tls
    _root: Self
    _present: Self
    _seen: tuple[object, ...]
    _protocols: tuple[str, ...]

    @classmethod
    def of(cls, tls: Tls) -> Self:
        """The root, with what there is now.

        Raises:
            ConfigError: See ``Tls.context``.
        """
        root = cls(ssl.PROTOCOL_TLS_CLIENT)
        root._tls, root._seen, root._protocols = tls, tls.stamp(), ()
        root._root = root._present = root
        tls.read_into(root)
        return root

    @property
    def is_current(self) -> bool:
        """Whether a new connection would be made with what those of this context were made with."""
        return self._root._follow() is self

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 -- ssl's signature
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Begin a connection: asyncio, uvloop and anyio call it for each one."""
        root = self._root
        name = root._tls.server_name or server_hostname
        if isinstance(name, str):
            # One in full ends with a dot, but not in certificates, nor in what a handshake says (RFC 6066, section 3).
            name = name.removesuffix(".")
        return ssl.SSLContext.wrap_bio(root._follow(), incoming, outgoing, server_side, name, session)

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Remember them for the contexts to come; httpcore sets them before each connection."""
        root = self._root
        root._protocols = tuple(alpn_protocols)
        ssl.SSLContext.set_alpn_protocols(root._present, root._protocols)

    def _follow(self) -> Self:
        """The context for what there is now; only the root is asked."""
        stamp = self._tls.stamp()
        if stamp != self._seen:
            self._seen = stamp
            fresh = type(self)(ssl.PROTOCOL_TLS_CLIENT)
            fresh._root = self
            try:
                self._tls.read_into(fresh)
            except ConfigError as error:
                _logger.warning("new connections go on with the old certificates: %s", error)
            else:
                if self._protocols:
                    ssl.SSLContext.set_alpn_protocols(fresh, self._protocols)
                self._present = fresh
        return self._present


def advice_on(error: BaseException | None) -> str:
    """What to set where a TLS handshake failed, by the error or one that it came from; else ``""``."""
    match _tls_error(error):
        case ssl.SSLCertVerificationError(verify_code=code):
            return _ON_VERIFICATION.get(code, "")
        case ssl.SSLError(reason=reason):
            return _ON_ALERT.get(reason or "", "")
        case _:
            return ""


def is_about_certificates(error: BaseException | None) -> bool:
    """Whether the server's certificate, or ours, was not accepted, by the error or one that it came from."""
    found = _tls_error(error)
    return isinstance(found, ssl.SSLCertVerificationError) or advice_on(found) == _CLIENT


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


_NAME: Final = "set tls-server-name (Tls.server_name) to a name that its certificate has"
_AUTHORITY: Final = "set certificate-authority (Tls.ca_file) to the PEM file of the authority that signed the server's certificate"
_CLIENT: Final = "the server wants a certificate of ours that it trusts: set client-certificate and client-key (Tls.cert_file, Tls.key_file)"
_ON_VERIFICATION: Final = {
    18: _AUTHORITY,
    19: _AUTHORITY,
    20: _AUTHORITY,
    21: _AUTHORITY,
    62: _NAME,
    64: _NAME,
}
"""By ``X509_V_ERR_...``: issuers that are not known, names that do not match."""
_ON_ALERT: Final = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _CLIENT,
    "TLSV1_ALERT_UNKNOWN_CA": _CLIENT,
    "SSLV3_ALERT_BAD_CERTIFICATE": _CLIENT,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": _CLIENT,
    "WRONG_VERSION_NUMBER": "the server does not speak TLS there: is it http: instead of https:?",
}


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)  # noqa: PTH116 -- follows the link that the kubelet swaps
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


@contextmanager
def _written(certificate: Certificate) -> Iterator[Path]:
    """A file with both parts, which OpenSSL wants, readable by us only and gone right after."""
    with TemporaryDirectory(prefix="kinformer-") as folder:
        path = Path(folder) / "client.pem"
        path.write_text(f"{certificate.chain.rstrip()}\n{certificate.key}")
        yield path
