import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from kinformer.client import Certificate, Tls
from kinformer.client._tls import FollowingContext, advice_on
from kinformer.errors import ConfigError
from tests.certificates import Authority, Pair


@pytest.fixture(scope="module")
def others() -> Authority:
    return Authority("others")


def shake(client: ssl.SSLContext, server: ssl.SSLContext, name: str = "host") -> str:
    """Let the two shake hands in memory; gives the common name that the client has proved."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = theirs.getpeercert(binary_form=True)
    if shown is None:
        return ""
    return str(x509.load_der_x509_certificate(shown).subject.rfc4514_string().removeprefix("CN="))


def test_the_server_must_prove_itself_unless_told_otherwise(
    authority: Authority, others: Authority, tmp_path: Path
) -> None:
    server = authority.server(tmp_path, "host")
    shake(Tls(ca_data=authority.pem).context(), server)
    shake(Tls(verify=False).context(), server)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(Tls().context(), server)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(Tls(ca_data=others.pem).context(), server)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(Tls(ca_data=authority.pem).context(), server, "other")


@pytest.mark.parametrize(
    ("dialled", "server_name"),
    [
        ("host", ""),
        ("host.", ""),
        ("10.0.0.1", "host"),
        ("10.0.0.1", "host."),
        ("other", "host"),
    ],
)
def test_the_server_is_who_the_settings_say_whatever_is_dialled(
    authority: Authority, tmp_path: Path, dialled: str, server_name: str
) -> None:
    heard: list[str | None] = []
    server = authority.server(tmp_path, "host")
    server.sni_callback = lambda _, name, __: heard.append(name)
    shake(Tls(ca_data=authority.pem, server_name=server_name).context(), server, dialled)
    assert heard == ["host"]
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(Tls(ca_data=authority.pem, server_name="stranger").context(), server, dialled)


def test_a_cluster_ca_need_not_be_as_strict_as_python_wants() -> None:
    assert not Tls().context().verify_flags & ssl.VerifyFlags.VERIFY_X509_STRICT


def test_a_single_certificate_can_be_trusted_without_its_authority(
    authority: Authority, tmp_path: Path
) -> None:
    pair = authority.sign("server", "host")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*pair.write(tmp_path, "server"))
    shake(Tls(ca_data=pair.chain).context(), server)


@pytest.mark.parametrize("content", [None, "", "not pem"])
def test_a_bad_file_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=f"certificate-authority file {path}"):
        Tls(ca_file=str(path)).context()
    with pytest.raises(ConfigError, match=f"client-certificate file {path} with client-key file {path}"):
        Tls(cert_file=str(path)).context()


def test_bad_text_is_not_quoted() -> None:
    with pytest.raises(ConfigError, match="certificate-authority data cannot be used") as caught:
        Tls(ca_data="hunter2").context()
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError, match="client-certificate and client-key data cannot be used") as caught:
        Tls(certificates=Certificate("hunter2", "hunter3")).context()
    assert "hunter" not in str(caught.value)


def test_an_encrypted_key_fails_instead_of_asking_at_the_terminal(
    authority: Authority, tmp_path: Path
) -> None:
    pair = authority.sign("me")
    key = serialization.load_pem_private_key(pair.key.encode(), None)
    form = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"hunter2")
    locked = Pair(pair.chain, key.private_bytes(serialization.Encoding.PEM, *form).decode())
    for tls in (Tls(certificates=Certificate(*locked)), Tls("", "", *locked.write(tmp_path, "me"))):
        with pytest.raises(ConfigError, match="the key must not be encrypted"):
            tls.context()


def test_a_certificate_comes_from_files_or_from_memory(authority: Authority, tmp_path: Path) -> None:
    server = authority.server(tmp_path, "host", clients=authority)
    files = authority.sign("from files").write(tmp_path, "me")
    held = Certificate(*authority.sign("held"))
    ca = authority.pem
    assert shake(Tls(ca_data=ca, cert_file=files[0], key_file=files[1]).context(), server) == "from files"
    assert shake(Tls(ca_data=ca, certificates=held).context(), server) == "held"
    assert shake(Tls("", ca, *files, certificates=held).context(), server) == "held"
    both = tmp_path / "both.pem"
    both.write_text("".join(Path(path).read_text() for path in files))
    assert shake(Tls(ca_data=ca, cert_file=str(both)).context(), server) == "from files"


def test_a_key_that_was_in_memory_is_left_in_no_file(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Tls(certificates=Certificate(*authority.sign("me"))).context()
    assert list(tmp_path.iterdir()) == []


def test_a_new_connection_shows_the_certificate_that_is_there_by_then(
    authority: Authority, tmp_path: Path
) -> None:
    server = authority.server(tmp_path, "host", clients=authority)
    files = authority.sign("one").write(tmp_path, "me")
    context = Tls("", authority.pem, *files).context()
    assert shake(context, server) == "one"
    authority.sign("two").write(tmp_path, "me")
    assert shake(context, server) == "two"


def test_half_a_rotation_leaves_the_old_certificate(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = authority.server(tmp_path, "host", clients=authority)
    old, new = authority.sign("one"), authority.sign("two")
    files = old.write(tmp_path, "me")
    context = Tls("", authority.pem, *files).context()
    Pair(new.chain, old.key).write(tmp_path, "me")
    assert shake(context, server) == "one"
    assert shake(context, server) == "one"
    assert caplog.text.count("go on with the old certificates") == 1
    assert "me.pem" in caplog.text
    new.write(tmp_path, "me")
    assert shake(context, server) == "two"


def test_certificates_that_vanish_leave_the_old_ones(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ca_file = tmp_path / "ca.pem"
    ca_file.write_text(authority.pem)
    context = Tls(ca_file=str(ca_file)).context()
    server = authority.server(tmp_path, "host")
    ca_file.unlink()
    shake(context, server)
    assert "ca.pem" in caplog.text


def test_an_authority_that_was_replaced_is_trusted_no_more(
    authority: Authority, others: Authority, tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        folder.mkdir()
    old, new = others.server(before, "host"), authority.server(after, "host")
    (before / "ca.crt").write_text(others.pem)
    (after / "ca.crt").write_text(authority.pem)
    link = tmp_path / "ca.crt"
    link.symlink_to(before / "ca.crt")  # a kubelet swaps links
    context = Tls(ca_file=str(link)).context()
    shake(context, old)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(context, new)
    (tmp_path / "new").symlink_to(after / "ca.crt")
    (tmp_path / "new").replace(link)
    shake(context, new)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(context, old)


class Rotating:
    """Holds another certificate from time to time."""

    def __init__(self, certificate: Certificate | None) -> None:
        self.certificate = certificate


def test_whoever_knows_the_certificate_is_asked_before_each_connection(
    authority: Authority, tmp_path: Path
) -> None:
    server = authority.server(tmp_path, "host")
    server.verify_mode = ssl.CERT_OPTIONAL
    server.load_verify_locations(cadata=authority.pem)
    rotating = Rotating(None)
    context = Tls(ca_data=authority.pem, certificates=rotating).context()
    assert shake(context, server) == ""
    rotating.certificate = Certificate(*authority.sign("one"))
    assert shake(context, server) == "one"
    rotating.certificate = Certificate(*authority.sign("two"))
    assert shake(context, server) == "two"


def test_a_connection_knows_whether_another_one_would_be_made_alike(authority: Authority) -> None:
    rotating = Rotating(None)
    root = FollowingContext.of(Tls(certificates=rotating))

    def connect() -> FollowingContext:
        made = root.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="host").context
        assert isinstance(made, FollowingContext)
        return made

    made = [connect()]
    moments = [[context.is_current for context in made]]
    one, bad = Certificate(*authority.sign("one")), Certificate("not", "pem")
    for rotating.certificate in (one, bad, None):
        moments.append([context.is_current for context in made])
        made.append(connect())
    # What is bad changes nothing; what comes back is new all the same.
    assert moments == [[True], [False], [False, True], [False, False, False]]


def test_protocols_that_were_asked_for_hold_for_the_certificates_to_come(
    authority: Authority, tmp_path: Path
) -> None:
    server = authority.server(tmp_path, "host")
    server.set_alpn_protocols(["http/1.1"])
    rotating = Rotating(None)
    context = Tls(ca_data=authority.pem, certificates=rotating).context()
    context.set_alpn_protocols(["http/1.1"])
    for name in ("one", "two"):
        rotating.certificate = Certificate(*authority.sign(name))
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ours = context.wrap_bio(to_client, to_server, server_hostname="host")
        theirs = server.wrap_bio(to_server, to_client, server_side=True)
        with pytest.raises(ssl.SSLWantReadError):
            ours.do_handshake()
        with pytest.raises(ssl.SSLWantReadError):
            theirs.do_handshake()
        ours.do_handshake()
        assert ours.selected_alpn_protocol() == "http/1.1"
        context.set_alpn_protocols(["http/1.1"])


@pytest.mark.parametrize(
    ("trusts", "name", "advice"),
    [
        (False, "host", "set certificate-authority (Tls.ca_file)"),
        (True, "other", "set tls-server-name (Tls.server_name)"),
        (True, "127.0.0.1", "set tls-server-name (Tls.server_name)"),
    ],
)
def test_what_to_set_is_said_by_the_reason(
    authority: Authority, tmp_path: Path, trusts: bool, name: str, advice: str
) -> None:
    context = Tls(ca_data=authority.pem if trusts else "").context()
    with pytest.raises(ssl.SSLError) as caught:
        shake(context, authority.server(tmp_path, "host"), name)
    wrapped = OSError("as a library has it")
    wrapped.__cause__ = caught.value
    assert advice_on(wrapped).startswith(advice)


def test_there_is_no_advice_on_other_errors() -> None:
    assert advice_on(None) == advice_on(OSError("no TLS")) == advice_on(ssl.SSLError(1, "odd")) == ""
