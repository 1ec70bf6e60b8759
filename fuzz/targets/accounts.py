"""Signed requests, and the file of the accounts that may sign."""

import base64
import hashlib
import hmac
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.policy.accounts import SHORTEST_SECRET, read_accounts
from cosmodrome.protocol.acl import SIGNATURE, UNIQUE_KEY_QUERY, is_signed, signature, signed_content
from fuzz.folder import empty_folder
from fuzz.script import Script

_LONGEST_REASON: Final = 4000


def acl_signature(data: bytes) -> None:
    """Any fields and body can be signed; the signature fits this content and this secret, and nothing else."""
    script = Script(data)
    secret = _text(script)
    fields: dict[str, str | None] = {}
    for _ in range(script.byte() % 8):
        name = UNIQUE_KEY_QUERY if script.byte() == 0 else _text(script)
        fields[name] = None if script.byte() == 0 else _text(script)
    body = script.rest()
    is_signed(fields, body, secret)
    fields.pop(SIGNATURE, None)
    content = signed_content(fields, body)
    assert content == _content(fields, body)
    signed = signature(secret, content)
    assert signed == base64.b64encode(hmac.digest(_utf_8(secret), content, hashlib.sha1)).decode()
    assert is_signed(fields | {SIGNATURE: signed}, body, secret)
    assert not is_signed(fields | {SIGNATURE: signed}, body, f"{secret}x")
    assert not is_signed(fields | {SIGNATURE: signed[:-1]}, body, secret)
    for others, other_body in ((fields, body + b"x"), (fields | {"zz": "x"}, body), (fields | {"aa": "x"}, body)):
        assert is_signed(others | {SIGNATURE: signed}, other_body, secret) == (content in _contents(others, other_body))


def _contents(fields: dict[str, str | None], body: bytes) -> list[bytes]:
    """Give what may be signed. Nothing separates the values, so one content may stand for several requests, as in Java."""
    return [_content(fields, body), _content(fields | {UNIQUE_KEY_QUERY: None}, body)]


def account_file(data: bytes) -> None:
    """Any file is accounts or refused with a text that can be shown; no account has a weak secret."""
    path = empty_folder() / "accounts.toml"
    path.touch(mode=0o600)
    path.write_bytes(data)
    try:
        accounts = read_accounts(path)
    except ConfigError as error:
        assert error.why
        assert len(error.why) <= _LONGEST_REASON
        return
    for name, account in accounts.items():
        assert name == account.access_key
        assert name.isprintable()
        assert len(account.secret_key) >= SHORTEST_SECRET
        assert account.secret_key not in repr(account) or account.secret_key in str(account.networks) + name
    assert len(accounts) * len('[[account]]\naccessKey="a"\nsecretKey="1234567"\n') <= len(data) * 2


def _content(fields: dict[str, str | None], body: bytes) -> bytes:
    """Give what is signed, in the words of the specification: values by name, in Java's order of texts, then the body."""
    names = sorted((name for name in fields if fields[name] is not None), key=_utf_16_units)
    return b"".join(_utf_8(fields[name] or "") for name in names) + body


def _utf_16_units(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _text(script: Script) -> str:
    return script.short().decode("utf-8", "replace")
