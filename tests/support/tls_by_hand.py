"""TLS 1.2 of a client, record by record, for what no well-behaved library sends.

Owns: hellos with any version and ciphers, one handshake, encrypted records, renegotiation, the alerts that come back.
Must not know: the package under test; whether the server's certificate is to be believed (nothing is checked).
"""

import hashlib
import hmac
import os
import socket
import struct
import time
from types import TracebackType
from typing import Final, NamedTuple, Self

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CHANGE_CIPHER_SPEC: Final = 20
ALERT: Final = 21
HANDSHAKE: Final = 22
APPLICATION_DATA: Final = 23

WARNING: Final = 1
FATAL: Final = 2
CLOSE_NOTIFY: Final = 0
HANDSHAKE_FAILURE: Final = 40
PROTOCOL_VERSION: Final = 70
INSUFFICIENT_SECURITY: Final = 71
NO_RENEGOTIATION: Final = 100

TLS_1_0: Final = 0x0301
TLS_1_1: Final = 0x0302
TLS_1_2: Final = 0x0303

GOOD_CIPHERS: Final = (0xC02B, 0xC02F)
"""ECDHE with AES-128-GCM and SHA-256, for either kind of certificate."""

WEAK_CIPHERS: Final = (0x0001, 0x0003, 0x0004, 0x0005, 0x0008, 0x0009, 0x000A, 0x0018, 0x001B, 0xC007, 0xC011, 0xC012)
"""No encryption, export grade, RC4, DES, 3DES, no authentication."""

_SERVER_HELLO: Final = 2
_SERVER_KEY_EXCHANGE: Final = 12
_SERVER_HELLO_DONE: Final = 14
_CLIENT_KEY_EXCHANGE: Final = 16
_FINISHED: Final = 20
_RENEGOTIATION_SIGNAL: Final = 0x00FF
_CURVE: Final = ec.SECP256R1()


class Record(NamedTuple):
    """One record, decrypted if it was encrypted."""

    kind: int
    content: bytes


def client_hello(
    version: int = TLS_1_2,
    ciphers: tuple[int, ...] = GOOD_CIPHERS,
    *,
    random: bytes | None = None,
    verify_data: bytes | None = None,
) -> bytes:
    """Return a ClientHello message. `verify_data` makes it a secure renegotiation."""
    suites = ciphers if verify_data is not None else (*ciphers, _RENEGOTIATION_SIGNAL)
    extensions = (
        _extension(10, struct.pack(">HH", 2, 23))
        + _extension(11, b"\x01\x00")
        + _extension(13, struct.pack(">H4H", 8, 0x0403, 0x0804, 0x0401, 0x0201))
    )
    if verify_data is not None:
        extensions += _extension(0xFF01, bytes([len(verify_data)]) + verify_data)
    body = struct.pack(">H", version) + (random or os.urandom(32)) + b"\0"
    body += struct.pack(f">H{len(suites)}H", 2 * len(suites), *suites) + b"\x01\x00"
    return message(1, body + struct.pack(">H", len(extensions)) + extensions)


def message(kind: int, body: bytes) -> bytes:
    """Return a handshake message."""
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def record(kind: int, content: bytes, version: int = TLS_1_2) -> bytes:
    """Return a record."""
    return struct.pack(">BHH", kind, version, len(content)) + content


def hello_record(version: int = TLS_1_2, ciphers: tuple[int, ...] = GOOD_CIPHERS) -> bytes:
    """Return what a client of this version sends first."""
    return record(HANDSHAKE, client_hello(version, ciphers), min(version, TLS_1_0))


