"""What a server proves who it is with. That clients are content with it is what the wire tests show."""

from datetime import UTC, datetime, timedelta

from cryptography import x509

from kinformer.apiserver.http._certificates import make_identity
from kinformer.system_clock import SystemClock


def test_the_authority_may_sign_and_is_good_from_yesterday_for_a_year_a_2() -> None:
    authority = x509.load_pem_x509_certificate(make_identity("127.0.0.1").authority.encode())
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert authority.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    now = SystemClock().now()
    assert authority.not_valid_before_utc < now - timedelta(hours=23)
    assert authority.not_valid_after_utc > now + timedelta(days=363)
    assert authority.not_valid_before_utc > datetime(2020, 1, 1, tzinfo=UTC)


def test_two_servers_have_nothing_in_common() -> None:
    assert make_identity("127.0.0.1").authority != make_identity("127.0.0.1").authority
