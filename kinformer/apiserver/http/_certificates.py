"""Certificates of a server in this process: an authority of its own, and what it signs (rule A-2)."""

import ssl
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from kinformer.system_clock import SystemClock

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["Identity", "make_identity"]

_DAY: Final = timedelta(days=1)
_LIFE: Final = 365 * _DAY
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class Identity(NamedTuple):
    """What a server proves who it is with.

    Attributes:
        authority: The certificate of who signed it, as PEM text: what clients are to trust.
        context: For the server's sockets.
    """

    authority: str
    context: ssl.SSLContext


def make_identity(host: str) -> Identity:
    """Make a new authority, which is forgotten at once, and a certificate of it for ``host`` and this machine's own names.

    They are good from yesterday on, for a year, by the machine's clock: OpenSSL knows no other. Needs cryptography.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = SystemClock().now()
    signer, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _pem(_authority(signer, now))
    chain = _pem(_certificate(signer, key, (host, *_LOCAL), now))
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory(prefix="kinformer-") as folder:  # which nobody else can look into
        file = Path(folder) / "server.pem"
        file.write_bytes(secret + chain.encode())
        context.load_cert_chain(file)
    return Identity(authority, context)


def _authority(signer: "ec.EllipticCurvePrivateKey", now: datetime) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return (
        _builder("kinformer-authority", signer.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(signer, hashes.SHA256())
    )


def _certificate(
    signer: "ec.EllipticCurvePrivateKey",
    key: "ec.EllipticCurvePrivateKey",
    names: tuple[str, ...],
    now: datetime,
) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    alternatives = x509.SubjectAlternativeName([_named(name) for name in dict.fromkeys(names)])
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        _builder("kinformer-apiserver", key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(authority, critical=False)  # Python 3.13 and newer refuse what is without
        .add_extension(alternatives, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _builder(name: str, key: "ec.EllipticCurvePublicKey", now: datetime) -> "x509.CertificateBuilder":
    from cryptography import x509

    def called(common_name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])

    begin = now - _DAY
    builder = x509.CertificateBuilder(
        called("kinformer-authority"), called(name), key, x509.random_serial_number(), begin, begin + _LIFE
    )
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _usage(*, signs: bool) -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _named(name: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: "x509.Certificate") -> str:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM).decode()
