"""TLS: contexts made from files, their replacement when the files change, and TLS on one connection.

Owns: which files make a context; that only a complete, valid set comes into use; encryption of one stream.
Must not know: sockets; who decides that a connection is encrypted.
"""

import contextlib
import os
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from cosmodrome.errors import TlsError, TlsKeyError
from cosmodrome.transport.legacy_keys import decrypted_key

_READ_BYTES: Final = 256 * 1024
_MINIMUM_VERSION: Final = ssl.TLSVersion.TLSv1_2
_ENCRYPTED_KEY_MARKS: Final = (b"ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """A side's PEM files.

    `verify` is what is asked of the other side: ssl.CERT_NONE, CERT_OPTIONAL or CERT_REQUIRED. What it shows is
    checked against `trust_path`, or the platform's trust anchors without one.
    """

    cert_path: str | None = None
    key_path: str | None = None
    key_password: str | None = None
    trust_path: str | None = None
    verify: ssl.VerifyMode = ssl.CERT_NONE

    def paths(self) -> tuple[str, ...]:
        """Give those that are named."""
        return tuple(path for path in (self.cert_path, self.key_path, self.trust_path) if path)


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Make the context of a server. TLS 1.2 and later; renegotiation is refused.

    Raises:
        TlsError: A file is missing, not PEM, needs a password, or key and certificate are no pair.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _MINIMUM_VERSION
    context.options |= ssl.OP_NO_RENEGOTIATION
    _load(context, files)
    return context


def client_context(files: TlsFiles) -> ssl.SSLContext:
    """Make the context of a client. Names in certificates are not compared: peers are addresses, as in Java.

    Raises:
        TlsError: As server_context.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = _MINIMUM_VERSION
    context.check_hostname = False
    _load(context, files)
    return context


def _load(context: ssl.SSLContext, files: TlsFiles) -> None:
    if files.cert_path:
        _load_pair(context, files.cert_path, files.key_path, files.key_password)
    context.verify_mode = files.verify
    if files.verify is ssl.CERT_NONE:
        return
    if not files.trust_path:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(files.trust_path)
    except (OSError, ssl.SSLError) as error:
        raise TlsError(
            f"cannot use the trust anchors {files.trust_path}: {_reason(error)}.",
            remedy="name a PEM file with the certificates to trust: tls.server.trustCertPath",
        ) from error


def _load_pair(context: ssl.SSLContext, cert_path: str, key_path: str | None, password: str | None) -> None:
    def no_password() -> str:
        raise _PasswordWantedError

    try:
        context.load_cert_chain(cert_path, key_path, password or no_password)
    except _PasswordWantedError:
        raise TlsKeyError(
            f"cannot read the private key {key_path or cert_path}.",
            why="it is encrypted, and no password is given.",
            remedy="set tls.server.keyPassword, or decrypt it: openssl pkcs8 -in OLD -out NEW",
        ) from None
    except (OSError, ssl.SSLError) as error:
        key = decrypted_key(key_path, password) if key_path and password and _is_encrypted(key_path) else None
        if key is None:
            raise _pair_error(cert_path, key_path or cert_path, error) from error
        _load_decrypted(context, cert_path, key)


class _PasswordWantedError(Exception):
    """OpenSSL asks for a password that we do not have."""


def _load_decrypted(context: ssl.SSLContext, cert_path: str, key: bytes) -> None:
    with private_file(key) as key_path:
        try:
            context.load_cert_chain(cert_path, key_path)
        except (OSError, ssl.SSLError) as error:
            raise _pair_error(cert_path, key_path, error) from error


@contextlib.contextmanager
def private_file(data: bytes) -> Iterator[str]:
    """Give the path of a file that only this user can read, for as long as the context lasts."""
    import tempfile  # noqa: PLC0415 -- slow to load, and every client imports this module

    with tempfile.TemporaryDirectory(prefix="cosmodrome-tls-") as folder:
        path = os.path.join(folder, "private")  # noqa: PTH118 -- OpenSSL takes text
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        yield path


def _pair_error(cert_path: str, key_path: str, error: Exception) -> TlsError:
    for path in (cert_path, key_path):
        if not os.access(path, os.R_OK):
            return TlsError(f"cannot read {path}.", why=_reason(error), remedy="check the path and its permissions.")
    if "MISMATCH" in (getattr(error, "reason", None) or ""):
        why = "the key does not belong to the certificate."
        return TlsError(f"{key_path} and {cert_path} are no pair.", why=why, remedy="replace both together.")
    if _is_encrypted(key_path):
        return TlsKeyError(
            f"cannot read the private key {key_path}.",
            why="the password is wrong, or the key is encrypted in a way that OpenSSL 3 no longer supports, "
            "such as PBE-SHA1-RC4-128 of Apache's TLS guide.",
            remedy="pip install 'cosmodrome[tls]'   or   openssl pkcs8 -topk8 -v2 aes-256-cbc "
            "-provider legacy -provider default -in OLD -out NEW",
        )
    return TlsError(
        f"cannot use the certificate {cert_path} with the key {key_path}.",
        why=_reason(error),
        remedy="both must be PEM; the key in PKCS#8.",
    )


def _is_encrypted(path: str) -> bool:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 -- beside os.access above
        text = file.read()
        return any(mark in text for mark in _ENCRYPTED_KEY_MARKS)
    return False


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or error)


