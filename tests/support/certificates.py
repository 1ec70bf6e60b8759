"""Certificates for tests, made anew in each run."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import trustme


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
    """Encrypt the key of a pair as the openssl command does today."""
    command = ["openssl", "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-in", str(pair.key), "-passout", f"pass:{password}"]
    done = subprocess.run(command, check=True, capture_output=True)
    pair.key.write_bytes(done.stdout)
