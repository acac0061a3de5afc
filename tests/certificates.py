"""An authority for tests, and what it signs."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = timedelta(days=1)


class Pair(NamedTuple):
    """A certificate and its key, as PEM text."""

    chain: str
    key: str

    def write(self, folder: Path, name: str) -> tuple[str, str]:
        """Put them into two files, each replaced in one step."""
        paths = []
        for text, ending in ((self.chain, "pem"), (self.key, "key")):
            draft = folder / f"{name}.{ending}.draft"
            draft.write_text(text)
            paths.append(str(draft.replace(folder / f"{name}.{ending}")))
        return paths[0], paths[1]


class Authority:
    """Signs certificates that last from yesterday to a hundred years from now, or as long as is said."""

    def __init__(self, name: str = "authority") -> None:
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.pem = self._sign(
            self._name, self._key.public_key(), is_authority=True, names=(), lasts=36500 * DAY
        )

    def sign(self, name: str, *names: str, lasts: timedelta = 36500 * DAY) -> Pair:
        """A certificate of a common name, and of names that a server is reached by."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        chain = self._sign(subject, key.public_key(), is_authority=False, names=names, lasts=lasts)
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return Pair(chain, key.private_bytes(serialization.Encoding.PEM, *form).decode())

    def server(self, folder: Path, *names: str, clients: "Authority | None" = None) -> ssl.SSLContext:
        """A server's context; with ``clients`` it demands a certificate that they signed."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.sign("server", *names).write(folder, "server"))
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=clients.pem)
        return context

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        is_authority: bool,
        names: tuple[str, ...],
        lasts: timedelta,
    ) -> str:
        begin = datetime.now(UTC) - DAY  # noqa: TID251 -- OpenSSL looks at the real one
        builder = x509.CertificateBuilder(
            self._name, subject, key, x509.random_serial_number(), begin, begin + DAY + lasts
        )
        builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        if names:
            listed = [x509.IPAddress(ip_address(n)) if n[0].isdigit() else x509.DNSName(n) for n in names]
            builder = builder.add_extension(x509.SubjectAlternativeName(listed), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