class WatchedContext:
    """A context that follows its files.

    `current` is the last one that was complete and valid. New connections use it; established ones are untouched.
    """

    def __init__(self, make: Callable[[], ssl.SSLContext], paths: tuple[str, ...]) -> None:
        """Make the first context.

        Raises:
            TlsError: It cannot be made.
        """
        self._make = make
        self._paths = paths
        self._seen = self._fingerprints()
        self._is_pending = False
        self.current = make()

    def refresh(self) -> bool:
        """Make a new context if a file changed, and tell whether one came into use.

        While the files are not a valid set (one half of a pair is replaced, a file is half written), the old
        context stays and this is tried again at each call.

        Raises:
            TlsError: The files changed and are no valid set; told once per change.
        """
        seen = self._fingerprints()
        is_changed = seen != self._seen
        if not is_changed and not self._is_pending:
            return False
        self._seen = seen
        try:
            self.current = self._make()
        except TlsError:
            self._is_pending = True
            if is_changed:
                raise
            return False
        self._is_pending = False
        return True

    def _fingerprints(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_fingerprint(path) for path in self._paths)


def _fingerprint(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 -- three of them every second
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Received(NamedTuple):
    """What came of bytes from the wire. After an `end` nothing more can be received or sent but `wire`."""

    plain: bytes
    wire: bytes
    end: str | None = None
    is_failure: bool = False


class TlsSession:
    """TLS of one accepted connection: bytes from the wire in, plain bytes out, and the other way."""

    __slots__ = ("_incoming", "_is_established", "_object", "_outgoing")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_established = False

    @property
    def is_established(self) -> bool:
        """Whether the handshake is over."""
        return self._is_established

    def receive(self, data: bytes) -> Received:
        """Take bytes from the wire. Never raises; a failure is in what it gives."""
        self._incoming.write(data)
        plain: list[bytes] = []
        end: str | None = None
        is_failure = False
        try:
            if not self._is_established:
                self._object.do_handshake()
                self._is_established = True
            while chunk := self._object.read(_READ_BYTES):
                plain.append(chunk)
            end = "the peer ended the TLS session"
        except ssl.SSLWantReadError:
            end = None
        except ssl.SSLZeroReturnError:
            end = "the peer ended the TLS session"
        except (ssl.SSLError, ValueError) as error:
            end, is_failure = f"TLS failed: {_reason(error)}", True
        return Received(b"".join(plain), self._outgoing.read(), end, is_failure)

    def send(self, data: bytes) -> bytes:
        """Give the bytes to put on the wire for plain bytes. Only after the handshake."""
        view = memoryview(data)
        while view:
            view = view[self._object.write(view) :]
        return self._outgoing.read()

    def close(self) -> bytes:
        """Give the bytes that end the session; the peer's own end is not waited for."""
        with contextlib.suppress(ssl.SSLError, ValueError):
            self._object.unwrap()
        return self._outgoing.read()
