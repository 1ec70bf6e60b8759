"""Certificates for tests, made anew in each run."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A server's PEM files, and the authority that clients trust."""

    cert: Path
    key: Path
    trust: Path

    def client_context(self) -> ssl.SSLContext:
        """Give a context that believes this authority only."""
        context = ssl.create_default_context(cafile=str(self.trust))
        context.check_hostname = False
        return context


def make_pair(folder: Path, name: str = "server") -> Pair:
    """Write a new authority and a certificate of it."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    pair = Pair(cert=folder / f"{name}.pem", key=folder / f"{name}.key", trust=folder / f"{name}-trust.pem")
    write_pair(pair, certificate)
    authority.cert_pem.write_to_path(str(pair.trust))
    return pair


def write_pair(pair: Pair, certificate: trustme.LeafCert) -> None:
    """Write a certificate and its key into the files of a pair."""
    pair.cert.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    pair.key.write_bytes(certificate.private_key_pem.bytes())


def encrypt_key(pair: Pair, password: str) -> None:
    """Encrypt the key of a pair as is usual today."""
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(password.encode())
    form = serialization.PrivateFormat.PKCS8
    pair.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, encryption))


def apache_guide_pair() -> Pair:
    """Give a pair whose key is encrypted as Apache's TLS guide says, with PBE-SHA1-RC4-128; its password is `secret`.

    No current tool makes such a key without its legacy parts, so this one was made once.
    """
    folder = Path(__file__).with_name("keys")
    cert = folder / "apache-guide-certificate.pem"
    return Pair(cert=cert, key=folder / "apache-guide-key.pem", trust=cert)
