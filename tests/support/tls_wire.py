"""TLS from a client's side, and certificates that are renewed.

Owns: contexts of clients, what certificate a server shows, whether it refuses, TLS one byte at a time, renewals of a
    server's files in the ways in which tools do it.
Must not know: the package under test; which of these should work.
"""

import os
import socket
import ssl
import struct
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.support.certificates import Pair, write_pair
from tests.support.peer import Peer
from tests.support.wire import Answer, split

T = TypeVar("T")

PROXY_V2_SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
REFUSALS: Final = (ssl.SSLError, ConnectionError)
"""What a client sees of a refused handshake: an alert or a close, whichever arrives first."""


def credulous(
    highest: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED, *, pair: Pair | None = None
) -> ssl.SSLContext:
    """Return the context of a client that believes every server, and shows the certificate of `pair` if asked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = highest
    if pair is not None:
        context.load_cert_chain(pair.cert, pair.key)
    return context


def tls_keys(pair: Pair, mode: str = "permissive", **more: object) -> dict[str, object]:
    """Return the configuration of a server that uses the files of `pair`; keys of `more` have `_` for `.`."""
    keys = {key.replace("_", "."): value for key, value in more.items()}
    return {
        "tls.server.mode": mode,
        "tls.test.mode.enable": False,
        "tls.server.certPath": pair.cert,
        "tls.server.keyPath": pair.key,
    } | keys


def served_serial(address: str) -> int:
    """Return the serial number of the certificate that a new handshake shows."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as plain, credulous().wrap_socket(plain) as encrypted:
        certificate = encrypted.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


def is_refused(address: str, context: ssl.SSLContext) -> bool:
    """Return whether a request over this TLS gets no answer because the connection ends."""
    try:
        with Peer(address, tls=context) as peer:
            peer.ask_route("nobody")
    except REFUSALS:
        return True
    return False


def proxy_v1(source: str = "192.0.2.7", port: int = 1234) -> bytes:
    """Return a PROXY header in text."""
    family = "TCP6" if ":" in source else "TCP4"
    return f"PROXY {family} {source} {'::1' if family == 'TCP6' else '127.0.0.1'} {port} 9876\r\n".encode()


def proxy_v2(source: str = "192.0.2.7", port: int = 1234, *, extra: bytes = b"", command: int = 1) -> bytes:
    """Return a binary PROXY header; `extra` follows the addresses (TLVs), command 0 is LOCAL."""
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    host = socket.inet_pton(family, source)
    content = host * 2 + struct.pack(">HH", port, 9876) + extra
    kind = 0x21 if family is socket.AF_INET6 else 0x11
    return PROXY_V2_SIGNATURE + struct.pack(">BBH", 0x20 | command, kind, len(content)) + content


class OneByteAtATime:
    """A connection that sends every byte by itself, TLS records too; `preface` goes first, in plain text."""

    def __init__(self, address: str, context: ssl.SSLContext | None = None, preface: bytes = b"") -> None:
        """Connect, and shake hands if there is a context."""
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host.strip("[]"), int(port)), 10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing) if context is not None else None
        self._drip(preface)
        if self._tls is not None:
            self._carry(self._tls.do_handshake)

    def __enter__(self) -> Self:
        """Return the connection itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._socket.close()

    def answer_to(self, request: bytes) -> Answer:
        """Send one encoded request and return the next frame that comes."""
        tls = self._tls
        if tls is None:
            self._drip(request)
        else:
            tls.write(request)
            self._drip(self._outgoing.read())
        data = b""
        while True:
            data += self._socket.recv(65536) if tls is None else self._carry(lambda: tls.read(65536))
            answers, _ = split(data)
            if answers:
                return answers[0]
            assert data, "the peer closed the connection"

    def _carry(self, operation: Callable[[], T]) -> T:
        while True:
            try:
                result = operation()
            except ssl.SSLWantReadError:
                self._drip(self._outgoing.read())
                self._incoming.write(self._socket.recv(65536))
            else:
                self._drip(self._outgoing.read())
                return result

    def _drip(self, data: bytes) -> None:
        for at in range(len(data)):
            self._socket.sendall(data[at : at + 1])


class Renewals:
    """A server's files and the authority that renews their content."""

    def __init__(self, folder: Path, name: str = "server") -> None:
        """Write the first certificate and the authority."""
        self._authority = trustme.CA()
        self.pair = Pair(cert=folder / f"{name}.pem", key=folder / f"{name}.key", trust=folder / f"{name}-trust.pem")
        self._authority.cert_pem.write_to_path(str(self.pair.trust))
        self.first = self.issue()
        write_pair(self.pair, self.first)

    def issue(self) -> trustme.LeafCert:
        """Return a new certificate with a new key."""
        return self._authority.issue_cert("127.0.0.1")

    def reissue(self, leaf: trustme.LeafCert) -> bytes:
        """Return a new certificate for the key that this one has, in PEM."""
        authority = x509.load_pem_x509_certificate(self._authority.cert_pem.bytes())
        old = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
        return _signed_again(old, authority, self._authority)


def _signed_again(old: x509.Certificate, authority: x509.Certificate, signer: trustme.CA) -> bytes:
    key = serialization.load_pem_private_key(signer.private_key_pem.bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    builder = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(authority.subject)
        .public_key(old.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(old.not_valid_before_utc)
        .not_valid_after(old.not_valid_after_utc)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def serial_of(certificate: trustme.LeafCert | bytes) -> int:
    """Return the serial number of a certificate, or of the first one in a PEM text."""
    pem = certificate if isinstance(certificate, bytes) else certificate.cert_chain_pems[0].bytes()
    return x509.load_pem_x509_certificate(pem).serial_number


def replace_by_rename(file: Path, content: bytes) -> None:
    """Put a new file in the place of the old one, as careful tools do."""
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(content)
    os.replace(new, file)  # noqa: PTH105  # the system call of that name is what is meant
