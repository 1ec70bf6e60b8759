"""Certificates for Java and for us, renewed on demand, and the properties that name them.

Owns: one authority and the server files that it signs, in the forms that Java reads (RSA, PKCS#8, PEM).
Must not know: who uses them.
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

CLIENT_TRUSTING_ANYBODY: Final[Mapping[str, str]] = {"tls.enable": "true"}
"""Properties of a Java client in TLS's test mode, which is the default."""


class Certificates:
    """An authority, and one server certificate at a time with its key."""

    def __init__(self, folder: Path) -> None:
        """Make the authority and the first certificate."""
        folder.mkdir(parents=True, exist_ok=True)
        self._authority = trustme.CA(key_type=trustme.KeyType.RSA)
        self._certificate = folder / "server.pem"
        self._key = folder / "server.key"
        self._trust = folder / "trust.pem"
        self._authority.cert_pem.write_to_path(str(self._trust))
        self.serial = self.renew()

    def renew(self) -> int:
        """Replace key and certificate by new ones, each in one step, and return the new serial number."""
        leaf = self._authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA)
        key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        _replace(self._key, pem)
        _replace(self._certificate, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        self.serial = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()).serial_number
        return self.serial

    def server_properties(self, mode: str) -> dict[str, str]:
        """Return what a server needs to show the certificate; `mode` is permissive or enforcing."""
        return {
            "tls.server.mode": mode,
            "tls.test.mode.enable": "false",
            "tls.server.need.client.auth": "none",
            "tls.server.certPath": str(self._certificate),
            "tls.server.keyPath": str(self._key),
        }

    def client_properties(self) -> dict[str, str]:
        """Return what a Java client needs to speak TLS with holders of this authority's certificates only."""
        return {
            "tls.enable": "true",
            "tls.test.mode.enable": "false",
            "tls.client.authServer": "true",
            "tls.client.trustCertPath": str(self._trust),
        }

    def client_context(self) -> ssl.SSLContext:
        """Return the same for the test's own questions."""
        context = ssl.create_default_context(cafile=str(self._trust))
        context.check_hostname = False
        return context


def _replace(file: Path, content: bytes) -> None:
    new = file.with_suffix(".new")
    new.write_bytes(content)
    os.replace(new, file)  # noqa: PTH105 -- the system call of that name is what is meant
