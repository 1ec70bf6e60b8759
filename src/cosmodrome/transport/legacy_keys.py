"""Private keys that are encrypted in a way OpenSSL 3 no longer supports by itself.

Owns: decrypting them, with the `cryptography` package that only the extra `tls` installs.
Must not know: what a key is for.
"""


def decrypted_key(path: str, password: str) -> bytes | None:
    """Give a key as unencrypted PEM; None when the extra is not installed, or it cannot decrypt it either."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 -- an extra, and slow to load
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 -- as above
    except ImportError:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- pathlib is slow to load, and every client imports this module
            key = serialization.load_pem_private_key(file.read(), password.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
