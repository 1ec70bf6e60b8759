"""A self-signed certificate that lives as long as the process (Java: tls.test.mode.enable).

Owns: making it. Needs the `cryptography` package, which only the extra `tls` installs.
Must not know: when a throw-away certificate will do.
"""

import datetime as dt
import ssl
from typing import Final

from cosmodrome.errors import TlsError
from cosmodrome.transport.tls import TlsFiles, private_file, server_context

_DAYS_VALID: Final = 365
_COMMON_NAME: Final = "cosmodrome throw-away certificate"


def throw_away_server_context() -> ssl.SSLContext:
    """Make a certificate and a server context with it. The key never outlives this call on disk.

    Raises:
        TlsError: The extra is not installed.
    """
    certificate, key = _self_signed()
    with private_file(certificate) as cert_path, private_file(key) as key_path:
        return server_context(TlsFiles(cert_path=cert_path, key_path=key_path))


def _self_signed() -> tuple[bytes, bytes]:
    """Give certificate and key as PEM."""
    try:
        from cryptography import x509  # noqa: PLC0415 -- an extra, and slow to load
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 -- as above
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 -- as above
    except ImportError as error:
        raise TlsError(
            "TLS in test mode needs a throw-away certificate, which cannot be made.",
            why="the package `cryptography` is not installed.",
            remedy="pip install 'cosmodrome[tls]', or tls.test.mode.enable=false with tls.server.certPath and keyPath",
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _COMMON_NAME)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=_DAYS_VALID))
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return certificate.public_bytes(encoding), key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
