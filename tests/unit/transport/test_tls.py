"""TLS contexts, their renewal, and sessions between memory buffers."""

import shutil
import ssl
from pathlib import Path

import pytest
from tests.support.certificates import Pair, apache_guide_pair, encrypt_key, make_pair

from cosmodrome.errors import TlsError, TlsKeyError
from cosmodrome.transport.throw_away import throw_away_server_context
from cosmodrome.transport.tls import TlsFiles, TlsSession, WatchedContext, client_context, server_context


class Client:
    """The other end of a session, as the standard library speaks it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing)

    def handshake(self, session: TlsSession, piece: int = 1 << 20) -> None:
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            else:
                self.deliver(session, piece)
                return
            self.deliver(session, piece)

    def deliver(self, session: TlsSession, piece: int = 1 << 20) -> bytes:
        data, plain = self.outgoing.read(), b""
        for start in range(0, len(data), piece):
            received = session.receive(data[start : start + piece])
            self.incoming.write(received.wire)
            plain += received.plain
        return plain


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return make_pair(tmp_path)


def files(pair: Pair) -> TlsFiles:
    return TlsFiles(cert_path=str(pair.cert), key_path=str(pair.key))


def serial(context: ssl.SSLContext, trust: ssl.SSLContext) -> object:
    client = Client(trust)
    client.handshake(TlsSession(context))
    certificate = client.tls.getpeercert()
    assert certificate is not None
    return certificate["serialNumber"]


@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
def test_bytes_pass_both_ways_however_they_are_cut(pair: Pair, piece: int) -> None:
    session, client = TlsSession(server_context(files(pair))), Client(pair.client_context())

    before = session.is_established
    client.handshake(session, piece)
    assert (before, session.is_established) == (False, True)
    client.tls.write(b"question")
    assert client.deliver(session, piece) == b"question"

    client.incoming.write(session.send(b"answer" * 50_000))
    assert client.tls.read(6) == b"answer"


def test_the_peer_s_end_is_told(pair: Pair) -> None:
    session, client = TlsSession(server_context(files(pair))), Client(pair.client_context())
    client.handshake(session)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()

    received = session.receive(client.outgoing.read())

    assert received.end is not None
    assert not received.is_failure


def test_what_is_not_tls_is_a_failure(pair: Pair) -> None:
    received = TlsSession(server_context(files(pair))).receive(b"\x16\x03\x01\x00\x05hello")

    assert received.is_failure
    assert received.end is not None
    assert received.end.startswith("TLS failed: ")


def test_a_client_without_a_required_certificate_is_refused(pair: Pair) -> None:
    required = TlsFiles(
        cert_path=str(pair.cert), key_path=str(pair.key), trust_path=str(pair.trust), verify=ssl.CERT_REQUIRED
    )
    context = server_context(required)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # there the refusal is part of the handshake
    session, client = TlsSession(context), Client(pair.client_context())

    with pytest.raises(ssl.SSLError):
        client.handshake(session)
    assert not session.is_established


def test_old_versions_are_refused(pair: Pair) -> None:
    context = pair.client_context()
    assert server_context(files(pair)).minimum_version is ssl.TLSVersion.TLSv1_2
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    client = Client(context)
    client.handshake(TlsSession(server_context(files(pair))))
    assert client.tls.version() == "TLSv1.3"


def test_a_key_with_a_password(pair: Pair) -> None:
    encrypt_key(pair, "secret")
    good = TlsFiles(cert_path=str(pair.cert), key_path=str(pair.key), key_password="secret")  # noqa: S106 # made here

    assert server_context(good)
    with pytest.raises(TlsError, match="cannot read the private key") as missing:
        server_context(files(pair))
    assert missing.value.why == "it is encrypted, and no password is given."


def test_a_key_of_apache_s_own_guide_loads_with_the_extra_or_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """RC4 in PKCS#8, which OpenSSL 3 does not decrypt by itself."""
    pair = apache_guide_pair()
    good = TlsFiles(cert_path=str(pair.cert), key_path=str(pair.key), key_password="secret")  # noqa: S106 # made here

    assert server_context(good)

    monkeypatch.setattr("cosmodrome.transport.tls.decrypted_key", lambda *_: None)
    with pytest.raises(TlsKeyError) as error:
        server_context(good)
    assert "PBE-SHA1-RC4-128" in (error.value.why or "")
    assert "cosmodrome[tls]" in (error.value.remedy or "")
    assert "-provider legacy" in (error.value.remedy or "")


def test_a_wrong_password(pair: Pair) -> None:
    encrypt_key(pair, "secret")
    wrong = TlsFiles(cert_path=str(pair.cert), key_path=str(pair.key), key_password="wrong")  # noqa: S106 # made here

    with pytest.raises(TlsKeyError, match="cannot read the private key"):
        server_context(wrong)


def test_missing_files_and_strangers_are_named(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = make_pair(tmp_path / "other")

    with pytest.raises(TlsError, match="are no pair"):
        server_context(TlsFiles(cert_path=str(pair.cert), key_path=str(other.key)))
    with pytest.raises(TlsError, match=r"cannot read .*gone\.pem"):
        server_context(TlsFiles(cert_path=str(tmp_path / "gone.pem"), key_path=str(pair.key)))
    with pytest.raises(TlsError, match="cannot use the trust anchors"):
        client_context(TlsFiles(trust_path=str(tmp_path / "gone.pem"), verify=ssl.CERT_REQUIRED))
    pair.cert.write_text("no certificate")
    with pytest.raises(TlsError, match="cannot use the certificate"):
        server_context(files(pair))


def test_half_a_new_pair_does_not_come_into_use(pair: Pair, tmp_path: Path) -> None:
    """Key first, certificate later: in between the old pair serves, and the fault is told once."""
    (tmp_path / "new").mkdir()
    new = make_pair(tmp_path / "new")
    watched = WatchedContext(lambda: server_context(files(pair)), files(pair).paths())
    old_serial = serial(watched.current, pair.client_context())
    assert not watched.refresh()

    shutil.copy(new.key, pair.key)
    with pytest.raises(TlsError, match="are no pair"):
        watched.refresh()
    assert not watched.refresh()
    assert serial(watched.current, pair.client_context()) == old_serial

    shutil.copy(new.cert, pair.cert)
    assert watched.refresh()
    assert serial(watched.current, new.client_context()) != old_serial


def test_a_file_that_was_complete_a_moment_later_is_taken(pair: Pair) -> None:
    whole = pair.cert.read_bytes()
    watched = WatchedContext(lambda: server_context(files(pair)), files(pair).paths())
    pair.cert.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TlsError):
        watched.refresh()
    pair.cert.write_bytes(whole)

    assert watched.refresh()
    assert not watched.refresh()


def test_a_file_that_goes_away_changes_nothing(pair: Pair) -> None:
    watched = WatchedContext(lambda: server_context(files(pair)), files(pair).paths())
    before = watched.current
    pair.cert.unlink()

    with pytest.raises(TlsError):
        watched.refresh()
    assert watched.current is before


def test_a_throw_away_certificate_serves_whoever_trusts_anything() -> None:
    session, client = TlsSession(throw_away_server_context()), Client(client_context(TlsFiles()))

    client.handshake(session)

    assert session.is_established
    assert session.close() != b""
