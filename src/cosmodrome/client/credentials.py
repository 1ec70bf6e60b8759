"""Whose requests these are: a pair of keys, and the signature that it gives every request.

Owns: the check of a pair, the signing of a command, which refusals are about credentials.
Must not know: what is requested; which accounts a broker has.
"""

import base64
import hmac
from dataclasses import dataclass, field
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.protocol.acl import ACCESS_KEY, SIGNATURE, signature, signed_content
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand

SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 -- the name of a field

_ACL_EXCEPTION: Final = "AclException"
"""How a 4.9 broker begins every such refusal, all of them with code 1."""
_REFUSALS: Final = ("username cannot be null", "check signature failed")
_USER: Final = "User:"
"""How a 5.x broker begins its refusals that name an account, with code 16."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Access key and secret key, and a token where the server wants one. Texts of it do not show the secrets.

    Raises:
        ConfigError: One of the two keys is missing.
    """

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("access_key", "secret_key"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise ConfigError(
                    f"credentials: {name} is missing.",
                    keys=("credentials",),
                    why="requests are signed with both keys, or not at all.",
                    remedy='credentials=Credentials("access key", "secret key"), or credentials=None',
                )

    def fields(self) -> dict[str, str | None]:
        """Give the fields that say who signs."""
        fields: dict[str, str | None] = {ACCESS_KEY: self.access_key}
        if self.security_token:
            fields[SECURITY_TOKEN] = self.security_token
        return fields

    def signed(self, command: RemotingCommand) -> RemotingCommand:
        """Give the same command with a signature of its fields and its body. Nothing may be added to it afterwards."""
        fields = {**(command.ext_fields or {}), **self.fields()}
        fields[SIGNATURE] = signature(self.secret_key, signed_content(fields, command.body))
        return command.replaced(ext_fields=fields)

    def signature_of(self, content: bytes) -> str:
        """Give the signature of a content that is already in order, as `signed` would."""
        return base64.b64encode(hmac.digest(self.secret_key.encode("utf-8", "replace"), content, "sha1")).decode()


def is_about_credentials(code: int, remark: str | None) -> bool:
    """Tell whether a refusal means that the credentials are wrong, missing, or may not do this."""
    text = remark or ""
    if code == ResponseCode.SYSTEM_ERROR:
        return _ACL_EXCEPTION in text
    return code == ResponseCode.NO_PERMISSION and (text.startswith((_USER, *_REFUSALS)))
