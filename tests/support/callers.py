"""Peers that come from an address of choice, or sign what they send; and what the server writes down of them.

Owns: source addresses and PROXY headers of test peers; signing by hand; the file of accounts; reading the audit log.
Must not know: the package under test; who may do what.
"""

import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.support.peer import Peer
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Ext

AUDIT_S: Final = 10.0


class PeerFrom(Peer):
    """A peer whose connection comes from an address of choice, with a PROXY header of choice."""

    def __init__(self, address: str, source: str = "", proxied_from: str | None = None) -> None:
        """Connect from `source`; `proxied_from` is the host that a PROXY header names."""
        super().__init__(address)
        host, _, port = address.rpartition(":")
        if source:
            self._socket.close()
            self._socket = socket.create_connection((host, int(port)), self.timeout, source_address=(source, 0))
        if proxied_from is not None:
            self.send(f"PROXY TCP4 {proxied_from} {host} 4711 {port}\r\n".encode())


class SignedPeer(PeerFrom):
    """A peer that signs every request, as clients and 5.x brokers do."""

    def __init__(self, address: str, access_key: str, secret_key: str, source: str = "") -> None:
        """Connect from `source`, and sign with this account from now on."""
        super().__init__(address, source)
        self.access_key = access_key
        self.secret_key = secret_key

    def request(self, code: int, ext: Ext | None = None, body: bytes = b"", **header: Any) -> Answer:
        """Send one signed request and return its answer."""
        return super().request(code, signed(ext or {}, body, self.access_key, self.secret_key), body, **header)


def signed(ext: Ext, body: bytes, access_key: str, secret_key: str) -> dict[str, str | None]:
    """Return header fields with an access key and the signature of all of them and the body."""
    fields = {name: value for name, value in ext.items() if value is not None} | {"AccessKey": access_key}
    content = "".join(fields[name] for name in sorted(fields)).encode() + body
    digest = hmac.new(secret_key.encode(), content, hashlib.sha1).digest()
    return {**fields, "Signature": base64.b64encode(digest).decode()}


def write_accounts(file: Path, accounts: Iterable[Mapping[str, object]]) -> Path:
    """Write a file of accounts that only its owner may read, in place of what was there, and return its path."""
    lines: list[str] = []
    for account in accounts:
        lines += ["[[account]]", *(f"{name} = {json.dumps(value)}" for name, value in account.items())]
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")
    fresh.chmod(0o600)
    fresh.replace(file)
    return file


def audit_file(server: ServerProcess) -> Path:
    """Return where a server started by ServerProcess keeps its audit log."""
    return server.folder / "data" / "audit.jsonl"


def audit_lines(server: ServerProcess, **fields: object) -> list[dict[str, Any]]:
    """Return the lines of the audit log that have these fields with these values; every line must parse."""
    file = audit_file(server)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    return [line for line in lines if all(line.get(name) == value for name, value in fields.items())]


def wait_for_audit(server: ServerProcess, count: int = 1, **fields: object) -> list[dict[str, Any]]:
    """Wait until the audit log has so many such lines, and return them. Lines of changes need no waiting."""
    return wait_until(
        lambda: found if len(found := audit_lines(server, **fields)) >= count else [],
        f"{count} audit lines with {fields}",
        AUDIT_S,
    )