class TlsByHand:
    """One connection with a finished handshake. A wait that ends without a record raises TimeoutError."""

    def __init__(self, address: str, timeout: float = 10) -> None:
        """Connect and shake hands."""
        host, _, port = address.rpartition(":")
        self.timeout = timeout
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout)
        self._buffer = b""
        self._transcript = b""
        self._client_finished = b""
        self._send_key: tuple[AESGCM, bytes] | None = None
        self._receive_key: tuple[AESGCM, bytes] | None = None
        self._sent = self._received = 0
        try:
            self._shake_hands()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        """Return the connection itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send application data, at most one record of it."""
        self.send_record(APPLICATION_DATA, data)

    def send_record(self, kind: int, content: bytes) -> None:
        """Send one record."""
        self._socket.sendall(self._sealed(kind, content))

    def renegotiate(self) -> None:
        """Ask for a new handshake, as RFC 5746 says."""
        self.send_record(HANDSHAKE, client_hello(verify_data=self._client_finished))

    def read_record(self) -> Record:
        """Return the next record; raises ConnectionError when the peer has closed."""
        deadline = time.monotonic() + self.timeout
        while True:
            if len(self._buffer) >= 5:
                kind, _, length = struct.unpack_from(">BHH", self._buffer)
                if len(self._buffer) >= 5 + length:
                    content, self._buffer = self._buffer[5 : 5 + length], self._buffer[5 + length :]
                    return Record(kind, self._opened(kind, content))
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionResetError("the peer closed the connection")
            self._buffer += data

    def _shake_hands(self) -> None:
        random = os.urandom(32)
        self._send_message(client_hello(random=random))
        server_random, server_point = self._read_server_flight()
        private = ec.generate_private_key(_CURVE)
        secret = private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, server_point))
        master = _expand(secret, b"master secret", random + server_random, 48)
        keys = _expand(master, b"key expansion", server_random + random, 40)
        point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self._send_message(message(_CLIENT_KEY_EXCHANGE, bytes([len(point)]) + point))
        self._socket.sendall(record(CHANGE_CIPHER_SPEC, b"\x01"))
        self._send_key = AESGCM(keys[:16]), keys[32:36]
        digest = hashlib.sha256(self._transcript).digest()
        self._client_finished = _expand(master, b"client finished", digest, 12)
        self._send_message(message(_FINISHED, self._client_finished))
        while (answer := self.read_record()).kind != CHANGE_CIPHER_SPEC:
            assert answer.kind == HANDSHAKE, f"the handshake failed: {answer}"
        self._receive_key = AESGCM(keys[16:32]), keys[36:40]
        digest = hashlib.sha256(self._transcript).digest()
        expected = message(_FINISHED, _expand(master, b"server finished", digest, 12))
        assert self.read_record() == Record(HANDSHAKE, expected)

    def _read_server_flight(self) -> tuple[bytes, bytes]:
        flight, at, server_random, point = b"", 0, b"", b""
        while True:
            answer = self.read_record()
            assert answer.kind == HANDSHAKE, f"the handshake failed: {answer}"
            flight += answer.content
            while len(flight) >= at + 4 and len(flight) >= at + 4 + int.from_bytes(flight[at + 1 : at + 4], "big"):
                kind, length = flight[at], int.from_bytes(flight[at + 1 : at + 4], "big")
                body, at = flight[at + 4 : at + 4 + length], at + 4 + length
                if kind == _SERVER_HELLO:
                    server_random = body[2:34]
                elif kind == _SERVER_KEY_EXCHANGE:
                    point = body[4 : 4 + body[3]]
                elif kind == _SERVER_HELLO_DONE:
                    self._transcript += flight
                    return server_random, point

    def _send_message(self, content: bytes) -> None:
        self._transcript += content
        self.send_record(HANDSHAKE, content)

    def _sealed(self, kind: int, content: bytes) -> bytes:
        if self._send_key is None:
            return record(kind, content)
        cipher, salt = self._send_key
        number = struct.pack(">Q", self._sent)
        self._sent += 1
        additional = number + struct.pack(">BHH", kind, TLS_1_2, len(content))
        return record(kind, number + cipher.encrypt(salt + number, content, additional))

    def _opened(self, kind: int, content: bytes) -> bytes:
        if self._receive_key is None:
            return content
        cipher, salt = self._receive_key
        number = struct.pack(">Q", self._received)
        self._received += 1
        additional = number + struct.pack(">BHH", kind, TLS_1_2, len(content) - 24)
        return cipher.decrypt(salt + content[:8], content[8:], additional)


def _expand(secret: bytes, label: bytes, seed: bytes, size: int) -> bytes:
    seed, output = label + seed, b""
    chain = seed
    while len(output) < size:
        chain = hmac.digest(secret, chain, "sha256")
        output += hmac.digest(secret, chain + seed, "sha256")
    return output[:size]


def _extension(kind: int, content: bytes) -> bytes:
    return struct.pack(">HH", kind, len(content)) + content
